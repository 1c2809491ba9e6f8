"""Disclosures: which private artifacts everybody may have, and how much of each.

1. A disclosure counts when its key may sign it and is not disowned, and when it opens the commitment that an
   event before it shows under the name that it gives. No two that count say anything else of one artifact.
2. Of several the widest counts: bytes before a digest. What was made public once cannot be taken back, neither by a
   retraction nor by a redaction; a redaction deletes the bytes here.
3. Where the openings are not at hand, a disclosure of bytes stands for one: the bytes are there as it says,
   or an event says that they are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from anvil.ledger.blobs import BlobRef
from anvil.ledger.checks.finding import Finding
from anvil.ledger.checks.keys import Control
from anvil.ledger.checks.lookup import Entries, Find, find_in
from anvil.ledger.events import ArtifactDisclosed
from anvil.ledger.header import ArtifactEntry, Header, Subject

Place = tuple[str, str]
"""An artifact by the entry hash of its event and its name there."""


class Source(Entries, Protocol):
    """Looks up entries and blobs."""

    def blob(self, digest: str) -> BlobRef | None:
        """Return the digest and size that a blob really has."""

    @property
    def has_openings(self) -> bool:
        """Whether sealed values are here at all."""

    @property
    def has_blobs(self) -> bool:
        """Whether artifacts are here at all."""


@dataclass(frozen=True)
class Disclosure:
    """A disclosure that counts: where it stands, what it says; where the event is that carries the artifact, and of what."""

    index: int
    event: ArtifactDisclosed
    target: int
    subject: Subject

    @property
    def blob(self) -> BlobRef:
        """Which bytes the artifact is."""
        return BlobRef(self.event.digest, self.event.size)

    @property
    def is_of_bytes(self) -> bool:
        """Whether everybody may have the bytes, and not their digest alone."""
        return self.event.extent == "bytes"


def standing(control: Control, find: Find) -> dict[Place, Disclosure]:
    """Return the disclosures that count, by what they disclose (rules 1 and 2)."""
    found: dict[Place, Disclosure] = {}
    for index, event in control.corrections:
        if not isinstance(event, ArtifactDisclosed) or control.is_disowned(index):
            continue
        target = find(event.target)
        if target is None or target[0] >= index or not opens(event, target[1]):
            continue
        place = event.target, event.artifact
        if place not in found or not found[place].is_of_bytes:
            found[place] = Disclosure(index, event, target[0], target[1].subject)
    return found


def opens(event: ArtifactDisclosed, header: Header) -> bool:
    """Say whether an event opens the commitment that a header shows under the name that it gives."""
    return [a.commitment for a in header.artifacts if a.name == event.artifact] == [event.opens()]


def check_disclosed_bytes(control: Control, source: Source) -> Iterator[Finding]:
    """Yield what is wrong with bytes that everybody may have, where no opening tells which they are (rule 3)."""
    if source.has_openings or not source.has_blobs:
        return  # with openings they are checked as the artifacts that they are
    explained = control.explained()
    for (target, name), disclosure in standing(control, find_in(source)).items():
        if not disclosure.is_of_bytes:
            continue
        expected, there = disclosure.blob, source.blob(disclosure.event.digest)
        if there == expected:
            continue
        if there is not None:
            message = f"the bytes of artifact {name!r} are not those that were disclosed"
            yield Finding(
                "artifact-altered", message, disclosure.target, expected=_told(expected), found=_told(there)
            )
        elif not any(
            explained.get((target, what, name), -1) > disclosure.target for what in ("artifact", "bytes")
        ):
            message = f"the bytes of artifact {name!r} are gone, and no event says so"
            yield Finding("artifact-missing", message, disclosure.target)


def _told(blob: BlobRef) -> str:
    return f"{blob.digest}, {blob.size} bytes"


def shown(artifact: ArtifactEntry, disclosure: ArtifactDisclosed | None) -> BlobRef | None:
    """Return which bytes of an artifact everybody may have, or None: its header shows them, or they were disclosed."""
    if artifact.digest is not None and artifact.size is not None:
        return BlobRef(artifact.digest, artifact.size)
    if disclosure is None or disclosure.extent != "bytes":
        return None
    return BlobRef(disclosure.digest, disclosure.size)
