"""A stage: a campaign's events with their bytes, played without a ledger or recorded into a real one.

`tell` gives a number to each event; one that names others takes a function of their entry hashes. A public
artifact is given as `Public(bytes)`, a private one as bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anvil.ledger.blobs import BlobRef
from anvil.ledger.commitments import Opening
from anvil.ledger.creation import create_ledger
from anvil.ledger.drafts import Attachment, seal
from anvil.ledger.drafts import Draft as Unrecorded
from anvil.ledger.events import Event, StreamOpened
from anvil.ledger.header import NO_SUBJECT, ArtifactEntry, Header, Subject
from anvil.ledger.places import LedgerPlace
from anvil.ledger.public import Role
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import find
from anvil.projections.record import Record, fold
from anvil.projections.rendering import Draft, draft
from anvil.projections.seen import Seen

ORIGIN = "fine.test.invalid/log"
Telling = Event | Callable[[Sequence[str]], Event]


class Public(bytes):
    """The bytes of a public artifact."""


@dataclass(frozen=True)
class Line:
    """One event as it is told: what, about what, with which bytes, by whom."""

    event: Telling
    subject: Subject
    artifacts: dict[str, bytes]
    role: Role


@dataclass
class Stage:
    """One campaign, on one day."""

    campaign: str
    day: str = "2026-08-15"
    lines: list[Line] = field(default_factory=list)

    def tell(
        self,
        event: Telling,
        candidate: str | None = None,
        attempt: str | None = None,
        *,
        role: Role = "collector",
        campaign: str | None = None,
        artifacts: dict[str, bytes] | None = None,
    ) -> int:
        """Add an event and return its number."""
        subject = Subject(campaign or self.campaign, candidate, attempt)
        self.lines.append(Line(event, subject, artifacts or {}, role))
        return len(self.lines) - 1

    # --- without a ledger -----------------------------------------------------------------------------------

    def played(self) -> tuple[Record, Artifacts]:
        """Return the record and the artifacts of it, all in memory."""
        blobs: dict[str, bytes] = {}
        openings: dict[str, Opening] = {}
        hashes = [hashlib.sha256(f"line {at}".encode()).hexdigest() for at in range(len(self.lines))]
        opened = StreamOpened(purpose="run", synthetic=True, software="0.1")
        seen = [self._seen(0, "0" * 64, opened, NO_SUBJECT, ())]
        for at, line in enumerate(self.lines):
            event = line.event if isinstance(line.event, Event) else line.event(hashes)
            attached = tuple(_attached(name, raw) for name, raw in line.artifacts.items())
            _, entries, opens = seal(Unrecorded(event, line.subject, attached))
            openings.update({one.commitment(): one for one in opens})
            blobs.update({item.blob.digest: line.artifacts[item.name] for item in attached})
            seen.append(self._seen(at + 1, hashes[at], event, line.subject, entries))
        record = fold(seen)

        def measure(digest: str) -> BlobRef | None:
            return BlobRef(digest, len(blobs[digest])) if digest in blobs else None

        return record, Artifacts.of(record, openings.get, measure, blobs.get)

    def drawn(self, name: str, **options: str) -> Draft:
        """Return a document of it."""
        return draft(*self.played(), find(name), campaign=self.campaign, **options)

    def _seen(
        self, index: int, named: str, event: Any, subject: Subject, artifacts: tuple[ArtifactEntry, ...]
    ) -> Seen:
        header = Header(
            ledger=ORIGIN,
            stream=f"{self.day.replace('-', '')}T120000Z-{1:016x}",
            stream_seq=index,
            stream_prev=None if index == 0 else named,
            at=f"{self.day}T12:00:00.000000Z",
            event=event.type,
            key="0" * 64,
            facts={},
            subject=subject,
            artifacts=artifacts,
        )
        return Seen(index, named, header, event)

    # --- in a ledger ----------------------------------------------------------------------------------------

    def recorded(self, directory: Path, origin: str = ORIGIN) -> LedgerPlace:
        """Record it into a new ledger: a stream for each change of who signs."""
        noon = datetime.fromisoformat(f"{self.day}T12:00:00+00:00").astimezone(UTC)
        place = create_ledger(directory, origin, clock=lambda: noon).place
        hashes: list[str] = []
        with Ledger.open(directory, clock=lambda: noon) as ledger:
            stream, role = None, None
            for line in self.lines:
                if stream is None or role != line.role:
                    if stream is not None:
                        stream.close()
                    role = line.role
                    stream = Stream.start(ledger, ledger.signer(role), purpose="run")
                event = line.event if isinstance(line.event, Event) else line.event(hashes)
                attached = tuple(
                    Attachment(name, _media_type(name), ledger.blobs.put(raw), isinstance(raw, Public))
                    for name, raw in line.artifacts.items()
                )
                hashes.append(stream.append([Unrecorded(event, line.subject, attached)])[0].entry_hash)
            if stream is not None:
                stream.close()
        return place


def _attached(name: str, raw: bytes) -> Attachment:
    blob = BlobRef(f"sha256:{hashlib.sha256(raw).hexdigest()}", len(raw))
    return Attachment(name, _media_type(name), blob, isinstance(raw, Public))


def _media_type(name: str) -> str:
    return "application/x-ndjson" if name == "rows" else "application/octet-stream"
