"""A ledger opened for reading documents from: its record up to an index, its artifacts, its state."""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from anvil.ledger.blobs import BlobStore
from anvil.ledger.errors import BlobMissing, PublicationRefused
from anvil.ledger.events import PublicationWithdrawn
from anvil.ledger.merkle import root_at
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import Store
from anvil.ledger.storedtree import StoredTree
from anvil.projections.artifacts import Artifacts
from anvil.projections.provenance import State
from anvil.projections.record import UNNAMED, Record, fold
from anvil.projections.rendering import Draft
from anvil.projections.seen import DECLARES, Reading, Seen
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
        """Check that events, by entry hash, and all that take something back or withdraw it are as they were signed.

        Raises:
            PublicationRefused: one is not.
        """
        shown = {
            kept.entry_hash: kept.index
            for kept in self.record.every()
            if kept.entry_hash in cited or isinstance(kept.event, PublicationWithdrawn)
        }
        require_signed(
            self.store, {**shown, **{kept.entry_hash: kept.index for kept in self.record.corrections}}
        )


@contextmanager
def opened(
    place: LedgerPlace, as_of: int | None, campaign: str | None = None, *, is_whole: bool = False
) -> Iterator[Opened]:
    """Open a ledger, as it was right after the event at `as_of`, for documents of one campaign.

    Events of other campaigns are not read, unless it is opened whole, to compare one with another. Which one it is
    need not be said where there is only one.

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
            size = size if as_of is None else as_of + 1
            events = Reading(store).events(0, size) if is_whole else _events(store, campaign, size)
            record = replace(fold(events), size=size)
            blobs = BlobStore(place.blobs)
            state = State(store.origin(), record.size, root_at(record.size, StoredTree(store).read).hex())
            artifacts = Artifacts.of(record, store.opening, blobs.measure, partial(_read, blobs))
            yield Opened(record, artifacts, state, store, blobs)
    finally:
        store.close()


def _events(store: Store, campaign: str | None, size: int) -> Iterator[Seen]:
    if campaign is None:
        declared = store.campaigns_of(DECLARES, size)
        campaign = declared[0] if len(declared) == 1 else None
    named = None if campaign == UNNAMED else campaign
    return Reading(store).about(named, size)


def _read(blobs: BlobStore, digest: str) -> bytes | None:
    try:
        return blobs.get(digest)
    except BlobMissing:
        return None
