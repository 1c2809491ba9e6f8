"""The source's own statistics, made again from its rows, and what is wrong with them.

1. A figure of the source is the same as ours when it is equal, or differs by one part in 10^9 at most: the
   source adds floats.
2. A percentile that its number of samples does not support is imported, and named as such.
3. A figure of 0 over no samples is not a measurement: absent is null, never 0.
4. Where a file keeps no rows none of its figures can be made again; where rows of it are to be found is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from anvil.collectors.importers.interface import ImportRefused
from anvil.ledger import statistics
from anvil.ledger.events.results import (
    FindingName,
    ImportFinding,
    Quantity,
    Remade,
    SourceStatistic,
    Unit,
)
from anvil.ledger.rowtable import RowTable, Samples, converted

_TOLERANCE = Fraction(1, 10**9)


@dataclass(frozen=True)
class Given:
    """One figure of a source, as its importer maps it: explicitly, never by its name alone."""

    called: str
    number: str | None
    unit: Unit
    statistic: str | None = None
    column: str | None = None
    definition: str | None = None
    own: str | None = None
    """What the source calls its statistic, where it is none of ours."""
    of: str | None = None
    values: Sequence[Fraction] | None = None
    """What it is a statistic of, where no column holds that, in the unit of the figure."""


def remade(
    given: Iterable[Given], rows: RowTable | None, wall: Quantity | None = None
) -> tuple[SourceStatistic, ...]:
    """Return figures of a source, each with whether the rows give it again (rule 1).

    Raises:
        ImportRefused: a number is none that can be computed with.
    """
    made = []
    known: dict[tuple[str, str | None, str], Samples] = {}
    for one in given:
        try:
            how = _compared(one, _samples(one, rows, known), wall)
        except statistics.NoNumber as error:
            raise ImportRefused(f"{one.called}: {error}") from error
        made.append(
            SourceStatistic(
                called=one.called,
                of=one.of,
                column=one.column,
                statistic=one.statistic,
                own=one.own,
                definition=one.definition,
                unit=one.unit,
                number=one.number,
                remade=how,
            )
        )
    return tuple(made)


def _samples(
    one: Given, rows: RowTable | None, known: dict[tuple[str, str | None, str], Samples]
) -> Samples | None:
    """Return what a figure is computed over, in its unit; null when nothing is known of that."""
    if one.statistic is None:
        return None
    if one.values is not None:
        return Samples.of(one.values)
    column = None if rows is None or one.column is None else rows.column(one.column)
    if rows is None or column is None:
        return None
    key = (column.name, one.of, one.unit)
    if key not in known:
        known[key] = Samples.of(
            [converted(value, column.unit, one.unit) for value in rows.values(column.name, one.of)]
        )
    return known[key]


def _compared(one: Given, samples: Samples | None, wall: Quantity | None) -> Remade:
    if samples is None or one.statistic is None:
        return "no_rows"
    ours = samples.statistic(one.statistic, wall)
    if ours is None:
        is_nothing = one.number is None or statistics.exact(one.number) == 0
        return "no_rows" if is_nothing else "differs"
    if one.number is None:
        return "differs"
    theirs = statistics.exact(one.number)
    return "same" if abs(theirs - ours) <= _TOLERANCE * abs(ours) else "differs"


def finding(
    name: FindingName, about: Sequence[str] = (), found: int | None = None, out_of: int | None = None
) -> ImportFinding:
    """Return a finding."""
    return ImportFinding(finding=name, about=tuple(about), found=found, out_of=out_of)


def findings_of(
    figures: Sequence[SourceStatistic],
    rows: RowTable | None,
    samples: int | None = None,
    beside: Sequence[str] = (),
) -> list[ImportFinding]:
    """Return what is wrong with the figures of a source: rules 1 to 4.

    `samples` is how many there were, as the source counts, for figures of which no rows were kept; `beside` is what
    rows come with: another file, or an option of the tool.
    """
    made = []
    if rows is None and figures and samples != 0:
        made.append(finding("rows_missing", beside, len(figures)))
    differing = [figure.called for figure in figures if figure.remade == "differs"]
    if differing:
        made.append(finding("statistic_differs", _once(differing), len(differing), len(figures)))
    by_samples: dict[tuple[int, int], list[str]] = {}
    empty = []
    for figure in figures:
        q = statistics.percentile_of(figure.statistic or "")
        has_rows = rows is not None and figure.column is not None and rows.column(figure.column) is not None
        n = rows.count(figure.column, figure.of) if rows and has_rows and figure.column else samples
        if q is None or n is None or figure.number is None:
            continue
        if not n:
            empty.append(figure.called)
        elif q >= 50 and not statistics.is_supported(q, n):
            by_samples.setdefault((n, statistics.needed(q)), []).append(figure.called)
    for (n, wanted), called in by_samples.items():
        made.append(finding("percentile_unsupported", _once(called), n, wanted))
    if empty:
        made.append(finding("zero_without_samples", _once(empty), 0, None))
    return made


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
