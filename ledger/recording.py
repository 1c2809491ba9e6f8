"""The one writer: a ledger opened for appending, and the streams recorded into it.

1. Opening re-verifies what is cheap to verify: schema and triggers, that the stored tree leads to
   the newest stored checkpoint, and that it continues the anchor. Any mismatch refuses to append.
2. Events are prepared and signed outside the write lock, and the artifacts that they name are flushed to
   disk, whoever kept them. Under the lock, in one immediate transaction, each event is checked against
   its stream and the keyring, then all are added or none.
3. What other processes appended meanwhile is caught up under the lock; nothing is cached that a
   transaction of somebody else could have changed.
4. A checkpoint is signed and anchored at most one second after an append while the ledger is open,
   and at the end. What happened in the last second before a power cut is in the log and is not
   protected against rollback.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from anvil.ledger.anchor import Anchor, rolled_back, unanchored
from anvil.ledger.blobs import BlobStore
from anvil.ledger.chain import StreamHead
from anvil.ledger.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from anvil.ledger.clock import Clock, system_clock
from anvil.ledger.commitments import Opening
from anvil.ledger.drafts import Prepared
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import (
    BlobMissing,
    LedgerError,
    LedgerGone,
    NotPermitted,
    SignatureInvalid,
    StoreDamaged,
)
from anvil.ledger.files import identity_of
from anvil.ledger.header import Header
from anvil.ledger.keyring import Keyring
from anvil.ledger.keystore import KeyStore, Passphrase, passphrase_from_environment
from anvil.ledger.merkle import leaf_hash, root_at
from anvil.ledger.note import VerifierKey
from anvil.ledger.places import LedgerPlace, by_origin, keys_directory, state_directory
from anvil.ledger.public import Role
from anvil.ledger.schema import leaf_prefix
from anvil.ledger.signing import Signer
from anvil.ledger.store import Store, Values
from anvil.ledger.storedtree import StoredTree
from anvil.ledger.tail import Tail
from anvil.ledger.wording import counted

ANCHOR_DELAY_S = 1.0

Require = Callable[[], object]
"""Asks something of the log under the write lock, and raises where it does not hold."""


def nothing() -> None:
    """Ask nothing."""


@dataclass(frozen=True)
class Recorded:
    """Where an event came to lie: its index in this ledger and its entry hash, which names it anywhere."""

    index: int
    entry_hash: str


class Ledger:
    """A ledger open for appending. Use it as a context manager; one per process is enough."""

    def __init__(
        self, place: LedgerPlace, store: Store, keys: KeyStore, anchor: Anchor, clock: Clock
    ) -> None:
        self.place = place
        self.origin = store.origin()
        self.store = store
        self.blobs = BlobStore(place.blobs)
        self.keys = keys
        self.clock = clock
        self._anchor = anchor
        self._lock = threading.RLock()
        self._tail: Tail | None = None
        self._timer: threading.Timer | None = None
        self._publishing_failed: Exception | None = None
        self._opened = place.database
        self._file = identity_of(self._opened)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        passphrase: Passphrase = passphrase_from_environment,
        clock: Clock = system_clock,
        adopt: bool = False,
    ) -> Ledger:
        """Open the ledger in `directory` for appending (rule 1).

        `adopt` is a person's word that the database is whole although this machine has no anchor for it.

        Raises:
            Unanchored: this machine has no anchor for it.
            NotALedger: there is none.
            RolledBack: the anchor or a stored checkpoint knows of entries that are gone.
            SplitView: the database holds another history than the one anchored.
            StoreDamaged: the schema or the stored tree is not what it was.
        """
        place = LedgerPlace(directory)
        store = Store.open(place.database)
        try:
            origin = store.origin()
            keys = KeyStore(by_origin(keys_directory(), origin), passphrase)
            ledger = cls(place, store, keys, Anchor(state_directory(), origin), clock)
            ledger._require_unbroken(adopt)
        except BaseException:
            store.close()
            raise
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Sign and anchor what was appended, then close. Safe to call twice.

        Raises:
            LedgerGone: its folder is, with what was to be signed.
        """
        with self._lock:
            timer, failed = self._timer, self._publishing_failed
            self._timer, self._publishing_failed = None, None
            try:
                if timer is not None:
                    timer.cancel()
                if timer is not None or failed is not None:  # what failed before is tried once more
                    self.checkpoint()
            finally:
                self.store.close()

    @property
    def is_gone(self) -> bool:
        """Whether the database is no longer where it was opened."""
        return identity_of(self._opened) != self._file

    def require_there(self) -> None:
        """Refuse to go on with a ledger whose folder is gone: what SQLite still writes is in no file of a name.

        Raises:
            LedgerGone: it was deleted or moved away.
        """
        if self.is_gone:
            raise LedgerGone(
                f"the ledger's folder {self.place.directory} was deleted, moved or replaced while it was in use: "
                "nothing can be recorded any more",
                advice="If it was moved, put it back; else begin again with `anvil init`, or from a backup.",
            )

    # -- what is known ---------------------------------------------------------------------------

    def keyring(self) -> Keyring:
        """Return the keyring after everything that is in the log now."""
        with self._lock, self.store.snapshot():
            self._tail = self._catch_up()
            return self._tail.keyring

    def head(self, stream: str) -> StreamHead | None:
        """Return where a stream stands in the log now, closed and abandoned ones too; None when it has no event."""
        with self._lock, self.store.snapshot():
            self._tail = self._catch_up()
            return self._tail.head(stream)

    def signer(self, role: Role) -> Signer:
        """Return the newest key of `role` that this user holds.

        Raises:
            NotPermitted: there is none, or this user holds none of them.
        """
        known = [k for k in self.keyring().holders(role) if k.rotated is None]
        held = [k for k in known if self.keys.holds(k.public_key.key_id)]
        if not held:
            raise NotPermitted(
                f"none of the {len(known)} current {role} keys of {self.origin} is in {self.keys.directory}",
                advice="Point ANVIL_KEYS to where the private keys are kept; `anvil key list` shows them.",
            )
        return self.keys.signer(held[-1].public_key.key_id)

    def verifier_keys(self) -> tuple[VerifierKey, ...]:
        """Return the keys under which checkpoints of this ledger verify, oldest first."""
        return tuple(VerifierKey(self.origin, k.public_key) for k in self.keyring().holders("ledger"))

    # -- appending -------------------------------------------------------------------------------

    def append(self, prepared: Sequence[Prepared], require: Require = nothing) -> list[Recorded]:
        """Add signed events at the end of the log, all or none (rule 2).

        `require` is called when nobody else can add anything any more, and refuses by raising: what it finds in
        the log is what the events come after.

        Raises:
            ChainBroken: one does not follow its stream.
            NotPermitted: a key may not sign what it signed.
            BlobMissing: an artifact is not in the blob store.
            LedgerBusy: another process held the lock too long.
            LedgerGone: its folder was deleted or moved away.
        """
        with self._lock:
            self.require_there()
            self._raise_publishing_error()
            self.blobs.flush({a.blob.digest for item in prepared for a in item.draft.attachments})
            with self.store.transaction():
                tail = self._catch_up()
                require()
                self._require_blobs(prepared)  # under the lock: a redaction deletes under it too
                start = tail.tree.size
                for offset, item in enumerate(prepared):
                    tail.admit(item, start + offset)
                leaves = [item.leaf for item in prepared]
                self.store.insert_entries(
                    [_row(start + i, item.entry, item.leaf, item.header) for i, item in enumerate(prepared)]
                )
                self.store.insert_nodes(tail.tree.extend(leaves))
                self.store.insert_openings(o for item in prepared for o in item.openings)
            self._tail = tail
            self._publish_soon()
        return [Recorded(start + i, item.leaf.hex()) for i, item in enumerate(prepared)]

    def carry(self, entries: Sequence[bytes], openings: Sequence[Opening]) -> None:
        """Add entries of a predecessor as they are. Whoever calls this has verified them.

        Raises:
            Malformed: one is not an entry.
        """
        with self._lock:
            with self.store.transaction():
                tail = self._catch_up()
                start = tail.tree.size
                leaves = [leaf_hash(entry) for entry in entries]
                headers = [Header.parse(Envelope.parse(entry).header) for entry in entries]
                rows = zip(count(start), entries, leaves, headers, strict=False)
                self.store.insert_entries([_row(*row) for row in rows])
                self.store.insert_nodes(tail.tree.extend(leaves))
                self.store.insert_openings(openings)
            self._tail = tail

    def checkpoint(self) -> bytes:
        """Sign the state of the log now, store it and move the anchor to it. Return the signed note.

        Raises:
            NotPermitted: this user does not hold the newest ledger key.
            RolledBack, SplitView: the anchor disagrees.
            LedgerGone: its folder was deleted or moved away.
        """
        with self._lock:
            self.require_there()
            held = self._anchor.read()  # before the log: what is anchored was committed before
            with self.store.snapshot():
                size, read = self.store.size(), StoredTree(self.store).read
                self._anchor.require(held, size, lambda at: root_at(at, read))
                state = Checkpoint(self.origin, size, root_at(size, read))
                stored = self.store.latest_checkpoint()
            keys, ever = self.verifier_keys(), self._keys_ever()
            note = stored if stored is not None and _says(stored, keys, state) else self._sign(state)
            if note != stored:
                with self.store.transaction():
                    newest = self.store.latest_checkpoint()
                    if newest is None or open_checkpoint(newest, ever).size < state.size:
                        self.store.insert_checkpoint(state.size, note)
            self._anchor.advance(note, keys, lambda size: root_at(size, StoredTree(self.store).read))
            return note

    def checkpoint_of(self, size: int) -> bytes:
        """Return the signed state of an earlier size: as it was stored, or signed now.

        The tree has grown from it and only grows, so that signing for it again says nothing new.

        Raises:
            LedgerError: the log never had that size.
            NotPermitted: it was not stored, and this user does not hold the newest ledger key.
        """
        with self._lock, self.store.snapshot():
            if not 0 < size <= self.store.size():
                raise LedgerError(
                    f"there is no state of {counted(size, 'entry')}; the ledger has {self.store.size()}"
                )
            state = Checkpoint(self.origin, size, root_at(size, StoredTree(self.store).read))
            stored = [note for at, note in self.store.checkpoints(size) if at == size]
        known = [note for note in stored if _says(note, self._keys_ever(), state)]
        return known[0] if known else self._sign(state)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Keep this process's other threads, the timer's too, from the database meanwhile."""
        with self._lock:
            yield

    # --------------------------------------------------------------------------------------------

    def _keys_ever(self) -> list[VerifierKey]:
        """Return every ledger key there ever was: an older checkpoint may be by one that is revoked now."""
        keys = self.keyring().keys.values()
        return [VerifierKey(self.origin, k.public_key) for k in keys if k.role == "ledger"]

    def _sign(self, state: Checkpoint) -> bytes:
        """Sign with the newest ledger key, and with older ones that are at hand and not revoked."""
        newest = self.signer("ledger")
        others = [k.public_key.key_id for k in self.keyring().holders("ledger")]
        older = [self.keys.signer(i) for i in others if i != newest.public_key.key_id and self.keys.holds(i)]
        return sign_checkpoint(state, [newest, *older])

    def _require_unbroken(self, adopt: bool) -> None:
        held = self._anchor.read()  # before the log: another process may append and anchor meanwhile
        with self.store.snapshot():
            size, read = self.store.size(), StoredTree(self.store).read
            self._anchor.require(held, size, lambda at: root_at(at, read))
            stored = self.store.latest_checkpoint()
            tail = self._tail = self._catch_up()
        if size and held is None and not adopt:
            raise unanchored(self.origin, size)
        if stored is not None:
            state = open_checkpoint(
                stored, [VerifierKey(self.origin, k.public_key) for k in tail.ledger_keys()]
            )
            if state.size > size:
                raise rolled_back(self.origin, state.size, size)
            if root_at(state.size, read) != state.root:
                raise StoreDamaged(
                    f"{self.place.database}: the stored tree does not lead to the checkpoint at {state.size}",
                    advice="Run `anvil verify` to see which entries were altered.",
                )
        if size and (held is None or held.checkpoint.size < size):
            self._publish_soon()  # a process stopped before it could anchor: finish at the latest on close

    def _catch_up(self) -> Tail:
        """Return the end of the log as it is now; inside a transaction or snapshot (rule 3).

        It is taken out of `_tail`, and put back by the caller once nothing can fail any more: what a failed
        append left in it would be signed.
        """
        tail, self._tail = self._tail, None
        size = self.store.size()
        if tail is None or tail.tree.size > size:
            tail = Tail(self.store, self.origin)
        elif tail.tree.size < size:
            tail.catch_up(size)
        return tail

    def _require_blobs(self, prepared: Sequence[Prepared]) -> None:
        for item in prepared:
            for attachment in item.draft.attachments:
                if not self.blobs.path(attachment.blob.digest).exists():
                    raise BlobMissing(
                        f"artifact {attachment.name}: {attachment.blob.digest} is not in the blob store"
                    )

    def _publish_soon(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(ANCHOR_DELAY_S, self._publish_now)
            self._timer.daemon = True
            self._timer.start()

    def _publish_now(self) -> None:
        with self._lock:
            if self._timer is None:
                return
            self._timer = None
            try:
                self.checkpoint()
            except Exception as error:  # noqa: BLE001  # told to the next caller, never swallowed
                self._publishing_failed = error

    def _raise_publishing_error(self) -> None:
        failed, self._publishing_failed = self._publishing_failed, None
        if failed is not None:
            self._publish_soon()  # what is in the log is still to be anchored, at the latest on close
            raise LedgerError(f"the last checkpoint could not be signed and anchored: {failed}") from failed


def _row(index: int, entry: bytes, leaf: bytes, header: Header) -> Values:
    campaign, prefix = header.subject.campaign, leaf_prefix(leaf)
    return index, leaf, entry, header.event, header.stream, header.stream_seq, campaign, prefix


def _says(note: bytes, keys: Sequence[VerifierKey], state: Checkpoint) -> bool:
    """Say whether `note` is what would be signed now; one by a key that is revoked since is not."""
    try:
        return open_checkpoint(note, keys) == state
    except SignatureInvalid:
        return False
