"""Events as projections see them: decoded, with the names by which other events and people find them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.commitments import Opening
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import AnyEvent, decode
from anvil.ledger.header import Header
from anvil.ledger.store import Store


@dataclass(frozen=True)
class Seen:
    """One event: its index in this ledger, its entry hash, its header, and what it states."""

    index: int
    entry_hash: str
    header: Header
    event: AnyEvent


def read_events(store: Store, *, start: int = 0, opened: bool = False) -> Iterator[Seen]:
    """Yield the events of a ledger in order; with `opened`, sealed values where they are at hand.

    Raises:
        UnknownEventType: a newer anvil wrote one; nothing is skipped in silence.
        Malformed: one is not what its type says.
    """
    for row in store.rows(start, store.size()):
        header = Header.parse(Envelope.parse(row.entry).header)
        sealed: dict[str, Opening | str] = dict(header.sealed)
        if opened:
            for name, commitment in header.sealed.items():
                sealed[name] = store.opening(commitment) or commitment
        yield Seen(row.entry_index, row.leaf_hash.hex(), header, decode(header.event, header.facts, sealed))
