"""Backup and restore.

1. A backup is one consistent file, made by SQLite itself: copying the database without its
   write-ahead log loses rows and still passes its integrity check. A checkpoint is signed first, so
   that the backup can be told from a shorter one. Blobs are files of their own and are copied by the
   operator's own means; a backup says how many there are.
2. A restored copy is older than the ledger it came from, and continuing it would sign a second
   history. So a restore makes a *new* ledger: its first event names the predecessor, the state that
   was carried over, the newest state known to have been signed, and how many entries were lost.
   The old entries follow, byte for byte, with their streams and signatures.
3. Nothing is carried over that does not verify, or that only has the ledger's name. Of a copy that is
   older than the anchor it cannot be known whether it was cut in the middle where no checkpoint covers it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger.anchor import Anchor, Anchored
from anvil.ledger.artifacts import named_blobs
from anvil.ledger.blobs import BlobStore
from anvil.ledger.clock import Clock, system_clock
from anvil.ledger.creation import Continuation, Created, create_ledger, given_name
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import Predecessor, StreamAbandoned, TreeState
from anvil.ledger.files import flush, flush_path
from anvil.ledger.keystore import KeyStore, Passphrase, passphrase_from_environment
from anvil.ledger.places import by_origin, keys_directory, state_directory
from anvil.ledger.recording import Ledger
from anvil.ledger.sources import DatabaseLocation
from anvil.ledger.store import Store
from anvil.ledger.verify import Expectations, Report, verify

_RUN = 4096


@dataclass(frozen=True)
class Restored:
    """A new ledger, and what it continues."""

    created: Created
    predecessor: Predecessor
    blobs: int
    missing: int
    """How many artifacts the entries name that were not found, and for which no event says why."""


def back_up(ledger: Ledger, target: Path) -> int:
    """Write one file with everything but the blobs; return how many entries it has.

    Raises:
        LedgerError: `target` exists or cannot be written.
    """
    if target.exists():
        raise LedgerError(f"{target} exists; a backup never replaces one", advice="Name another file.")
    ledger.checkpoint()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        temporary.touch(mode=0o600, exist_ok=False)  # SQLite fills an empty file, and would make one for all
        with ledger.undisturbed():
            ledger.store.backup(temporary)
        with temporary.open("rb") as file:
            flush(file.fileno())
        temporary.rename(target)
        flush_path(target.parent)
    except OSError as error:
        raise LedgerError(f"{target} could not be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
    copy = Store.open_readonly(target)
    try:
        return copy.size()
    finally:
        copy.close()


def restore(
    source: Path,
    blobs: Path | None,
    directory: Path,
    *,
    encrypt: bool = False,
    passphrase: Passphrase = passphrase_from_environment,
    clock: Clock = system_clock,
) -> Restored:
    """Make a new ledger in `directory` that continues the one in the database file `source`.

    `blobs` is the blob store that belongs to it, if it is at hand.

    Raises:
        LedgerError: the copy does not verify, contradicts the anchor, or `directory` is in use.
    """
    report = verify(DatabaseLocation(source, blobs), Expectations())
    faults = [f for f in report.findings if f.severity in ("fatal", "failure") and f.code not in _TOLERATED]
    if faults:
        raise LedgerError(
            f"{source} does not verify, so nothing of it was restored: {faults[0].message}",
            advice="Look at it with `anvil verify`; restore from an older backup.",
        )
    predecessor = _predecessor(source, report, Anchor(state_directory(), report.origin).read())

    created = create_ledger(
        directory,
        given_name(report.origin),
        encrypt=encrypt,
        passphrase=passphrase,
        clock=clock,
        continuing=Continuation(
            predecessor, lambda ledger: _carry(source, blobs, ledger), tuple(_ends(report))
        ),
    )
    kept = set(BlobStore(created.place.blobs).digests())
    return Restored(created, predecessor, len(kept), _missing(created.place.database, kept))


def _missing(database: Path, kept: set[str]) -> int:
    store = Store.open_readonly(database)
    try:
        return len({blob.digest for _, _, blob in named_blobs(store, 0, store.size())} - kept)
    finally:
        store.close()


_TOLERATED = frozenset({"artifact-missing"})
"""Verdicts that a restore records by carrying the events over: what is lost stays visible as lost."""


def _predecessor(source: Path, report: Report, anchored: Anchored | None) -> Predecessor:
    store = Store.open_readonly(source)
    try:
        note = store.latest_checkpoint()
    finally:
        store.close()
    lost = None if anchored is None else max(0, anchored.checkpoint.size - report.size)
    if anchored is not None:
        _require_same_ledger(source, report, anchored)
    if anchored is not None and lost == 0:
        check = verify(DatabaseLocation(source, None), Expectations(anchored=anchored), signatures=False)
        other = [f for f in check.findings if f.severity in ("fatal", "failure")]
        if other:
            raise LedgerError(f"{source} is another history than the one anchored: {other[0].message}")
    return Predecessor(
        key=str(report.verifier_keys[-1]),
        restored=TreeState(origin=report.origin, size=report.size, root=report.root.hex()),
        restored_checkpoint=None if note is None else note.decode(),
        anchored_checkpoint=None if anchored is None else anchored.note.decode(),
        lost=lost,
    )


def _require_same_ledger(source: Path, report: Report, anchored: Anchored) -> None:
    """Refuse a ledger that only has the name: its ledger keys are none that the anchor or this user has."""
    mine = KeyStore(by_origin(keys_directory(), report.origin))
    if not any(key in anchored.keys or mine.holds(key.public_key.key_id) for key in report.verifier_keys):
        raise LedgerError(
            f"{source} calls itself {report.origin}, but has none of its ledger keys",
            advice="Somebody made it under that name. Restore from another copy.",
        )


def _carry(source: Path, blobs: Path | None, ledger: Ledger) -> None:
    if blobs is not None:  # first, and while the new ledger is not yet in its place
        _copy(BlobStore(blobs), ledger.blobs)
    store = Store.open_readonly(source)
    try:
        size = store.size()
        for start in range(0, size, _RUN):
            ledger.carry([row.entry for row in store.rows(start, start + _RUN)], [])
        ledger.carry([], [opening for _, opening in store.openings()])
    finally:
        store.close()


def _ends(report: Report) -> list[StreamAbandoned]:
    heads = report.open_streams
    return [
        StreamAbandoned(
            abandoned=head.stream, last_seq=head.seq, last_header=head.header_hash, reason="restored"
        )
        for head in heads
    ]


def _copy(source: BlobStore, target: BlobStore) -> None:
    for digest in source.digests():
        target.put_file(source.path(digest))
