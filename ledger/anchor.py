"""The head anchor: the newest signed checkpoint, kept outside the database.

1. A chain alone verifies perfectly after its last events were deleted. The anchor remembers how
   far the log had come, in a place that whoever replaces the database does not replace with it.
2. It only goes forward, and only along one history: before it is replaced the tree is shown to
   contain the state it holds. Compare and swap happen under a file lock.
3. Database ahead of the anchor: a process stopped before it could write; finish. Anchor ahead of
   the database: rolled back. Nothing may be appended then, since signing a second history at sizes
   that are already signed is what a log must never do.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger import canonical
from anvil.ledger.checkpoint import Checkpoint, open_checkpoint
from anvil.ledger.errors import (
    LedgerError,
    Malformed,
    MalformedCheckpoint,
    RolledBack,
    SignatureInvalid,
    SplitView,
    Unanchored,
)
from anvil.ledger.files import make_private_directory, write_whole
from anvil.ledger.header import is_origin
from anvil.ledger.note import VerifierKey
from anvil.ledger.places import by_origin
from anvil.ledger.wording import counted

SCHEMA = "anvil.anchor/1"


@dataclass(frozen=True)
class Anchored:
    """What an anchor holds: a signed checkpoint, what it says, and the keys that verify it."""

    note: bytes
    checkpoint: Checkpoint
    keys: tuple[VerifierKey, ...]


class Anchor:
    """The anchor of one origin on this machine."""

    def __init__(self, state_directory: Path, origin: str) -> None:
        self.origin = origin
        self.path = by_origin(state_directory / "anchors", origin) / "anchor.json"

    def read(self) -> Anchored | None:
        """Return what is anchored, or None when nothing ever was, as under what is no ledger's name.

        Raises:
            LedgerError: the file is there and cannot be read, or is not an anchor of this origin.
        """
        if not is_origin(self.origin):  # a database can say anything
            return None
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"anchor {self.path} cannot be read: {error.strerror}") from error
        try:
            return _parse(raw, self.origin)
        except (Malformed, SignatureInvalid) as error:
            raise LedgerError(
                f"anchor {self.path} was altered: {error}",
                advice="Nothing is appended without it. Put the file back from a copy of your state directory.",
            ) from error

    def advance(self, note: bytes, keys: Sequence[VerifierKey], root_at: Callable[[int], bytes]) -> None:
        """Move the anchor to the signed checkpoint `note`, unless it is already further.

        `root_at` gives the root of the database's tree at a size up to that of `note`.

        Raises:
            RolledBack: never by a shorter `note` alone; only `require` raises it.
            SplitView: the anchored state is not part of the same history.
        """
        new = open_checkpoint(note, keys)
        make_private_directory(self.path.parent)
        with self._locked():
            held = self.read()
            if held is not None:
                if held.checkpoint.size > new.size:
                    return
                if root_at(held.checkpoint.size) != held.checkpoint.root:
                    raise _split(self.origin, held.checkpoint, new)
                if held.checkpoint.size == new.size and held.note == note:
                    return
            write_whole(self.path, _spell(self.origin, note, keys), mode=0o600)

    def require(self, held: Anchored | None, size: int, root_at: Callable[[int], bytes]) -> None:
        """Check that a database of `size` entries continues `held`, which was read before its size was.

        Raises:
            RolledBack: the anchor is ahead of the database.
            SplitView: the database holds another history.
        """
        if held is None:
            return
        if held.checkpoint.size > size:
            raise rolled_back(self.origin, held.checkpoint.size, size)
        root = root_at(held.checkpoint.size)
        if root != held.checkpoint.root:
            raise _split(self.origin, held.checkpoint, Checkpoint(self.origin, held.checkpoint.size, root))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = self.path.with_suffix(".lock")
        try:
            file = path.open("w")
        except OSError as error:
            raise LedgerError(
                f"anchor {self.path} cannot be moved: {path.name}: {error.strerror}",
                advice="The log itself is complete. Make the directory writable; the next command finishes.",
            ) from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def rolled_back(origin: str, signed: int, held: int) -> RolledBack:
    """Return the error for a database that has lost its end."""
    return RolledBack(
        f"{origin} was rolled back: {counted(signed, 'entry')} had been signed for, the database holds {held}",
        advice="Put the newer database back, or continue under a new origin with `anvil restore FILE`.",
    )


def unanchored(origin: str, held: int) -> Unanchored:
    """Return the error for a ledger that was signed for elsewhere, or whose anchor is gone."""
    return Unanchored(
        f"{origin} has no anchor on this machine; whether it ever had more than {counted(held, 'entry')} is not known",
        advice="If it was moved here whole, say so once with `anvil checkpoint --adopt`. "
        "If the anchor was deleted, compare with a checkpoint that was kept: `anvil verify --checkpoint FILE`.",
    )


def _split(origin: str, anchored: Checkpoint, other: Checkpoint) -> SplitView:
    return SplitView(
        f"{origin} has two histories: at size {anchored.size} the anchor has root {anchored.root.hex()}, "
        f"the database leads to {other.root.hex()} at size {other.size}",
        advice="Keep both files; one of them was rewritten. `anvil verify` shows which entries differ.",
    )


def _spell(origin: str, note: bytes, keys: Sequence[VerifierKey]) -> bytes:
    return canonical.encode(
        {"schema": SCHEMA, "origin": origin, "keys": [str(key) for key in keys], "checkpoint": note.decode()}
    )


def _parse(raw: bytes, origin: str) -> Anchored:
    members = canonical.decode(raw)
    if not isinstance(members, dict) or members.keys() != {"schema", "origin", "keys", "checkpoint"}:
        raise MalformedCheckpoint("it has other members than an anchor")
    if (members["schema"], members["origin"]) != (SCHEMA, origin):
        raise MalformedCheckpoint(f"expected {SCHEMA} of {origin}")
    keys, text = members.get("keys"), members.get("checkpoint")
    if not isinstance(keys, list) or not isinstance(text, str):
        raise MalformedCheckpoint("no keys or no checkpoint in it")
    parsed = tuple(VerifierKey.parse(str(key)) for key in keys)
    note = text.encode()
    return Anchored(note, open_checkpoint(note, parsed), parsed)
