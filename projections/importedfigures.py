"""What other tools measured, as figures: of each imported check, suite and load its rows, and statistics over them.

1. A statistic is made from the rows by its name, with `anvil.ledger.statistics`, and never taken from the source:
   what the source printed is beside it, for comparison.
2. It rests on the event, on its rows, and on the file that was kept; its status is the weakest of theirs.
3. Rows that are gone give no figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger import statistics
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import CheckImported, ImportRecorded, LoadImported, SuiteImported
from anvil.ledger.events.results import SourceStatistic
from anvil.ledger.header import Subject
from anvil.ledger.rowtable import MalformedRows, RowTable, converted
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Source, Unsupported, Value, derive
from anvil.projections.record import Campaign, Kept

ROWS = "rows"


@dataclass(frozen=True)
class Measured:
    """One check, suite or load of a file, with its rows; null where the tool kept none, or they are gone."""

    source: Source
    event: CheckImported | SuiteImported | LoadImported
    file: Figure
    """The digest of the file."""
    rows: RowTable | None
    subject: Subject
    """Which candidate and attempt it is about, as far as the file or who imported it says."""
    stream: str

    def stated(self, *path: str | int) -> Figure:
        """Return a clear field of the event."""
        held = self.source.stated(*path)
        rule = "the imported file does not say" if held.value is None else "as an imported file holds it"
        return derive(rule, _first, held, self.file)

    def statistic(self, name: str, column: str, of: str | None = None) -> Figure:
        """Return a statistic of a column over all rows, or over those of an item or group (rules 1 and 2).

        Raises:
            NoNumber: there is no such statistic.
        """
        wall = None if isinstance(self.event, CheckImported) else self.event.wall
        value = None if self.rows is None else self.rows.statistic(name, column, of=of, wall=wall)
        n = 0 if self.rows is None else len(self.rows.values(column, of))
        return self.made(f"{name} of {column}, n={n}", value)

    def again(self, called: str, of: str | None = None) -> Figure:
        """Return a figure of the source made again from the rows, by what the source calls it.

        Null when the source has none of that name, or it is none that rows give.
        """
        for figure in self.event.statistics:
            if (figure.called, figure.of) == (called, of) and figure.statistic and figure.column:
                return self.statistic(figure.statistic, figure.column, of)
        return self.made(f"{called}: not given by rows", None)

    def remade(self, figure: SourceStatistic) -> Figure:
        """Return a figure of the source made again from the rows, in its own unit; null where they do not give it."""
        column = self.rows.column(figure.column) if self.rows is not None and figure.column else None
        if column is None or figure.statistic is None:
            return self.made(f"{figure.called}: {self._why_not(figure)}", None)
        made = self.statistic(figure.statistic, column.name, figure.of)
        value = None if made.value is None else converted(_number(made.value), column.unit, figure.unit)
        return self.made(f"{made.rule}, in {figure.unit}", value)

    def counted(self, figure: SourceStatistic) -> Figure:
        """Return over how many values a figure is, as its rows tell; null where there are none of it."""
        column = self.rows.column(figure.column) if self.rows is not None and figure.column else None
        if self.rows is None and not isinstance(self.event, LoadImported):
            return self.made("samples, as the file counts them", self.event.expected)
        if self.rows is None or column is None:
            return self.made(f"n of {figure.called}: {self._why_not(figure)}", None)
        return self.made(f"values of {column.name}", self.rows.count(column.name, figure.of))

    def _why_not(self, figure: SourceStatistic) -> str:
        if self.rows is None:
            return "there are no rows"
        return "no column of the rows holds it" if figure.statistic else "no statistic of ours is meant"

    def passed(self, of: str | None = None) -> Figure:
        """Return how many rows passed, of an item, a group, or all; null where nobody says when one passes."""
        if not isinstance(self.event, LoadImported) and self.event.passed is None:
            return self.made("nobody says when one passes", None)
        rows = () if self.rows is None else self.rows.of(of)
        return self.made("rows that passed", sum(row.outcome == "passed" for row in rows))

    def asked(self, of: str | None = None) -> Figure:
        """Return how many rows there are, of an item, a group, or all."""
        return self.made("rows", len(() if self.rows is None else self.rows.of(of)))

    def stable(self) -> Figure:
        """Return how many items of a suite reach their own required rate, by the rows."""
        items = self.event.items if isinstance(self.event, SuiteImported) else ()
        reached = 0
        for item in items:
            rows = () if self.rows is None else self.rows.of(item.item)
            passed = sum(row.outcome == "passed" for row in rows)
            rate = statistics.exact(item.required_rate) if item.required_rate is not None else None
            reached += bool(rows) and rate is not None and passed >= rate * len(rows)
        return self.made("items that reach their required rate", reached)

    def made(self, rule: str, value: Value) -> Figure:
        """Return what follows from the event, its rows and the file."""
        own = Figure(value, rule, self.source.support, self.source.status)
        return derive(rule, _first, own, self.file)


def measured(evidence: Evidence, campaign: Campaign) -> Iterator[Measured]:
    """Yield what was imported into a campaign and supports something, in order.

    Raises:
        PublicationRefused: rows are not at hand although no event says that they are gone, or are no rows.
    """
    files: dict[tuple[str, str], Figure] = {}
    for kept in campaign.general:
        source = evidence.source(kept)
        if source is None:
            continue
        event = source.event
        if isinstance(event, ImportRecorded):
            files[kept.stream, event.digest] = source.stated("digest")
        elif isinstance(event, CheckImported | SuiteImported | LoadImported):
            file = files.get((kept.stream, event.source))
            if file is not None:
                rows = _rows(evidence, kept, source)
                yield Measured(source, event, file, rows, kept.subject, kept.stream)


def _rows(evidence: Evidence, kept: Kept, source: Source) -> RowTable | None:
    if ROWS not in source.artifacts or ROWS in evidence.gone(kept):
        return None
    content = evidence.content(source, ROWS)
    if content is None:
        raise PublicationRefused(
            f"the rows of event {kept.entry_hash} are not at hand, and no event says that they are gone",
            advice="Figures of what was imported are computed from its rows. `anvil verify` names what is missing.",
        )
    try:
        return RowTable.parse(content)
    except MalformedRows as error:
        raise PublicationRefused(
            f"artifact {ROWS} of event {kept.entry_hash} are no rows: {error}"
        ) from error


def _first(value: Value, *_rest: Value) -> Value:
    return value


def _number(value: Value) -> Fraction:
    if not isinstance(value, int | Fraction):
        raise Unsupported("a statistic of rows is an exact number")
    return Fraction(value)
