"""A ledger opened for reading documents from: its record up to an index, its artifacts, its state."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from anvil.ledger.blobs import BlobStore
from anvil.ledger.errors import BlobMissing, PublicationRefused
from anvil.ledger.merkle import root_at
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import Store
from anvil.ledger.storedtree import StoredTree
from anvil.projections.artifacts import Artifacts
from anvil.projections.provenance import State
from anvil.projections.record import Record, fold
from anvil.projections.rendering import Draft
from anvil.projections.seen import read_events
from anvil.projections.signed import require_signed


@dataclass(frozen=True)
class Opened:
    """What a document is made of."""

    record: Record
    artifacts: Artifacts
    state: State
    store: Store
    blobs: BlobStore

    def require_signed(self, made: Draft) -> None:
        """Check that what a draft rests on is as it was signed.

        Raises:
            PublicationRefused: an event is not.
        """
        self.require_signed_events({event for leaf in made.rendered.leaves for event in leaf.support.events})

    def require_signed_events(self, cited: Set[str]) -> None:
        """Check that events, by entry hash, and all that take something back are as they were signed.

        Raises:
            PublicationRefused: one is not.
        """
        shown = {kept.entry_hash: kept.index for kept in self.record.every() if kept.entry_hash in cited}
        require_signed(self.store, {**shown, **self.record.corrections})


@contextmanager
def opened(place: LedgerPlace, as_of: int | None) -> Iterator[Opened]:
    """Open a ledger, as it was right after the event at `as_of`.

    Raises:
        PublicationRefused: there is no such index.
    """
    store = Store.open_readonly(place.database)
    try:
        with store.snapshot():
            size = store.size()
            if as_of is not None and as_of >= size:
                raise PublicationRefused(
                    f"there is no entry {as_of}; the ledger has {size}", advice="See `anvil log`."
                )
            record = fold(read_events(store), as_of=as_of)
            blobs = BlobStore(place.blobs)
            state = State(store.origin(), record.size, root_at(record.size, StoredTree(store).read).hex())
            artifacts = Artifacts.of(record, store.opening, blobs.measure, partial(_read, blobs))
            yield Opened(record, artifacts, state, store, blobs)
    finally:
        store.close()


def _read(blobs: BlobStore, digest: str) -> bytes | None:
    try:
        return blobs.get(digest)
    except BlobMissing:
        return None
