"""Metrics of cells of which one at least was imported: which of them both have, and what each is.

1. A metric is compared where the id of its definition is the same on both sides. Of two runs of one tool its own names
   are too, as long as the tool and its name are the same: then what the tool means by it is on both sides.
2. Where all runs of a cell have rows, a run's figure is the nearest-rank p50 of its column, as ours is, and a cell's
   the mean over runs. A rate over wall time is made again from the rows in the same way.
3. Where a run has no rows, the figure that its tool states takes its place, if it is the same statistic in all runs
   and on both sides; it is named so (`mean_of_runs_stated`).
4. A percentile that too few samples support is given and said to be so: it is not ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.events.results import SourceStatistic
from anvil.ledger.metrics import METRICS
from anvil.ledger.rowtable import Column, converted
from anvil.ledger.statistics import exact, is_supported, mean, nearest_rank, percentile_of
from anvil.projections.comparing.importedcells import Any_, ImportedCell, ImportedRun
from anvil.projections.figures import Figure, Value, derive
from anvil.projections.importedresults import main_figures
from anvil.projections.measurements import Measure, measure
from anvil.projections.measurements.measures import Counts, Statistic, Unit

_UNITS: dict[str, Unit] = {"ns": "ms", "us": "ms", "ms": "ms", "s": "ms", "tokens_per_s": "tok/s"}
"""What a unit of a file is compared in; what is not here is neither a time nor a rate of tokens."""

_NEEDED = 50


@dataclass(frozen=True)
class Wanted:
    """One metric that both cells have. `column` is that of each cell; `stated` is what its tool calls the figure."""

    label: str
    statistic: Statistic
    unit: Unit
    columns: tuple[str | None, str | None]
    stated: str | None = None
    over_wall: bool = False


def wanted(control: Any_, treatment: Any_) -> list[Wanted]:
    """Return the metrics that two cells have in common (rules 1 to 3)."""
    found: dict[str, Wanted] = {}
    for one in (*_by_definition(control, treatment), *_by_name(control, treatment)):
        found.setdefault(one.label, one)
    return list(found.values())


def _by_definition(control: Any_, treatment: Any_) -> Iterator[Wanted]:
    """Yield the metrics of ours that rows of both sides have."""
    before, after = _definitions(control), _definitions(treatment)
    for name, metric in METRICS.items():
        if name in before and name in after:
            unit: Unit = "ms" if metric.unit == "ns" else "tok/s"
            yield Wanted(name, "mean_of_run_p50", unit, (before[name], after[name]))


def _definitions(cell: Any_) -> dict[str, str | None]:
    """Return the metrics of ours that a cell has, each with the column that holds it."""
    if not isinstance(cell, ImportedCell):
        return dict.fromkeys(METRICS)
    return {one.definition: one.name for one in _columns(cell) if one.definition is not None}


def _by_name(control: Any_, treatment: Any_) -> Iterator[Wanted]:
    """Yield a tool's own metrics, of two runs of one tool (rule 1)."""
    if not (isinstance(control, ImportedCell) and isinstance(treatment, ImportedCell)):
        return
    if control.tool != treatment.tool or control.called != treatment.called:
        return
    after = {one.name: one for one in _columns(treatment)}
    for column in _columns(control):
        other, unit = after.get(column.name), _UNITS.get(column.unit)
        if other is not None and unit is not None and column.definition is other.definition is None:
            label = f"{column.called}, {control.tool}'s own"
            yield Wanted(label, "mean_of_run_p50", unit, (column.name, column.name))
    yield from _stated(control, treatment)


def _stated(control: ImportedCell, treatment: ImportedCell) -> Iterator[Wanted]:
    """Yield figures that the tool states in every run, over wall time or without rows (rules 2 and 3)."""
    held = {column.name for cell in (control, treatment) for column in _columns(cell)}
    for figure in main_figures(control.runs[0].event.statistics):
        unit = _UNITS.get(figure.unit)
        every = [_figure(run, figure) for cell in (control, treatment) for run in cell.runs]
        if unit is None or None in every or figure.of is not None:
            continue
        whose = figure.definition or f"{figure.called}, {control.tool}'s own"
        if figure.statistic == "sum_over_wall" and figure.column in held:
            yield Wanted(whose, "mean_of_runs", unit, (figure.column, figure.column), over_wall=True)
        elif figure.column not in held and (percentile_of(figure.statistic or "") or _NEEDED) == _NEEDED:
            yield Wanted(f"{whose}, as stated", "mean_of_runs_stated", unit, (None, None), figure.called)


