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
from typing import Any, TypeVar

from anvil.ledger import canonical
from anvil.ledger.blobs import BlobRef
from anvil.ledger.commitments import Opening
from anvil.ledger.creation import create_ledger
from anvil.ledger.disclosure import Extent
from anvil.ledger.drafts import Attachment, seal
from anvil.ledger.drafts import Draft as Unrecorded
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import ArtifactDisclosed, Event, StreamOpened
from anvil.ledger.events.base import Facts
from anvil.ledger.header import NO_SUBJECT, ArtifactEntry, Header, Subject
from anvil.ledger.places import LedgerPlace
from anvil.ledger.public import Role
from anvil.ledger.recording import Ledger
from anvil.ledger.store import Store
from anvil.ledger.streams import Stream
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import find
from anvil.projections.record import Record, fold
from anvil.projections.rendering import Draft, draft
from anvil.projections.seen import Seen

EventT = TypeVar("EventT", bound=Facts)

ORIGIN = "fine.test.invalid/log"


def made(cls: type[EventT], **members: Any) -> EventT:
    """Return facts with these members; what the class has no field for is left out."""
    return cls(**{name: value for name, value in members.items() if name in cls.model_fields})


class Told(list[str]):
    """The entry hashes of what was told so far, and what opens the private artifacts of it."""

    def __init__(self, hashes: Sequence[str] = ()) -> None:
        super().__init__(hashes)
        self.openings: dict[tuple[int, str], Opening] = {}


class Public(bytes):
    """The bytes of a public artifact."""


Telling = Event | Callable[[Told], Event]


@dataclass(frozen=True)
class Line:
    """One event as it is told: what, about what, with which bytes, by whom."""

    event: Telling
    subject: Subject
    artifacts: dict[str, bytes]
    role: Role
    ledger: str = ORIGIN
    """The ledger that is said to have recorded it first, when it is played."""


@dataclass
class Stage:
    """One campaign, on one day."""

    campaign: str
    day: str = "2026-08-15"
    discloses: bool = False
    """Whether an event of it opens a private artifact."""
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
        ledger: str = ORIGIN,
    ) -> int:
        """Add an event and return its number."""
        subject = Subject(campaign or self.campaign, candidate, attempt)
        self.lines.append(Line(event, subject, artifacts or {}, role, ledger))
        return len(self.lines) - 1

    def disclose(
        self, target: int, artifact: str, attempt: str | None = None, *, extent: Extent = "digest"
    ) -> int:
        """Tell that a private artifact becomes public."""
        self.discloses = True

        def opened(told: Told) -> Event:
            opening = told.openings[target, artifact]
            members = canonical.decode(opening.value)
            return ArtifactDisclosed(
                target=told[target],
                artifact=artifact,
                extent=extent,
                digest=members["digest"],
                size=members["size"],
                salt=opening.salt.hex(),
                reason=None,
                exceptions=(),
            )

        return self.tell(opened, None, attempt, role="operator")

    # --- without a ledger -----------------------------------------------------------------------------------

    def played(self) -> tuple[Record, Artifacts]:
        """Return the record and the artifacts of it, all in memory."""
        blobs: dict[str, bytes] = {}
        openings: dict[str, Opening] = {}
        names = (hashlib.sha256(f"line {at}".encode()).hexdigest() for at in range(len(self.lines)))
        hashes = Told(list(names))
        opened = StreamOpened(purpose="run", synthetic=True, software="0.1")
        seen = [self._seen(0, "0" * 64, opened, NO_SUBJECT, ())]
        for at, line in enumerate(self.lines):
            event = line.event if isinstance(line.event, Event) else line.event(hashes)
            attached = tuple(_attached(name, raw) for name, raw in line.artifacts.items())
            _, entries, opens = seal(Unrecorded(event, line.subject, attached))
            openings.update({one.commitment(): one for one in opens})
            for entry in entries:
                if entry.commitment is not None:
                    hashes.openings[at, entry.name] = openings[entry.commitment]
            blobs.update({item.blob.digest: line.artifacts[item.name] for item in attached})
            seen.append(self._seen(at + 1, hashes[at], event, line.subject, entries, line.ledger))
        record = fold(seen)

        def measure(digest: str) -> BlobRef | None:
            return BlobRef(digest, len(blobs[digest])) if digest in blobs else None

        return record, Artifacts.of(record, openings.get, measure, blobs.get)

    def drawn(self, name: str, **options: str) -> Draft:
        """Return a document of it."""
        return draft(*self.played(), find(name), campaign=self.campaign, **options)

    def _seen(
        self,
        index: int,
        named: str,
        event: Any,
        subject: Subject,
        artifacts: tuple[ArtifactEntry, ...],
        ledger: str = ORIGIN,
    ) -> Seen:
        header = Header(
            ledger=ledger,
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
        hashes = Told()
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
                (one,) = stream.append([Unrecorded(event, line.subject, attached)])
                for item in attached if self.discloses else ():
                    opening = _opening_of(place, one.index, item.name)
                    if opening is not None:
                        hashes.openings[len(hashes), item.name] = opening
                hashes.append(one.entry_hash)
            if stream is not None:
                stream.close()
        return place


def _opening_of(place: LedgerPlace, index: int, name: str) -> Opening | None:
    """Return what opens a private artifact of an event in a ledger."""
    store = Store.open_readonly(place.database)
    try:
        entry = next(iter(store.rows(index, index + 1))).entry
        found = {one.name: one.commitment for one in Header.parse(Envelope.parse(entry).header).artifacts}
        return None if found[name] is None else store.opening(str(found[name]))
    finally:
        store.close()


def _attached(name: str, raw: bytes) -> Attachment:
    blob = BlobRef(f"sha256:{hashlib.sha256(raw).hexdigest()}", len(raw))
    return Attachment(name, _media_type(name), blob, isinstance(raw, Public))


def _media_type(name: str) -> str:
    return "application/x-ndjson" if name == "rows" else "application/octet-stream"
