"""Lanes and experiments: which attempts stand for themselves, and which change something of another.

1. The first attempt of a candidate is a lane. A later one with the same settings is a lane of its own, on another
   placement. One whose settings differ is an *experiment*, and that lane is its control.
2. An attempt that a recipe declares as one side of an experiment is one, whatever its settings, and its control is the
   attempt that the recipe names, of the same candidate. Its key is printed. What a recipe declares beside, and is not
   shown so, is named.
3. What an experiment changes is every setting that differs, and nothing is left out: a change of several is told as
   several. What a recipe names beside settings (a flag, a variable) is told by its name.
4. A figure of an experiment is compared with its control by readers. So the limit says where the two were measured with
   prompts of different sizes, or by another plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.events.recipes import DeclaredExperiment
from anvil.ledger.statistics import mean, rounded
from anvil.projections.figures import Figure, compose
from anvil.projections.measurements import Cell
from anvil.projections.plans import Planned
from anvil.projections.recorded.campaign import Attempt, Recorded
from anvil.projections.recorded.settings import declared

_CLOSE = 1
"""By how many percent sizes of prompts may differ before that is said."""


@dataclass(frozen=True)
class Experiment:
    """One attempt that changes something, and its control."""

    attempt: Attempt
    control: Attempt
    declared: tuple[Planned, DeclaredExperiment] | None = None
    """Where a recipe declares it, if one does (rule 2)."""

    @property
    def name(self) -> str:
        """What it is called in a sentence: its attempt, and its key where a recipe gives it one."""
        key = "" if self.declared is None else f", experiment {self.declared[1].key}"
        return f"{self.attempt.key}{key}"

    def stated(self, field: str) -> Figure | None:
        """Return what the recipe that declares it says of it; None when none does."""
        return None if self.declared is None else self.declared[0].stated(field)

    def change(self) -> Figure:
        """Return what it changes, in words (rule 3)."""
        ours, theirs = declared(self.attempt), declared(self.control)
        names = [
            name for name in dict.fromkeys((*theirs, *ours)) if _differs(ours.get(name), theirs.get(name))
        ]
        figures = [
            figure for name in names for figure in (theirs.get(name), ours.get(name)) if figure is not None
        ]
        words = [_told(name, theirs.get(name), ours.get(name)) for name in names]
        if self.declared is not None:
            planned, declared_as = self.declared
            for at, change in enumerate(declared_as.only_change):
                if change.removeprefix("settings.") not in names:
                    words.append(f"{change} (named by the recipe)")
                    figures.append(planned.stated("only_change", at))
        told = "; ".join(words)
        rule = f"the settings that differ from the control, {self.control.key}"
        return compose(rule, lambda *_: told, *figures)

    def notes(self, cells: tuple[Cell, ...]) -> Iterator[str]:
        """Yield where it cannot be compared with its control (rule 4)."""
        ours = {(cell.protocol, cell.cell): cell for cell in cells if cell.attempts == (self.attempt.key,)}
        theirs = {(cell.protocol, cell.cell): cell for cell in cells if cell.attempts == (self.control.key,)}
        for key, cell in ours.items():
            if key in theirs:
                yield from self._compared(cell, theirs[key])

    def _compared(self, ours: Cell, theirs: Cell) -> Iterator[str]:
        name = f"{ours.protocol} {ours.cell}: {self.attempt.key} against {self.control.key}"
        sizes = [_average(cell) for cell in (ours, theirs)]
        if None not in sizes and _are_apart(sizes[0], sizes[1]):
            told = " and ".join(rounded(size, 0) for size in sizes if size is not None)
            yield f"No A/B, {name}: the prompts had {told} tokens on average."
        one, other = ours.plan, theirs.plan
        if one is not None and other is not None and one.output_cap_tokens != other.output_cap_tokens:
            yield f"No A/B, {name}: the output caps were {one.output_cap_tokens} and {other.output_cap_tokens} tokens."


def divided(recorded: Recorded) -> tuple[tuple[Attempt, ...], tuple[Experiment, ...]]:
    """Return the lanes of a campaign and its experiments (rules 1 and 2)."""
    lanes: dict[str, Attempt] = {}
    found, experiments, declared = [], [], _declared(recorded)
    for attempt in recorded.attempts:
        first = lanes.get(attempt.candidate)
        if attempt.key in declared:
            experiments.append(declared[attempt.key])
        elif first is not None and _is_changed(attempt, first):
            experiments.append(Experiment(attempt, first))
        else:
            lanes.setdefault(attempt.candidate, attempt)
            found.append(attempt)
    return tuple(found), tuple(experiments)


def _declared(recorded: Recorded) -> dict[str, Experiment]:
    """Return the experiments that recipes declare of two attempts of one candidate, by attempt (rule 2)."""
    attempts = {one.key: one for one in recorded.attempts}
    found: dict[str, Experiment] = {}
    for planned, one in recorded.plans.experiments.values():
        attempt, control = attempts.get(one.attempt or ""), attempts.get(one.control or "")
        if attempt is not None and control is not None and attempt.candidate == control.candidate:
            found.setdefault(attempt.key, Experiment(attempt, control, (planned, one)))
    return {key: one for key, one in found.items() if not _is_circular(found, key)}


def _is_circular(declared: Mapping[str, Experiment], attempt: str) -> bool:
    """Say whether an attempt is, over several experiments, its own control: then none of them counts."""
    seen, at = {attempt}, attempt
    while at in declared:
        at = declared[at].control.key
        if at in seen:
            return True
        seen.add(at)
    return False


def undivided(recorded: Recorded, shown: Iterable[Experiment]) -> Iterator[str]:
    """Yield the experiments that recipes declare and that are not among those shown, each by its key."""
    keys = {one.declared[1].key for one in shown if one.declared is not None}
    for key, (_, one) in recorded.plans.experiments.items():
        changed = ", ".join(one.only_change)
        if one.protocol is not None:
            pair = f"{one.protocol} against {one.control_protocol}"
            yield f"Experiment {key} is of two protocols of one attempt, {pair} ({changed}): their figures stand by protocol."
        elif key not in keys:
            yield f"Experiment {key}, {one.attempt} against {one.control} ({changed}), is not shown as one."


def _is_changed(attempt: Attempt, control: Attempt) -> bool:
    ours, theirs = declared(attempt), declared(control)
    return any(_differs(ours.get(name), theirs.get(name)) for name in {*ours, *theirs})


def _differs(one: Figure | None, other: Figure | None) -> bool:
    return (None if one is None else one.value) != (None if other is None else other.value)


def _told(name: str, before: Figure | None, after: Figure | None) -> str:
    if before is None:
        return f"{name} set to {_spelled(after)}"
    return f"{name} {_spelled(before)} to {'not set' if after is None else _spelled(after)}"


def _spelled(figure: Figure | None) -> str:
    value = None if figure is None else figure.value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _average(cell: Cell) -> Fraction | None:
    rows = [row for run in cell.runs for row in run.rows if row.outcome == "completed"]
    return mean([row.prompt_tokens for row in rows if row.prompt_tokens is not None])


def _are_apart(one: Fraction | None, other: Fraction | None) -> bool:
    return one is not None and other is not None and abs(one - other) * 100 > other * _CLOSE
