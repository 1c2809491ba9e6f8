"""Lanes and experiments: which attempts stand for themselves, and which change something of another.

1. The first attempt of a candidate is a lane. A later one with the same settings is a lane of its own, on another
   placement. One whose settings differ is an *experiment*, and that lane is its control.
2. What an experiment changes is every setting that differs, and nothing is left out: a change of several is told as
   several.
3. A figure of an experiment is compared with its control by readers. So the limit says where the two were measured with
   prompts of different sizes, or by another plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.statistics import mean, rounded
from anvil.projections.figures import Figure, compose
from anvil.projections.measurements import Cell
from anvil.projections.recorded.campaign import Attempt, Recorded
from anvil.projections.recorded.settings import declared

_CLOSE = 1
"""By how many percent sizes of prompts may differ before that is said."""


@dataclass(frozen=True)
class Experiment:
    """One attempt that changes something, and its control."""

    attempt: Attempt
    control: Attempt

    def change(self) -> Figure:
        """Return what it changes, in words (rule 2)."""
        ours, theirs = declared(self.attempt), declared(self.control)
        names = [
            name for name in dict.fromkeys((*theirs, *ours)) if _differs(ours.get(name), theirs.get(name))
        ]
        figures = [
            figure for name in names for figure in (theirs.get(name), ours.get(name)) if figure is not None
        ]
        told = "; ".join(_told(name, theirs.get(name), ours.get(name)) for name in names)
        return compose("the settings that differ from the control", lambda *_: told, *figures)

    def notes(self, cells: tuple[Cell, ...]) -> Iterator[str]:
        """Yield where it cannot be compared with its control (rule 3)."""
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
    """Return the lanes of a campaign and its experiments (rule 1)."""
    lanes: list[Attempt] = []
    experiments = []
    for attempt in recorded.attempts:
        control = next((lane for lane in lanes if lane.candidate == attempt.candidate), None)
        if control is None or not _is_changed(attempt, control):
            lanes.append(attempt)
        else:
            experiments.append(Experiment(attempt, control))
    return tuple(lanes), tuple(experiments)


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
