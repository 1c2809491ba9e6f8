"""What differs between the plans of two sides: a comparison is an A/B only when it is one thing.

1. Looked at are the candidate (model, revision and quantization: one thing), the engine, the launcher, the image,
   each setting, and the command line where it can be opened. A placement is no difference: hardware is compared
   by what was observed.
2. Of several attempts of a side, all have to be planned alike; a difference among them is one of the two sides
   as well, since nobody knows which of them a figure is of.
3. The command line tells what no setting names. Flags of the served name and of a port say nothing of speed and
   are left out, and so are those that belong to a setting which is named already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from anvil.projections.comparing.sides import Side
from anvil.projections.evidence import Evidence
from anvil.projections.plans import Plans


class Difference(NamedTuple):
    """One thing that is not the same, in words. Absent is None."""

    name: str
    control: str | None
    treatment: str | None

    @property
    def is_mixed(self) -> bool:
        """Whether the attempts of one side differ among themselves (rule 2)."""
        return _is_mixed(self.control) or _is_mixed(self.treatment)


def differences(evidence: Evidence, control: Side, treatment: Side) -> tuple[Difference, ...]:
    """Return what the plans of two sides do not have in common, by name."""
    before, after = _planned(evidence, control), _planned(evidence, treatment)
    names = list(dict.fromkeys((*before, *after)))
    return tuple(
        Difference(name, before.get(name), after.get(name))
        for name in names
        if before.get(name) != after.get(name) or _is_mixed(before.get(name)) or _is_mixed(after.get(name))
    )


_MIXED = " | "


def _is_mixed(words: str | None) -> bool:
    return words is not None and _MIXED in words


def _planned(evidence: Evidence, one: Side) -> Mapping[str, str]:
    """Return everything that is planned of a side, by name; of several values all of them (rule 2)."""
    plans = Plans.of(evidence, one.campaign)
    values: dict[str, list[str]] = {}
    known = [name for name in one.attempts if name in plans.attempts]
    for attempt in known:
        for name, value in _of_attempt(plans, attempt):
            values.setdefault(name, []).append(value)
    return {
        name: _MIXED.join(dict.fromkeys((*found, *["-"] * (len(found) < len(known)))))
        for name, found in values.items()
    }


def _of_attempt(plans: Plans, attempt: str) -> Iterator[tuple[str, str]]:
    _, plan = plans.attempts[attempt]
    if plan.candidate in plans.candidates:
        _, candidate = plans.candidates[plan.candidate]
        said = (candidate.model, candidate.revision, candidate.quantization)
        yield "candidate", " ".join(word for word in said if word)
    yield "engine", plan.engine
    yield "launcher", plan.launcher
    if image := plan.image or plan.image_id:
        yield "image", image
    for setting in plan.settings:
        yield (
            setting.name,
            str(setting.value).lower() if isinstance(setting.value, bool) else str(setting.value),
        )
