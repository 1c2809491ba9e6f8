"""Artifacts as a ledger's own database knows them: which bytes stand behind the name in a header.

A public artifact names its bytes in the header, a private one through its opening. Without the opening,
or with one that does not say it, nobody can tell which bytes were meant, unless they were disclosed.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger import canonical
from anvil.ledger.blobs import BlobRef
from anvil.ledger.checks.disclosures import Disclosure, Place, shown, standing
from anvil.ledger.checks.keys import CONTROL_TYPES, Control, read_control
from anvil.ledger.checks.lookup import find_in
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import Malformed
from anvil.ledger.header import ArtifactEntry, Header
from anvil.ledger.store import Store


def blob_of(store: Store, artifact: ArtifactEntry) -> BlobRef | None:
    """Return which bytes an artifact names, or None when its opening is gone or names none."""
    if artifact.commitment is None:
        return BlobRef(str(artifact.digest), int(artifact.size or 0))
    opening = store.opening(artifact.commitment)
    if opening is None:
        return None
    try:
        members = canonical.decode(opening.value)
        named = ArtifactEntry(artifact.name, artifact.media_type, members["digest"], members["size"])
    except (Malformed, TypeError, KeyError):
        return None  # altered: `anvil verify` says so
    return BlobRef(str(named.digest), int(named.size or 0))


def named_blobs(store: Store, start: int, stop: int) -> Iterator[tuple[int, str, BlobRef]]:
    """Yield (index, name, blob) of each artifact in a range of the log whose bytes can be told."""
    for row in store.rows(start, stop):
        for artifact in _artifacts(row.entry):
            blob = blob_of(store, artifact)
            if blob is not None:
                yield row.entry_index, artifact.name, blob


def disclosures(store: Store) -> dict[Place, Disclosure]:
    """Return the disclosures of a ledger that count, by the entry hash and name of what they disclose."""
    return standing(_control(store), find_in(store))


def _control(store: Store) -> Control:
    rows = ((row.entry_index, row.entry) for row in store.of_types(CONTROL_TYPES))
    return read_control(store.origin(), rows)


def public_blobs(store: Store, size: int) -> Iterator[tuple[BlobRef, bool]]:
    """Yield the bytes that everybody may have by what the first `size` entries say, and whether they were redacted there.

    What was redacted is nobody's to hand out any more: the same bytes can be a private artifact of a later event.
    """
    control = _control(store)
    said = {
        place: found.event for place, found in standing(control, find_in(store)).items() if found.index < size
    }
    explained = control.explained()
    for row in store.rows(0, size):
        for artifact in _artifacts(row.entry):
            leaf = row.leaf_hash.hex()
            blob = shown(artifact, said.get((leaf, artifact.name)))
            if blob is not None:
                yield blob, explained.get((leaf, "artifact", artifact.name), -1) > row.entry_index


def _artifacts(entry: bytes) -> tuple[ArtifactEntry, ...]:
    try:
        return Header.parse(Envelope.parse(entry).header).artifacts
    except Malformed:
        return ()  # altered: `anvil verify` says so
