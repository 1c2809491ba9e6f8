"""The bytes behind a document: where each artifact lies, and that it is there as it was signed.

1. An artifact that is gone although no event says so refuses the document: loss is an event, or a fault.
2. Everybody may have the bytes of an artifact whose header shows its digest, and of one that was disclosed with them.
3. The bytes come through functions that the caller gives; nothing here opens a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from anvil.ledger import canonical
from anvil.ledger.blobs import BlobRef
from anvil.ledger.checks.disclosures import shown
from anvil.ledger.commitments import Opening
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import ArtifactDisclosed
from anvil.ledger.header import ArtifactEntry
from anvil.projections.figures import ArtifactName
from anvil.projections.record import Kept, Record

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
    disclosures: Mapping[ArtifactName, Kept] = field(default_factory=dict)
    """The events that disclosed some of them, bytes before a digest."""

    @classmethod
    def of(cls, record: Record, open_: Open, measure: Measure, read: Read = nothing) -> Artifacts:
        """Return the artifacts of every event that a document of `record` could cite."""
        entries: dict[ArtifactName, ArtifactEntry] = {}
        said: list[tuple[Kept, ArtifactDisclosed]] = []
        for kept in record.every():
            entries.update({ArtifactName(kept.entry_hash, a.name): a for a in kept.artifacts})
            if isinstance(kept.event, ArtifactDisclosed) and not record.is_disowned(kept):
                said.append((kept, kept.event))
        disclosures: dict[ArtifactName, Kept] = {}
        for kept, event in sorted(said, key=lambda one: (one[1].extent != "bytes", one[0].index)):
            name = ArtifactName(event.target, event.artifact)
            if name in entries and entries[name].commitment == event.opens():
                disclosures.setdefault(name, kept)
        return cls(entries, open_, measure, read, disclosures)

    def disclosed(self, name: ArtifactName) -> ArtifactDisclosed | None:
        """Return what was said when an artifact was disclosed, or None when it was not."""
        kept = self.disclosures.get(name)
        return kept.event if kept is not None and isinstance(kept.event, ArtifactDisclosed) else None

    def public(self, name: ArtifactName) -> BlobRef | None:
        """Return which bytes of an artifact everybody may have, or None (rule 2)."""
        return shown(self.entries[name], self.disclosed(name))

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
        """Return the bytes of an artifact that everybody may have, such as rows; None for a private one.

        What is computed from bytes must be computed again by whoever has the publication, and a private
        artifact does not go along.

        Raises:
            PublicationRefused: they are not there, or others are in their place.
        """
        blob = self.public(name)
        if blob is None:
            return None
        content = self.read(blob.digest)
        if content is None or BlobRef(f"sha256:{hashlib.sha256(content).hexdigest()}", len(content)) != blob:
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
