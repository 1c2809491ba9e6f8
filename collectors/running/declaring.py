"""The event that says which recipe a run follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anvil.collectors.protocols import PROTOCOLS, Cell, parameters_of
from anvil.collectors.recipes import Recipe, SelectedCheck, SelectedProtocol, SelectedSuite
from anvil.collectors.recipes.parts import Experiment
from anvil.collectors.running.planning import Planned
from anvil.collectors.withholding import clean_argv
from anvil.ledger.events import RecipeDeclared
from anvil.ledger.events.recipes import (
    DeclaredAttempt,
    DeclaredCandidate,
    DeclaredCell,
    DeclaredExperiment,
    DeclaredProtocol,
    Setting,
)
from anvil.ledger.wording import counted


@dataclass(frozen=True)
class Selection:
    """What a run carries out in one attempt: checks, suites, and protocols with those of their cells that are left."""

    checks: tuple[SelectedCheck, ...] = ()
    protocols: tuple[SelectedCells, ...] = ()
    suites: tuple[SelectedSuite, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.checks or self.suites or self.protocols)

    def __str__(self) -> str:
        cells = sum(len(chosen.cells) for chosen in self.protocols)
        return (
            f"{counted(len(self.checks), 'check')}, {counted(len(self.suites), 'suite')} "
            f"and {counted(cells, 'cell')}"
        )


@dataclass(frozen=True)
class SelectedCells:
    """A selected protocol and the cells that are to be carried out."""

    protocol: SelectedProtocol
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, protocol: SelectedProtocol) -> SelectedCells:
        """Return a protocol with all its cells."""
        parameters = parameters_of(protocol.id, protocol.parameters)
        return cls(protocol, PROTOCOLS[protocol.id].cells(parameters))


def declare(
    recipe: Recipe,
    planned: Sequence[Planned],
    selected: Mapping[str, Selection],
    continues: str | None = None,
) -> RecipeDeclared:
    """Return the event for the attempts of this run; `selected` by attempt, `continues` names a stream."""
    keys = {item.attempt.candidate for item in planned}
    return RecipeDeclared(
        recipe=recipe.name,
        digest=recipe.digest,
        base_revision=recipe.base_revision,
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
        experiments=tuple(
            _experiment(item)
            for item in recipe.experiments
            if any(_is_part(selected[one.attempt.key], one.attempt.key, item) for one in planned)
        ),
        continues=continues,
        deadline_ready_ns=recipe.deadlines.ready_ns,
        argv=[[item.attempt.key, *clean_argv(item.plan.argv, item.secrets)[0]] for item in planned],
    )


def _is_part(selected: Selection, key: str, item: Experiment) -> bool:
    """Say whether an attempt is a side of an experiment, or has the two protocols that are its sides."""
    if item.pair is None:
        return key in (item.control, item.attempt)
    return {*item.pair} <= {chosen.protocol.name for chosen in selected.protocols}


def _experiment(item: Experiment) -> DeclaredExperiment:
    return DeclaredExperiment(
        key=item.key,
        control=item.control,
        attempt=item.attempt,
        control_protocol=item.control_protocol,
        protocol=item.protocol,
        only_change=item.only_change,
        protocols=item.protocols,
    )


def _attempt(item: Planned, selected: Selection) -> DeclaredAttempt:
    attempt = item.attempt
    return DeclaredAttempt(
        key=attempt.key,
        candidate=attempt.candidate,
        placement=attempt.placement,
        launcher="attach" if item.plan.target else attempt.launcher,
        engine=attempt.engine,
        image=attempt.image,
        image_id=attempt.image_id,
        recipe_revision=attempt.recipe_revision,
        settings=tuple(Setting(name=name, value=value) for name, value in attempt.settings.items()),
        checks=tuple(check.name for check in selected.checks),
        suites=tuple(suite.name for suite in selected.suites),
        protocols=tuple(
            DeclaredProtocol(
                protocol=chosen.protocol.name,
                kind=PROTOCOLS[chosen.protocol.id].id,
                cells=tuple(
                    DeclaredCell(cell=cell.name, runs=cell.runs, requests=cell.requests)
                    for cell in chosen.cells
                ),
            )
            for chosen in selected.protocols
        ),
    )
