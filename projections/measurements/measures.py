"""Measures: one metric of a load cell by one named statistic, with all that has to be said beside it.

1. A metric is one of `anvil.ledger.metrics`, a statistic one of `STATISTICS`; both are named in the rule of the
   figure. Values stay exact; whoever prints one rounds once.
2. Percentiles are nearest rank, of each run by itself; what is made of the runs is named. A percentile is
   given only where every run has samples enough for it (`is_supported`).
3. How many requests completed and failed, out of how many, goes with every measure. A run without a sample
   of the metric is named, and does not count.
4. The client's own resolution goes with it as a figure in the same unit: the figure is known to that and no
   better. Where it is more than a tenth of the figure, the figure is null. A rate has the resolution of the
   time that it divides by; where both ends of that time are reads, twice.
5. An interval is one of the mean across runs, at 95 %, from three runs on (`anvil.ledger.intervals`).
6. What has no value is null, and its rule says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, get_args

from anvil.ledger.intervals import mean_interval
from anvil.ledger.metrics import AGGREGATE, METRICS, output_aggregate, samples, wall_ns
from anvil.ledger.rows import Row
from anvil.ledger.statistics import (
    Number,
    is_supported,
    mean,
    median_interpolated,
    nearest_rank,
)
from anvil.ledger.wording import counted
from anvil.projections.figures import Figure, Support, Unsupported, Value, derive, weakest
from anvil.projections.measurements.cells import Cell, Run

Statistic = Literal[
    "mean_of_run_p50",
    "median_of_run_p50",
    "mean_of_run_p95",
    "mean_of_run_p99",
    "mean_of_runs",
    "mean_of_requests",
    "mean_of_runs_stated",
]
"""How a figure is made of runs. The last is of runs that were imported without rows, and of no other."""

Unit = Literal["ns", "ms", "s", "tok/s"]

Refusal = Literal["no_runs", "no_sample", "n-unsupported", "resolution"]
"""Why a measure has no value."""

MAX_RESOLUTION = Fraction(1, 10)
"""Of a figure, how much the client's own resolution may be at most (rule 4)."""

MIN_RUNS = 3
"""How many runs an interval needs (rule 5)."""

_NS: Mapping[Unit, int] = MappingProxyType({"ns": 1, "ms": 1_000_000, "s": 1_000_000_000, "tok/s": 1})


@dataclass(frozen=True)
class _Rule:
    """What a statistic makes of each run, and of the runs."""

    percentile: int | None
    across: Callable[[Sequence[Number]], Number | None]
    words: str


STATISTICS: Mapping[str, _Rule] = MappingProxyType(
    {
        "mean_of_run_p50": _Rule(50, mean, "mean over runs of each run's nearest-rank p50"),
        "median_of_run_p50": _Rule(
            50, median_interpolated, "interpolated median over runs of each run's nearest-rank p50"
        ),
        "mean_of_run_p95": _Rule(95, mean, "mean over runs of each run's nearest-rank p95"),
        "mean_of_run_p99": _Rule(99, mean, "mean over runs of each run's nearest-rank p99"),
        "mean_of_runs": _Rule(None, mean, "mean over runs of each run's own value"),
        "mean_of_requests": _Rule(None, mean, "mean over all requests"),
    }
)
"""The statistics, by name."""


@dataclass(frozen=True)
class Counts:
    """How many requests of the runs that count completed, failed and were planned; and how many runs they are."""

    completed: Figure
    failed: Figure
    expected: Figure
    runs: Figure

    @property
    def words(self) -> str:
        """All of it in words."""
        return (
            f"{_told(self.completed)} completed and {_told(self.failed)} failed of {_requests(self.expected)} "
            f"in {counted(_whole(self.runs), 'run')}"
        )


@dataclass(frozen=True)
class Measure:
    """One metric by one statistic. `figure` is exact, in `unit`; null when there is a `refused`."""

    metric: str
    statistic: Statistic
    unit: Unit
    figure: Figure
    counts: Counts
    per_run: tuple[Figure, ...]
    """What each run gives, in their order."""
    samples: int
    """How many values the smallest run that counts has; all of them together for `mean_of_requests`."""
    without: tuple[str, ...]
    """The names of the runs that have no sample of the metric."""
    resolution: Figure | None
    """± so much, by the client's own resolution; None when it was not measured in every run."""
    interval: tuple[Figure, Figure] | None
    """Lower and upper end; None when there are too few runs."""
    refused: Refusal | None


