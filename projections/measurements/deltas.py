"""Differences between two measures: how much, how sure, and what so few runs could not have shown.

1. A difference is in percent of the control, computed from what was not rounded. Only one metric by one statistic
   is compared with itself.
2. Its interval is that of the ratio of the two means over runs (`anvil.ledger.intervals`), at 95 %. It needs two
   runs a side; of a statistic that is no mean over runs there is none.
3. A difference is *shown* when its interval lies on one side of nothing. One that is not shown may be there all
   the same, as long as it is under the *smallest effect* that so many runs would have found.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from anvil.ledger.intervals import Interval, ratio_interval, smallest_effect
from anvil.ledger.metrics import METRICS
from anvil.ledger.statistics import Number, delta_percent, rounded
from anvil.projections.figures import Figure, Unsupported, derive
from anvil.projections.measurements.measures import Measure

Finding = Literal["better", "worse", "not_shown", "unknown"]
"""What a difference comes to (rule 3); unknown where there is no interval."""


@dataclass(frozen=True)
class Delta:
    """A difference. `interval` and `smallest` are in percent of the control; `runs` is n on both sides."""

    figure: Figure
    interval: Interval | None
    smallest: Fraction | None
    runs: tuple[int, int]
    found: Finding


def delta(control: Measure, treatment: Measure, called: str) -> Delta:
    """Return by how many percent of the control the treatment differs; the figure is null when one of them is.

    Raises:
        Unsupported: they are not the same metric by the same statistic.
    """
    if (control.metric, control.statistic, control.unit) != (
        treatment.metric,
        treatment.statistic,
        treatment.unit,
    ):
        raise Unsupported(f"{called}: only one metric by one statistic is compared with itself")
    runs = len(control.per_run), len(treatment.per_run)
    interval, smallest = _sure(control, treatment)
    rule = f"delta_percent of {control.statistic}({control.metric}), unrounded: {called}"
    figure = derive(f"{rule}; {_words(interval, smallest, runs)}", _percent, control.figure, treatment.figure)
    return Delta(figure, interval, smallest, runs, _found(control, interval))


def _sure(control: Measure, treatment: Measure) -> tuple[Interval | None, Fraction | None]:
    has_runs = control.statistic.startswith("mean_of_run") and not (control.refused or treatment.refused)
    if not has_runs:
        return None, None
    runs = [[_number(figure) for figure in one.per_run] for one in (control, treatment)]
    ratio, smallest = ratio_interval(*runs), smallest_effect(*runs)
    return (
        None if ratio is None else Interval((ratio.low - 1) * 100, (ratio.high - 1) * 100),
        None if smallest is None else smallest * 100,
    )


def _words(interval: Interval | None, smallest: Fraction | None, runs: tuple[int, int]) -> str:
    counts = f"n = {runs[0]} and {runs[1]} runs"
    if interval is None or smallest is None:
        return f"{counts}, no interval"
    return (
        f"95 % interval {rounded(interval.low, 1)} to {rounded(interval.high, 1)} %, {counts}, "
        f"{rounded(smallest, 1)} % would have been found"
    )


def _found(control: Measure, interval: Interval | None) -> Finding:
    if interval is None:
        return "unknown"
    if interval.low <= 0 <= interval.high:
        return "not_shown"
    known = METRICS.get(control.metric)  # the aggregate, and what is another tool's own, follow from the unit
    is_lower_better = control.unit != "tok/s" if known is None else known.is_better_when == "lower"
    return "better" if (interval.high < 0) == is_lower_better else "worse"


def _percent(control: Number | None, treatment: Number | None) -> Fraction | None:
    return None if control is None or treatment is None else delta_percent(control, treatment)


def _number(figure: Figure) -> Fraction:
    if not isinstance(figure.value, int | Fraction):
        raise Unsupported(f"{figure.rule}: a run's own figure is an exact number")
    return Fraction(figure.value)
