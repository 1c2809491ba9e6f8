"""What was taken back since a state: an earlier state is not published for the first time with it.

1. Whoever has a publication sees the corrections up to its state. What was retracted, redacted, lost or disowned after
   it, and before the release, nobody would see there, although the release is signed after them. A correction by a key
   that is disowned takes nothing back.
2. So it is when a release of the same document was withdrawn after it.
3. Of a state that was released before its folder is made again all the same: it is out.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.entry import read_entry
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import ArtifactMissing, ArtifactRedacted, EventRetracted
from anvil.ledger.header import Header
from anvil.ledger.publication.withdrawing import withdrawn_of
from anvil.ledger.recording import Ledger
from anvil.projections.figures import ArtifactName
from anvil.projections.releasing import Prepared

_LATER = "Release what the ledger says since: without --as-of, or with a later one."
_TAKE_BACK = (EventRetracted.event_type, ArtifactRedacted.event_type, ArtifactMissing.event_type)


def require_standing(ledger: Ledger, prepared: Prepared) -> None:
    """Check that what is to be published rests on nothing that was taken back since its state (rules 1 and 2).

    Raises:
        PublicationRefused: it does, or a release of it was withdrawn since.
    """
    size = prepared.event.fold.size
    for earlier in withdrawn_of(ledger, prepared.event.document, prepared.subject, size):
        raise PublicationRefused(
            f"a release of this document (event {earlier.released}) was withdrawn since, at index {earlier.withdrawn}: "
            f"whoever reads the state of {size} entries could not know",
            advice=_LATER,
        )
    for index, what in _taken_back(ledger, prepared):
        raise PublicationRefused(
            f"the state of {prepared.event.fold.size} entries rests on {what}, at index {index}: "
            "whoever reads it could not know",
            advice=_LATER,
        )


def _taken_back(ledger: Ledger, prepared: Prepared) -> Iterator[tuple[int, str]]:
    """Yield where something behind a leaf was taken back, and what."""
    leaves = prepared.draft.rendered.leaves
    events = {event for leaf in leaves for event in leaf.support.events}
    artifacts = {artifact for leaf in leaves for artifact in leaf.support.artifacts}
    keys = ledger.keyring().keys
    for row in ledger.store.of_types(_TAKE_BACK, prepared.event.fold.size):
        header, said = read_entry(row.entry_index, row.entry)
        signer = keys.get(header.key)
        if signer is not None and signer.disowns(row.entry_index):
            continue
        match said:
            case EventRetracted() as event if event.target in events:
                yield row.entry_index, f"event {event.target[:16]}, which was retracted since"
            case (ArtifactRedacted() | ArtifactMissing()) as event if (
                ArtifactName(event.target, event.artifact) in artifacts
            ):
                yield (
                    row.entry_index,
                    f"artifact {event.artifact} of {event.target[:16]}, which is gone since",
                )
    for name in sorted(events | prepared.disclosed_by):
        index = ledger.store.index_of(bytes.fromhex(name))
        entry = None if index is None else ledger.store.entry(index)
        if index is None or entry is None:
            continue
        key = keys.get(Header.parse(Envelope.parse(entry).header).key)
        if (
            key is not None
            and key.revoked is not None
            and key.revoked >= prepared.event.fold.size
            and key.disowns(index)
        ):
            yield key.revoked, f"event {name[:16]}, whose key was revoked since"
