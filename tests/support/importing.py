"""Imported files as projections see them, without a ledger, and documents compared token by token."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from anvil.collectors.importers import importer_of
from anvil.collectors.importers.interface import Taken
from anvil.ledger.blobs import BlobRef
from anvil.ledger.events import ImportRecorded
from anvil.ledger.header import ArtifactEntry, Header, Subject
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import find
from anvil.projections.record import fold
from anvil.projections.rendering import Draft, draft
from anvil.projections.seen import Seen

CAMPAIGN = "imported"


def tokens(content: bytes) -> Any:
    """Return a JSON file as pairs in their order, and numbers as they are spelled."""
    return json.loads(
        content,
        parse_float=lambda text: ("number", text),
        parse_int=lambda text: ("number", text),
        object_pairs_hook=lambda pairs: ("object", pairs),
    )


def taken_apart(content: bytes) -> tuple[ImportRecorded, Taken]:
    """Return the event that records a file, and what the file is taken apart into.

    Raises:
        ImportRefused: it cannot be.
    """
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    importer = importer_of(content, None)
    taken = importer.take_apart(content, digest)
    event = ImportRecorded(
        kind=importer.kind,
        nature=taken.nature,
        format=taken.format,
        digest=digest,
        size_bytes=len(content),
        statements=len(taken.said),
        not_said=taken.not_said,
        withheld=taken.withheld,
    )
    return event, taken


def imported(content: bytes, campaign: str = CAMPAIGN, start: int = 0) -> list[Seen]:
    """Return the events that a file is taken apart into, from the index `start` on.

    Raises:
        ImportRefused: it cannot be.
    """
    event, taken = taken_apart(content)
    source = ArtifactEntry("source", taken.media_type, digest=event.digest, size=len(content))
    seen = [_seen(start, event, Subject(campaign), (source,))]
    for number, said in enumerate(taken.said, start + 1):
        seen.append(_seen(number, said.event, Subject(campaign, said.candidate, said.attempt)))
    return seen


def rendered(name: str, seen: list[Seen]) -> Draft:
    """Return the document of imported events; every artifact that they name is there."""
    record = fold(seen)
    artifacts = Artifacts.of(record, lambda _: None, lambda _: None)
    sizes = {
        entry.digest: BlobRef(str(entry.digest), int(entry.size or 0)) for entry in artifacts.entries.values()
    }
    return draft(record, Artifacts(artifacts.entries, lambda _: None, sizes.get), find(name))


def _seen(index: int, event: Any, subject: Subject, artifacts: tuple[ArtifactEntry, ...] = ()) -> Seen:
    named = hashlib.sha256(str(index).encode()).hexdigest()
    header = Header(
        ledger="scene.test.invalid/log",
        stream=f"20261130T072613Z-{1:016x}",
        stream_seq=index,
        stream_prev=None if index == 0 else named,
        at="2026-11-30T07:26:13.000000Z",
        event=event.type,
        key="0" * 64,
        facts={},
        subject=subject,
        artifacts=artifacts,
    )
    return Seen(index, named, header, event)
