"""The event that says which recipe a run follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anvil.collectors.recipes import Recipe, SelectedCheck, SelectedSuite
from anvil.collectors.recipes.parts import Selected
from anvil.collectors.running.planning import Planned
from anvil.collectors.withholding import clean_argv
from anvil.ledger.events import RecipeDeclared
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate, Setting


def declare(
    recipe: Recipe, planned: Sequence[Planned], selected: Mapping[str, Sequence[Selected]]
) -> RecipeDeclared:
    """Return the event for the attempts of this run; `selected` are its checks and suites by attempt."""
    keys = {item.attempt.candidate for item in planned}
    return RecipeDeclared(
        recipe=recipe.name,
        digest=recipe.digest,
        candidates=tuple(
            DeclaredCandidate(
                key=key,
                model=candidate.model,
                revision=candidate.revision,
                quantization=candidate.quantization,
            )
            for key, candidate in recipe.candidates.items()
            if key in keys
        ),
        attempts=tuple(_attempt(item, selected[item.attempt.key]) for item in planned),
        deadline_ready_ns=recipe.deadlines.ready_ns,
        argv=[[item.attempt.key, *clean_argv(item.plan.argv, item.secrets)[0]] for item in planned],
    )


def _attempt(item: Planned, selected: Sequence[Selected]) -> DeclaredAttempt:
    attempt = item.attempt
    return DeclaredAttempt(
        key=attempt.key,
        candidate=attempt.candidate,
        placement=attempt.placement,
        launcher="attach" if item.plan.target else attempt.launcher,
        engine=attempt.engine,
        image=attempt.image,
        image_id=attempt.image_id,
        settings=tuple(Setting(name=name, value=value) for name, value in attempt.settings.items()),
        checks=tuple(one.name for one in selected if isinstance(one, SelectedCheck)),
        suites=tuple(one.name for one in selected if isinstance(one, SelectedSuite)),
    )
