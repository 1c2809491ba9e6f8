"""What other tools measured, as figures: of each imported check, suite and load its rows, and statistics over them.

1. A statistic is made from the rows by its name, with `anvil.ledger.statistics`, and never taken from the source:
   what the source printed is beside it, for comparison.
2. It rests on the event, on its rows, and on the file that was kept; its status is the weakest of theirs.
3. Rows that are gone give no figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anvil.ledger import statistics
from anvil.ledger.events import CheckImported, ImportRecorded, LoadImported, SuiteImported
from anvil.ledger.rowtable import RowTable
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Source, Value, derive
from anvil.projections.record import Campaign, Kept

Read = Callable[[str], bytes]
"""From a digest to the bytes."""

ROWS = "rows"


@dataclass(frozen=True)
class Measured:
    """One check, suite or load of a file, with its rows; null where the tool kept none, or they are gone."""

    source: Source
    event: CheckImported | SuiteImported | LoadImported
    file: Figure
    """The digest of the file."""
    rows: RowTable | None

    def stated(self, *path: str | int) -> Figure:
        """Return a clear field of the event."""
        return derive("as an imported file holds it", _first, self.source.stated(*path), self.file)

    def statistic(self, name: str, column: str, of: str | None = None) -> Figure:
        """Return a statistic of a column over all rows, or over those of an item or group (rules 1 and 2).

        Raises:
            NoNumber: there is no such statistic.
        """
        wall = None if isinstance(self.event, CheckImported) else self.event.wall
        value = None if self.rows is None else self.rows.statistic(name, column, of=of, wall=wall)
        n = 0 if self.rows is None else len(self.rows.values(column, of))
        return self._made(f"{name} of {column}, n={n}", value)

    def again(self, called: str, of: str | None = None) -> Figure:
        """Return a figure of the source made again from the rows, by what the source calls it.

        Null when the source has none of that name, or it is none that rows give.
        """
        for figure in self.event.statistics:
            if (figure.called, figure.of) == (called, of) and figure.statistic and figure.column:
                return self.statistic(figure.statistic, figure.column, of)
        return self._made(f"{called}: not given by rows", None)

    def passed(self, of: str | None = None) -> Figure:
        """Return how many rows passed, of an item, a group, or all; null where nobody says when one passes."""
        if not isinstance(self.event, LoadImported) and self.event.passed is None:
            return self._made("nobody says when one passes", None)
        rows = () if self.rows is None else self.rows.of(of)
        return self._made("rows that passed", sum(row.outcome == "passed" for row in rows))

    def asked(self, of: str | None = None) -> Figure:
        """Return how many rows there are, of an item, a group, or all."""
        return self._made("rows", len(() if self.rows is None else self.rows.of(of)))

    def stable(self) -> Figure:
        """Return how many items of a suite reach their own required rate, by the rows."""
        items = self.event.items if isinstance(self.event, SuiteImported) else ()
        reached = 0
        for item in items:
            rows = () if self.rows is None else self.rows.of(item.item)
            passed = sum(row.outcome == "passed" for row in rows)
            rate = statistics.exact(item.required_rate) if item.required_rate is not None else None
            reached += bool(rows) and rate is not None and passed >= rate * len(rows)
        return self._made("items that reach their required rate", reached)

    def _made(self, rule: str, value: Value) -> Figure:
        own = Figure(value, rule, self.source.support, self.source.status)
        return derive(rule, _first, own, self.file)


def measured(evidence: Evidence, campaign: Campaign, read: Read) -> Iterator[Measured]:
    """Yield what was imported into a campaign and supports something, in order.

    Raises:
        MalformedRows: an artifact that is named as rows is none.
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
                yield Measured(source, event, file, _rows(evidence, kept, read))


def _rows(evidence: Evidence, kept: Kept, read: Read) -> RowTable | None:
    entry = next((artifact for artifact in kept.artifacts if artifact.name == ROWS), None)
    if entry is None or entry.digest is None or ROWS in evidence.gone(kept):
        return None
    return RowTable.parse(read(entry.digest))


def _first(value: Value, *_rest: Value) -> Value:
    return value
