"""The runs that lead to one: who the engine was when the attempt was begun, and what they measured.

1. A run names the one that it goes on with, that one the one before, and so on to the run that began the attempt.
2. What recovery told of one of them in a stream of its own is of that run.
3. The engine is that of the oldest of them in which it was asked; what it said since counts as well (`sameness`).
4. A cell that was done again has the rows of its newest run that went to its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anvil.collectors.running.sameness import of_one_engine
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import EngineIdentified, LoadMeasured, RecipeDeclared, StreamAbandoned, decode
from anvil.ledger.events.load import ProtocolKind
from anvil.ledger.header import Header
from anvil.ledger.recording import Ledger
from anvil.ledger.rows import Row, read_rows


@dataclass(frozen=True)
class Lineage:
    """The streams of these runs, the oldest first, and all of their recoveries."""

    ledger: Ledger
    streams: tuple[str, ...]
    recoveries: frozenset[str]

    @classmethod
    def of(cls, ledger: Ledger, stream: str) -> Lineage:
        """Return what leads to the run in `stream`."""
        continues: dict[str, str | None] = {}
        told_by: dict[str, str] = {}
        for header in _headers(ledger, RecipeDeclared.event_type, StreamAbandoned.event_type):
            if header.event == RecipeDeclared.event_type:
                continues.setdefault(header.stream, header.facts["continues"])
            else:
                told_by[header.facts["abandoned"]] = header.stream
        found = [stream]
        while (before := continues.get(found[-1])) is not None and before not in found:
            found.append(before)
        recoveries = frozenset(told_by[one] for one in found if one in told_by)
        return cls(ledger, tuple(reversed(found)), recoveries)

    def identified(self) -> tuple[EngineIdentified, ...]:
        """Return every look at the engine (rule 3), the oldest first, sealed words included; none when nobody asked."""
        asked: dict[str, list[EngineIdentified]] = {}
        opening = self.ledger.store.opening
        for header in _headers(self.ledger, EngineIdentified.event_type):
            if header.stream in self.streams:
                sealed = {name: opening(hidden) or hidden for name, hidden in header.sealed.items()}
                event = decode(header.event, header.facts, sealed)
                if isinstance(event, EngineIdentified):
                    asked.setdefault(header.stream, []).append(event)
        return of_one_engine(event for stream in self.streams for event in asked.get(stream, ()))

    def rows(self, kind: ProtocolKind) -> Mapping[str, Mapping[str, tuple[Row, ...]]]:
        """Return the rows of what was measured by protocols of a kind, by protocol and cell (rule 4).

        Rows that are gone are left out.

        Raises:
            MalformedLine: what is kept as rows is none.
        """
        found: dict[str, dict[str, tuple[Row, ...]]] = {}
        whole = {"kind": kind, "phase": "measured", "outcome": "completed"}.items()
        for header in _headers(self.ledger, LoadMeasured.event_type):
            is_ours = header.stream in self.streams or header.stream in self.recoveries
            digest = next((item.digest for item in header.artifacts if item.name == "rows"), None)
            if is_ours and whole <= header.facts.items() and digest and self.ledger.blobs.measure(digest):
                _, rows = read_rows(self.ledger.blobs.get(digest))
                found.setdefault(header.facts["protocol"], {})[header.facts["cell"]] = rows
        return found


def _headers(ledger: Ledger, *event_types: str) -> Iterator[Header]:
    for row in ledger.store.of_types(event_types):
        yield Header.parse(Envelope.parse(row.entry).header)