def measure(cell: Cell, metric: str, statistic: Statistic, unit: Unit) -> Measure:
    """Return what a cell's runs give for a metric.

    Raises:
        Unsupported: there is no such metric or statistic, one does not go with the other, or no event is left.
    """
    rule = _rule(metric, statistic)
    counts = _counts(cell)
    given = [(run, values) for run in cell.runs if (values := _values(run, metric))]
    without = tuple(run.name for run in cell.runs if not _values(run, metric))
    scale = Fraction(1, _NS[unit])
    per_run = tuple(_of_run(run, values, metric, rule, scale, unit) for run, values in given)
    name = f"{statistic}({metric})"
    sizes = [len(values) for _, values in given]
    fewest = (sum(sizes) if statistic == "mean_of_requests" else min(sizes)) if sizes else 0
    resolution = _resolution(given, metric, rule)
    refused = _refused(cell, rule, fewest, resolution, per_run)
    said = f"{name} in {unit}: {rule.words}; {counts.words}"
    if without:
        said += f"; without a sample of it: {', '.join(without)}"
    if refused is not None:
        figure = _nothing(cell, f"{said}; null: {_why(refused, rule, fewest)}", per_run)
    elif statistic == "mean_of_requests":
        figure = _over_requests(given, said, scale)
    else:
        figure = derive(said, lambda *values: _exact(rule.across(values)), *per_run)
    shown = figure if refused is None else None
    return Measure(
        metric,
        statistic,
        unit,
        figure,
        counts,
        per_run,
        fewest,
        without,
        _in_unit(cell, shown, resolution),
        _interval(shown, rule, per_run, name),
        refused,
    )


# --- what a run gives ---------------------------------------------------------------------------------------


def _rule(metric: str, statistic: str) -> _Rule:
    if statistic not in STATISTICS or metric not in (*METRICS, AGGREGATE):
        raise Unsupported(
            f"there is no {statistic}({metric}); statistics are {', '.join(get_args(Statistic))}"
        )
    if (metric == AGGREGATE) != (statistic == "mean_of_runs"):
        raise Unsupported(f"{statistic}({metric}): a run has one aggregate, and it has no percentile")
    return STATISTICS[statistic]


def _values(run: Run, metric: str) -> tuple[Number, ...]:
    if metric == AGGREGATE:
        aggregate = output_aggregate(run.rows)
        return () if aggregate is None else (aggregate,)
    return samples(METRICS[metric], run.rows)


def _of_run(
    run: Run, values: tuple[Number, ...], metric: str, rule: _Rule, scale: Fraction, unit: Unit
) -> Figure:
    """Return a run's own figure, on its event and its rows."""
    what = f"p{rule.percentile}, nearest rank," if rule.percentile is not None else "mean"
    value = nearest_rank(values, rule.percentile) if rule.percentile is not None else mean(values)
    said = f"{what} of {metric} over {counted(len(values), 'value')}, in {unit}: {run.name}"
    return Figure(_scaled(value, scale), said, run.source.support, run.source.status)


def _over_requests(given: list[tuple[Run, tuple[Number, ...]]], said: str, scale: Fraction) -> Figure:
    pooled = [value for _, values in given for value in values]
    support = Support.of_all([run.source.support for run, _ in given])
    status = weakest(run.source.status for run, _ in given)
    return Figure(_scaled(mean(pooled), scale), said, support, status)


# --- what goes with it --------------------------------------------------------------------------------------


def _counts(cell: Cell) -> Counts:
    marks = [source.marked("a run that was looked at", None) for source in cell.sources]

    def total(name: str) -> Figure:
        stated = [run.source.stated(name) for run in cell.runs]
        rule = f"{name}, of all runs that count"
        return derive(rule, lambda *values: sum(values), *stated) if stated else derive(rule, _zero, *marks)

    size = len(cell.runs)
    runs = derive("how many runs count", lambda *_: size, *marks)
    return Counts(total("completed"), total("failed"), total("expected"), runs)


