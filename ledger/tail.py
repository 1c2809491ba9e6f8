"""The end of the log as a writer knows it: its tree, its keyring, and where its streams stand.

1. A writer believes what the store says of lookup columns and hashes; that is `anvil verify`'s to
   check. What decides who may write, the control events, it checks like a verifier: permission and
   signatures.
2. An event is admitted when it follows its stream and its key may sign it.
"""

from __future__ import annotations

from collections.abc import Sequence

from anvil.ledger.chain import StreamHead, follow
from anvil.ledger.checks.keys import CONTROL_TYPES, Control, read_control
from anvil.ledger.drafts import Prepared
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import ChainBroken, NotPermitted, StoreDamaged
from anvil.ledger.events import KeyRevoked, StreamAbandoned, TreeState
from anvil.ledger.header import Header
from anvil.ledger.keyring import Keyring, KnownKey, changes_keys
from anvil.ledger.merkle import root_at
from anvil.ledger.store import Row, Store
from anvil.ledger.storedtree import StoredTree
from anvil.ledger.tiledtree import TiledTree
from anvil.ledger.wording import counted


class Tail:
    """Where the log of `origin` ends. Grows by what others appended, and by what is admitted."""

    def __init__(self, store: Store, origin: str) -> None:
        self._store = store
        self._origin = origin
        self._control = Control()
        self._heads: dict[str, StreamHead] = {}
        self._abandoned: set[str] = set()
        self.tree: TiledTree = StoredTree(store).whole()
        self._read_control(store.of_types(CONTROL_TYPES))

    @property
    def keyring(self) -> Keyring:
        """The ledger's own keys."""
        return self._control.keyrings.get(self._origin) or Keyring(self._origin)

    def ledger_keys(self) -> list[KnownKey]:
        """Return every ledger key there ever was."""
        return [k for k in self.keyring.keys.values() if k.role == "ledger"]

    def catch_up(self, size: int) -> None:
        """Take in what others appended up to `size`.

        Raises:
            StoreDamaged: a control event among it does not hold.
        """
        start = self.tree.size
        self.tree.extend(self._store.leaf_hashes(start, size))
        self._read_control(self._store.of_types(CONTROL_TYPES, start))

    def admit(self, item: Prepared, index: int) -> None:
        """Check one event by rule 2 and take it in.

        Raises:
            ChainBroken: it does not follow its stream, or abandons one that is not open.
            NotPermitted: its key may not sign it, it belongs to another ledger, or it revokes a key from a
                state on that this log never had.
        """
        header, event = item.header, item.draft.event
        following = follow(self.head(header.stream), header, item.header_hash)
        if header.ledger != self._origin:
            raise NotPermitted(f"an event of {header.ledger} is not recorded in {self._origin}")
        if index:  # the first event introduces the key that signs it
            self.keyring.require(header.key, header.event, index, header.stream_seq)
        self._heads[header.stream] = following
        if isinstance(event, StreamAbandoned):
            self._abandon(event)
        elif changes_keys(event.type):
            if isinstance(event, KeyRevoked):
                self._require_state(event.last_good)
            keyring = self.keyring.apply(event, index, item.signed_by)  # type: ignore[arg-type]  # the union's
            self._control.keyrings[self._origin] = keyring

    def head(self, stream: str) -> StreamHead | None:
        """Return where a stream stands, abandoned by another one or not; None when it has no event here."""
        if stream not in self._heads:
            head = _stored_head(self._store, stream)
            if head is None:
                return None
            self._heads[stream] = head.abandoned() if stream in self._abandoned else head
        return self._heads[stream]

    def _read_control(self, rows: Sequence[Row]) -> None:
        found = len(self._control.abandoned)
        read_control(self._origin, ((row.entry_index, row.entry) for row in rows), self._control)
        if self._control.findings:
            first = self._control.findings[0]
            raise StoreDamaged(
                f"{self._store.path}: the event at index {first.index} does not hold: {first.message}",
                advice="Run `anvil verify`; nothing is appended to a log that somebody altered.",
            )
        for _, event in self._control.abandoned[found:]:
            self._abandoned.add(event.abandoned)
            self._heads.pop(event.abandoned, None)

    def _require_state(self, state: TreeState) -> None:
        """Refuse a state that the stored log never had; `anvil verify` would find it for ever."""
        if state.size > self.tree.size:
            raise NotPermitted(
                f"the last good state has {counted(state.size, 'entry')}, the log {self.tree.size}"
            )
        root = root_at(state.size, StoredTree(self._store).read).hex()
        if root != state.root:
            raise NotPermitted(
                f"the last good state: expected root {root} over {counted(state.size, 'entry')}, found {state.root}"
            )

    def _abandon(self, event: StreamAbandoned) -> None:
        head = self.head(event.abandoned)
        if head is None or (head.seq, head.header_hash) != (event.last_seq, event.last_header):
            raise ChainBroken(f"stream.abandoned does not name the last event of {event.abandoned}")
        if head.state != "open":
            raise ChainBroken(f"stream {event.abandoned} was {head.state} before")
        self._abandoned.add(event.abandoned)
        self._heads[event.abandoned] = head.abandoned()


def _stored_head(store: Store, stream: str) -> StreamHead | None:
    """Return where a stream stands in the store, or None when it is not there."""
    index = store.last_of_stream(stream)
    entry = None if index is None else store.entry(index)
    if entry is None:
        return None
    header = Header.parse(Envelope.parse(entry).header)
    before = StreamHead(stream, header.ledger, header.key, header.stream_seq - 1, str(header.stream_prev))
    return follow(None if header.stream_seq == 0 else before, header)
