"""Events as projections see them: decoded, with the names by which other events and people find them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.checks.keys import CONTROL_TYPES, read_control
from anvil.ledger.commitments import Opening
from anvil.ledger.entry import require_known, stated
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import AnyEvent, known_types
from anvil.ledger.header import Header
from anvil.ledger.keyring import Keyring
from anvil.ledger.store import Row, Store
from anvil.projections.standing import Said

DECLARES = tuple(
    name for name in known_types() if name.partition("/")[0] in ("recipe.declared", "import.recorded")
)
"""The types that make a campaign one of which there can be documents."""

BEYOND_CAMPAIGNS = (
    *DECLARES,
    *(name for name in known_types() if name.partition("/")[0] in ("evidence.attached",)),
)
"""The types, besides control events, that matter to a document whatever campaign they are about."""


@dataclass(frozen=True)
class Seen:
    """One event: its index in this ledger, its entry hash, its header, and what it states.

    A disowned one was signed by a key that was revoked from a state before it on, and supports nothing.
    """

    index: int
    entry_hash: str
    header: Header
    event: AnyEvent
    is_disowned: bool = False

    @property
    def said(self) -> Said:
        """Return where it lies, for what it changes of another (`standing`)."""
        return Said(self.index, self.entry_hash, bool(self.header.artifacts))


class Reading:
    """The events of a ledger, one after another or by entry hash; with `opened`, sealed values where they are at hand."""

    def __init__(self, store: Store, *, opened: bool = False) -> None:
        self._store = store
        self._opened = opened
        self._keyrings = _keyrings(store)

    def events(self, start: int = 0, stop: int | None = None) -> Iterator[Seen]:
        """Yield the events from `start` on, in order, and before `stop` where one is given.

        Raises:
            UnknownEventType: another anvil wrote one; nothing is skipped in silence.
            Malformed: one is not what its type says.
        """
        for row in self._store.rows(start, self._store.size() if stop is None else stop):
            yield self._seen(row)

    def about(self, campaign: str | None, stop: int) -> Iterator[Seen]:
        """Yield the events before index `stop` that a document of a campaign can rest on, in order.

        These are the events about the campaign, those that open a stream of it, all that take something back or
        bring it back, and whatever declares a campaign. What is of another campaign stays undecoded; that every
        type in the log is known is asked of the types themselves.

        Raises:
            UnknownEventType: another anvil wrote one; nothing is skipped in silence.
            Malformed: one is not what its type says.
        """
        for event_type, first in self._store.event_types().items():
            if first < stop:
                require_known(first, event_type)
        for row in self._store.about(campaign, (*CONTROL_TYPES, *BEYOND_CAMPAIGNS), stop):
            yield self._seen(row)

    def find(self, entry_hash: str) -> Seen | None:
        """Return the event of an entry hash, None when it is not in this ledger.

        Raises:
            UnknownEventType, Malformed: as for `events`.
        """
        index = self._store.index_of(bytes.fromhex(entry_hash))
        row = None if index is None else next(self._store.rows(index, index + 1), None)
        return None if row is None else self._seen(row)

    def _seen(self, row: Row) -> Seen:
        header = Header.parse(Envelope.parse(row.entry).header)
        sealed: dict[str, Opening | str] = dict(header.sealed)
        if self._opened:
            for name, commitment in header.sealed.items():
                sealed[name] = self._store.opening(commitment) or commitment
        keyring = self._keyrings.get(header.ledger)
        known = None if keyring is None else keyring.keys.get(header.key)
        return Seen(
            row.entry_index,
            row.leaf_hash.hex(),
            header,
            stated(row.entry_index, header, sealed),
            known is not None and known.disowns(row.entry_index),
        )


def read_events(store: Store, *, start: int = 0, opened: bool = False) -> Iterator[Seen]:
    """Yield the events of a ledger in order; see `Reading.events`."""
    return Reading(store, opened=opened).events(start)


def _keyrings(store: Store) -> dict[str, Keyring]:
    rows = store.of_types(CONTROL_TYPES)
    return read_control(store.origin(), ((row.entry_index, row.entry) for row in rows)).keyrings
