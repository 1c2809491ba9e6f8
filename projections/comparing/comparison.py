"""The comparison itself: for each cell that may be compared each metric, with operands, n, difference and interval.

1. Operands are means over runs, as documents print them; the difference is of what was not rounded.
2. A difference has both operands, the runs behind it, an interval and the smallest effect that so many runs
   could have shown (`anvil.projections.measurements.deltas`).
"""

from __future__ import annotations

from dataclasses import dataclass

from anvil.ledger.metrics import AGGREGATE
from anvil.projections.comparing.differences import Difference, differences
from anvil.projections.comparing.obstacles import Obstacle, notes, obstacles
from anvil.projections.comparing.sides import Key, Side
from anvil.projections.evidence import Evidence
from anvil.projections.measurements import Cell, Delta, Measure, Statistic, delta, measure
from anvil.projections.measurements.measures import Unit

_METRICS: tuple[tuple[str, Statistic, Unit], ...] = (
    ("ttft.visible/1", "mean_of_run_p50", "ms"),
    ("ttfo.any/1", "mean_of_run_p50", "ms"),
    ("e2e/1", "mean_of_run_p50", "ms"),
    ("prefill.effective/1", "mean_of_run_p50", "tok/s"),
    ("decode.last_output/1", "mean_of_run_p50", "tok/s"),
    (AGGREGATE, "mean_of_runs", "tok/s"),
)


@dataclass(frozen=True)
class Shown:
    """One metric on both sides."""

    metric: str
    control: Measure
    treatment: Measure
    delta: Delta


@dataclass(frozen=True)
class Pair:
    """One cell on both sides; `metrics` is empty when something stands in the way."""

    key: Key
    control: Cell
    treatment: Cell
    obstacles: tuple[Obstacle, ...]
    notes: tuple[str, ...]
    metrics: tuple[Shown, ...]


@dataclass(frozen=True)
class Comparison:
    """Two sides next to each other."""

    control: Side
    treatment: Side
    differences: tuple[Difference, ...]
    pairs: tuple[Pair, ...]
    only_control: tuple[Key, ...]
    only_treatment: tuple[Key, ...]

    @property
    def events(self) -> frozenset[str]:
        """The events that it rests on, by entry hash."""
        sides = (self.control, self.treatment)
        measured = (source.entry_hash for one in sides for cell in one.cells for source in cell.sources)
        planned = (kept.entry_hash for one in sides for kept in one.campaign.recipes)
        return frozenset((*measured, *planned))

    @property
    def is_ab(self) -> bool:
        """Whether exactly one thing was planned otherwise."""
        return len(self.differences) == 1


def compare(evidence: Evidence, control: Side, treatment: Side) -> Comparison:
    """Compare two sides, cell by cell.

    Raises:
        PublicationRefused: rows are not at hand although no event says that they are gone.
    """
    by_candidate = max(len(control.candidates), len(treatment.candidates)) > 1
    before, after = control.keyed(by_candidate=by_candidate), treatment.keyed(by_candidate=by_candidate)
    sides = (control, treatment)
    return Comparison(
        control,
        treatment,
        differences(evidence, control, treatment),
        tuple(_pair(key, cell, after[key], sides) for key, cell in before.items() if key in after),
        tuple(key for key in before if key not in after),
        tuple(key for key in after if key not in before),
    )


def _pair(key: Key, control: Cell, treatment: Cell, sides: tuple[Side, Side]) -> Pair:
    against = obstacles(control, treatment, sides)
    shown = () if against else tuple(_shown(control, treatment, *metric) for metric in _METRICS)
    return Pair(key, control, treatment, against, notes(control, treatment, sides), shown)


def _shown(control: Cell, treatment: Cell, metric: str, statistic: Statistic, unit: Unit) -> Shown:
    before = measure(control, metric, statistic, unit)
    after = measure(treatment, metric, statistic, unit)
    return Shown(metric, before, after, delta(before, after, "treatment against control"))