def _refused(
    cell: Cell, rule: _Rule, fewest: int, resolution: Fraction | None, per_run: tuple[Figure, ...]
) -> Refusal | None:
    if not cell.runs:
        return "no_runs"
    if not per_run:
        return "no_sample"
    if rule.percentile is not None and not is_supported(rule.percentile, fewest):
        return "n-unsupported"
    return "resolution" if resolution is not None and resolution > MAX_RESOLUTION else None


def _why(refused: Refusal, rule: _Rule, fewest: int) -> str:
    return {
        "no_runs": "no run counts",
        "no_sample": "no request has a value of it",
        "n-unsupported": f"{counted(fewest, 'sample')} of a run do not support a p{rule.percentile}",
        "resolution": "the client could not resolve a tenth of it",
    }[refused]


def _resolution(given: list[tuple[Run, tuple[Number, ...]]], metric: str, rule: _Rule) -> Fraction | None:
    """Return the largest share of a run's figure that its client could not resolve; None when a run does not say."""
    shares = []
    for run, _ in given:
        spans = _spans(run.rows, metric)
        span = nearest_rank(spans, rule.percentile) if rule.percentile is not None else mean(spans)
        if run.event.resolution_ns is None or not span:
            return None
        ends = 2 if metric.startswith(("decode", "itl")) else 1
        shares.append(Fraction(run.event.resolution_ns * ends) / Fraction(span))
    return max(shares, default=None)


def _spans(rows: tuple[Row, ...], metric: str) -> list[Number]:
    """Return the times, in nanoseconds, that the values of a metric are made from."""
    if metric == AGGREGATE:
        return [wall] if (wall := wall_ns(rows)) else []
    ends: dict[str, Callable[[Row], int | None]] = {
        "ttft.visible/1": lambda row: row.ttft_ns,
        "e2e/1": lambda row: row.end_ns,
        "decode.last_output/1": lambda row: _between(row.ttfo_ns, row.last_output_ns),
        "decode.stream_end/1": lambda row: _between(row.ttfo_ns, row.end_ns),
        "itl.mean/1": lambda row: _between(row.ttfo_ns, row.last_output_ns),
    }
    of = ends.get(metric, _ttfo)
    fit = (row for row in rows if METRICS[metric].of(row) is not None)
    return [span for row in fit if (span := of(row)) is not None]


def _ttfo(row: Row) -> int | None:
    return row.ttfo_ns


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def _in_unit(cell: Cell, figure: Figure | None, share: Fraction | None) -> Figure | None:
    """Return the resolution as a figure in the measure's unit."""
    if figure is None or share is None or figure.value is None:
        return None
    stated = [run.source.stated("resolution_ns") for run in cell.runs]
    rule = "±, by the client's own resolution: its largest share of a run's figure, of the figure"
    return derive(rule, lambda value, *_: abs(value) * share, figure, *stated)


def _interval(
    figure: Figure | None, rule: _Rule, per_run: tuple[Figure, ...], name: str
) -> tuple[Figure, Figure] | None:
    if figure is None or rule.across is not mean or len(per_run) < MIN_RUNS:
        return None
    if rule.words == STATISTICS["mean_of_requests"].words:
        return None

    def end(at: int, which: str) -> Figure:
        said = f"mean_interval of {name} over {len(per_run)} runs, 95 %: {which} end"
        return derive(said, lambda *values: (mean_interval(values) or (None, None))[at], *per_run)

    return end(0, "lower"), end(1, "upper")


def _nothing(cell: Cell, rule: str, per_run: tuple[Figure, ...]) -> Figure:
    marks = per_run or tuple(source.marked("a run that was looked at", None) for source in cell.sources)
    return derive(rule, lambda *_: None, *marks)


# --- small conversions --------------------------------------------------------------------------------------


def _zero(*_: Value) -> int:
    return 0


def _scaled(value: Number | None, scale: Fraction) -> Fraction | None:
    return None if value is None else Fraction(value) * scale


def _exact(value: Number | None) -> Fraction | None:
    return None if value is None else Fraction(value)


def _told(figure: Figure) -> str:
    return "an unknown number" if figure.value is None else str(figure.value)


def _requests(figure: Figure) -> str:
    return "an unknown number" if figure.value is None else counted(_whole(figure), "request")


def _whole(figure: Figure) -> int:
    return figure.value if isinstance(figure.value, int) else 0
