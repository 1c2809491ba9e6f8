"""The comparison itself: for each cell that may be compared each metric, with operands, n, difference and interval.

1. Operands are means over runs, as documents print them; the difference is of what was not rounded.
2. The interval is of the ratio of the two means (`anvil.ledger.intervals`), given as a difference in percent of
   the control. From two runs a side on there is one.
3. A difference is *shown* when its interval lies on one side of nothing. One that is not shown may be there all
   the same, up to the *smallest effect* that so many runs would have found.
4. Beside figures stand what was passed: checks and suites, in counts, and what engines reported of themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from anvil.ledger.intervals import Interval, ratio_interval, smallest_effect
from anvil.ledger.metrics import AGGREGATE, METRICS
from anvil.projections.comparing.differences import Difference, differences
from anvil.projections.comparing.obstacles import Obstacle, notes, obstacles
from anvil.projections.comparing.sides import Key, Side
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure
from anvil.projections.measurements import Cell, Measure, Statistic, delta, measure
from anvil.projections.measurements.measures import Unit

Finding = Literal["better", "worse", "not shown", "unknown"]

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
    """One metric on both sides. Percentages are of the control."""

    metric: str
    control: Measure
    treatment: Measure
    delta: Figure
    interval: Interval | None
    smallest: Fraction | None
    found: Finding

    @property
    def n(self) -> tuple[int, int]:
        """How many runs each side has."""
        return len(self.control.per_run), len(self.treatment.per_run)


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
    changed = delta(before, after, f"{metric} of the treatment against the control")
    if before.refused or after.refused:
        return Shown(metric, before, after, changed, None, None, "unknown")
    runs = [[_number(figure) for figure in one.per_run] for one in (before, after)]
    ratio = ratio_interval(*runs)
    interval = None if ratio is None else Interval((ratio.low - 1) * 100, (ratio.high - 1) * 100)
    effect = smallest_effect(*runs)
    return Shown(
        metric,
        before,
        after,
        changed,
        interval,
        None if effect is None else effect * 100,
        _found(metric, interval),
    )


def _found(metric: str, interval: Interval | None) -> Finding:
    """Return what a difference comes to (rule 3)."""
    if interval is None:
        return "unknown"
    if interval.low <= 0 <= interval.high:
        return "not shown"
    is_lower_better = metric != AGGREGATE and METRICS[metric].is_better_when == "lower"
    return "better" if (interval.high < 0) == is_lower_better else "worse"


def _number(figure: Figure) -> Fraction:
    value = figure.value
    assert isinstance(value, int | Fraction), "a run's own figure is an exact number"
    return Fraction(value)
