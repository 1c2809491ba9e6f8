"""The bytes behind a document: where each artifact lies, and that it is there as it was signed.

An artifact that is gone although no event says so refuses the document: loss is an event, or a fault.
The bytes come through functions that the caller gives; nothing here opens a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from anvil.ledger import canonical
from anvil.ledger.blobs import BlobRef
from anvil.ledger.commitments import Opening
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.header import ArtifactEntry
from anvil.projections.figures import ArtifactName
from anvil.projections.record import Record

Open = Callable[[str], Opening | None]
"""From a commitment to what opens it, or None when that is not at hand."""

Measure = Callable[[str], BlobRef | None]
"""From a digest to what really lies there, or None when nothing does."""


Read = Callable[[str], bytes | None]
"""From a digest to the bytes that lie there, or None when nothing does."""


def nothing(_digest: str) -> None:
    """Return None: where only names are at hand, no bytes are."""


@dataclass(frozen=True)
class Artifacts:
    """The artifacts of a record, and the functions that lead to their bytes."""

    entries: Mapping[ArtifactName, ArtifactEntry]
    open: Open
    measure: Measure
    read: Read = nothing

    @classmethod
    def of(cls, record: Record, open_: Open, measure: Measure, read: Read = nothing) -> Artifacts:
        """Return the artifacts of every event that a document of `record` could cite."""
        entries: dict[ArtifactName, ArtifactEntry] = {}
        for kept in record.every():
            entries.update({ArtifactName(kept.entry_hash, a.name): a for a in kept.artifacts})
        return cls(entries, open_, measure, read)

    def blob(self, name: ArtifactName) -> BlobRef | None:
        """Return which bytes an artifact is, or None when its opening is not at hand."""
        entry = self.entries[name]
        if entry.commitment is None:
            return BlobRef(str(entry.digest), int(entry.size or 0))
        opening = self.open(entry.commitment)
        if opening is None or opening.commitment() != entry.commitment:
            return None
        members = canonical.decode(opening.value)
        return BlobRef(members["digest"], members["size"])

    def content(self, name: ArtifactName) -> bytes | None:
        """Return the bytes of a public artifact, such as rows; None for a private one.

        What is computed from bytes must be computed again by whoever has the publication, and a private
        artifact does not go along.

        Raises:
            PublicationRefused: they are not there, or others are in their place.
        """
        entry = self.entries[name]
        if entry.digest is None:
            return None
        content = self.read(entry.digest)
        if (
            content is None
            or len(content) != entry.size
            or f"sha256:{hashlib.sha256(content).hexdigest()}" != entry.digest
        ):
            raise _gone(name)
        return content

    def require(self, names: Iterable[ArtifactName], gone: frozenset[ArtifactName]) -> None:
        """Check that each artifact is there to the byte, but for those of which an event says that they are gone.

        Raises:
            PublicationRefused: one is not.
        """
        for name in sorted(set(names) - gone):
            blob = self.blob(name)
            if blob is None or self.measure(blob.digest) != blob:
                raise _gone(name)


def _gone(name: ArtifactName) -> PublicationRefused:
    return PublicationRefused(
        f"artifact {name.name} of event {name.event} is gone or altered, and no event says so",
        advice="`anvil verify` names it. Put the bytes back, or redact it: `anvil redact`.",
    )