def _figure(run: ImportedRun, like: SourceStatistic) -> SourceStatistic | None:
    """Return the figure of a run that is the same as another's, with a number."""
    return next(
        (
            one
            for one in run.event.statistics
            if (one.called, one.of, one.statistic, one.own, one.definition, one.unit)
            == (like.called, like.of, like.statistic, like.own, like.definition, like.unit)
            and one.number is not None
        ),
        None,
    )


def _columns(cell: ImportedCell) -> list[Column]:
    """Return the columns that all runs of a cell have rows of."""
    tables = [run.measured.rows for run in cell.runs]
    first, *others = tables
    if first is None or any(table is None for table in tables):
        return []
    return [
        one for one in first.columns if all(table is not None and one in table.columns for table in others)
    ]


# --- measures -----------------------------------------------------------------------------------------------


def imported_measure(cell: Any_, one: Wanted, side: int) -> Measure:
    """Return what a cell gives for a metric; `side` is 0 for the control and 1 for the treatment."""
    if not isinstance(cell, ImportedCell):
        return measure(cell, one.label, one.statistic, one.unit)
    per_run = tuple(_of_run(run, one, one.columns[side]) for run in cell.runs)
    given = tuple(figure for figure in per_run if figure.value is not None)
    without = tuple(_name(cell, at) for at, figure in enumerate(per_run) if figure.value is None)
    sizes = [_samples(run, one.columns[side]) for run in cell.runs]
    said = f"{one.statistic}({one.label}) in {one.unit}, over {len(given)} imported runs"
    figure = derive(said, _mean, *(given or per_run))
    return Measure(
        one.label,
        one.statistic,
        one.unit,
        figure,
        _counts(cell),
        given,
        min(sizes, default=0),
        without,
        None,
        None,
        None if given else "no_sample",
    )


def unsupported(cell: Any_, common: Iterable[Wanted], side: int) -> dict[int, list[str]]:
    """Return the metrics whose percentile too few samples support, by how many there are (rule 4)."""
    found: dict[int, list[str]] = {}
    for one in common:
        if isinstance(cell, ImportedCell) and one.statistic == "mean_of_run_p50":
            fewest = min(_samples(run, one.columns[side]) for run in cell.runs)
            if not is_supported(_NEEDED, fewest):
                found.setdefault(fewest, []).append(one.label)
    return found


def _of_run(run: ImportedRun, one: Wanted, column: str | None) -> Figure:
    """Return a run's own figure, on its event, its rows and its file."""
    measured = run.measured
    if one.stated is not None:
        at, figure = next((at, f) for at, f in enumerate(run.event.statistics) if f.called == one.stated)
        stated = measured.stated("statistics", at, "number")
        return derive(
            f"{one.stated}, as the file spells it, in {one.unit}",
            lambda text: _scaled(exact(text), figure.unit),
            stated,
        )
    if column is None or measured.rows is None:
        return measured.made(f"{one.label}: there are no rows", None)
    unit = next(each.unit for each in measured.rows.columns if each.name == column)
    if one.over_wall:
        return measured.statistic("sum_over_wall", column)
    value = nearest_rank(measured.rows.values(column), _NEEDED)
    said = f"p{_NEEDED}, nearest rank, of {column} over {_samples(run, column)} values, in {one.unit}"
    return measured.made(said, None if value is None else _scaled(Fraction(value), unit))


def _scaled(value: Fraction, unit: str) -> Fraction:
    return converted(value, unit, "ms")  # type: ignore[arg-type]  # a unit of a column or figure


def _samples(run: ImportedRun, column: str | None) -> int:
    rows = run.measured.rows
    return 0 if rows is None or column is None else rows.count(column)


def _name(cell: ImportedCell, at: int) -> str:
    run = cell.runs[at]
    return f"run {run.event.run or at + 1} of {cell.protocol} {cell.cell}"


def _counts(cell: ImportedCell) -> Counts:
    def total(name: str) -> Figure:
        stated = [run.measured.stated(name) for run in cell.runs]
        return derive(f"{name}, of all runs; null where one does not say", _sum, *stated)

    size = len(cell.runs)
    marks = [run.measured.source.marked("an imported run", None) for run in cell.runs]
    runs = derive("how many runs were imported", lambda *_: size, *marks)
    return Counts(total("completed"), total("failed"), total("expected"), runs)


def _sum(*values: Value) -> Value:
    whole = [value for value in values if isinstance(value, int)]
    return sum(whole) if len(whole) == len(values) else None


def _mean(*values: Value) -> Value:
    numbers = [value for value in values if isinstance(value, int | Fraction)]
    return mean(numbers)
