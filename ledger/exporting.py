"""Exports: a ledger as static files that tools we did not write can check (C2SP tlog-tiles).

1. What is exported is what the newest stored checkpoint covers, no more.
2. ``checkpoint``, ``tile/…`` and ``tile/entries/…`` are as the specification says; ``log.vkey`` is
   beside them for convenience, and whoever verifies should have it from elsewhere.
3. For an auditor there are also ``openings.ndjson`` (salts and values of what is sealed) and the
   blobs. That is everything private: it is for the auditor, not for publication.
4. An export can be repeated into the same folder, also after it was interrupted. Full tiles never
   change and are written whole; the checkpoint is replaced last, so that a reader always finds the
   tiles that it covers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger.blobs import BlobStore
from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.errors import LedgerError
from anvil.ledger.files import copy_whole, make_private_directory, write_whole
from anvil.ledger.merkle import inclusion_proof
from anvil.ledger.note import SignedNote
from anvil.ledger.places import LedgerPlace
from anvil.ledger.sources import OPENINGS_FILE
from anvil.ledger.store import Store
from anvil.ledger.storedtree import StoredTree
from anvil.ledger.tiledtree import TILE_WIDTH
from anvil.ledger.tiles import encode_bundle, encode_tile, entries_path, layout, tile_path
from anvil.ledger.tlogproof import TlogProof

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    origin: str
    size: int
    files: int
    openings: int
    blobs: int


def newest_checkpoint(store: Store) -> tuple[bytes, Checkpoint]:
    """Return the newest stored checkpoint, signed and parsed.

    Raises:
        LedgerError: none was ever signed.
    """
    note = store.latest_checkpoint()
    if note is None:
        raise LedgerError(f"{store.path} holds no checkpoint", advice="Sign one with `anvil checkpoint`.")
    return note, Checkpoint.parse_body(SignedNote.parse(note).text)


def export(
    place: LedgerPlace, target: Path, *, audit: bool = False, progress: Progress = lambda _done, _all: None
) -> Exported:
    """Write the ledger at `place` as tiles into `target`; with `audit`, all that an auditor may see.

    Raises:
        NotALedger: there is no ledger.
        LedgerError: there is no checkpoint, or `target` holds the export of another ledger, or
            cannot be written.
    """
    store = Store.open_readonly(place.database)
    try:
        note, state = newest_checkpoint(store)
        _require_same_log(target, state, place)
        try:
            if place.verifier_key.exists():  # first: it names the log of an export that was interrupted
                target.mkdir(parents=True, exist_ok=True)
                write_whole(target / "log.vkey", place.verifier_key.read_bytes())
            files = _write_tiles(store, target, state.size, progress)
            openings = blobs = 0
            if audit:
                openings = _write_openings(store, target)
                blobs = _copy_blobs(BlobStore(place.blobs), BlobStore(target / "blobs"))
            write_whole(target / "checkpoint", note)
        except OSError as error:
            raise LedgerError(f"{target} could not be written: {error.strerror}") from error
        return Exported(state.origin, state.size, files, openings, blobs)
    finally:
        store.close()


def prove(place: LedgerPlace, index: int) -> tuple[bytes, TlogProof]:
    """Return the entry at `index` and the proof that the newest checkpoint covers it (C2SP tlog-proof).

    Raises:
        NotALedger: there is no ledger.
        LedgerError: there is no such entry, or no checkpoint covers it.
    """
    store = Store.open_readonly(place.database)
    try:
        note, state = newest_checkpoint(store)
        entry = store.entry(index)
        if entry is None or not 0 <= index < state.size:
            raise LedgerError(
                f"there is no entry {index} under the newest checkpoint; it covers 0 to {state.size - 1}",
                advice="See `anvil log`; `anvil checkpoint` covers what is newer.",
            )
        hashes = inclusion_proof(index, state.size, StoredTree(store).read)
        return entry, TlogProof(index, tuple(hashes), note)
    finally:
        store.close()


def _require_same_log(target: Path, state: Checkpoint, place: LedgerPlace) -> None:
    path = target / "checkpoint"
    if not path.exists():
        if target.exists() and any(target.iterdir()) and not _is_begun(target, place):
            raise LedgerError(
                f"{target} holds other files", advice="Name an empty directory, or an earlier export."
            )
        return
    held = Checkpoint.parse_body(SignedNote.parse(path.read_bytes()).text)
    if held.origin != state.origin or held.size > state.size:
        raise LedgerError(
            f"{target} holds the export of {held.size} entries of {held.origin}; "
            f"this is {state.size} entries of {state.origin}",
            advice="Name another directory.",
        )


def _is_begun(target: Path, place: LedgerPlace) -> bool:
    """Say whether an earlier export of the same ledger was interrupted in `target`."""
    key = target / "log.vkey"
    return (
        key.exists() and place.verifier_key.exists() and key.read_bytes() == place.verifier_key.read_bytes()
    )


def _write_tiles(store: Store, target: Path, size: int, progress: Progress) -> int:
    read = StoredTree(store).read
    written = 0
    for level, index, width in layout(size):
        path = target / tile_path(level, index, width)
        if _is_due(path, width):
            written += _write(path, encode_tile(level, index, width, read))
        if level == 0:
            start = index * TILE_WIDTH
            path = target / entries_path(index, width)
            if _is_due(path, width):
                written += _write(
                    path, encode_bundle([row.entry for row in store.rows(start, start + width)])
                )
            progress(start + width, size)
    return written


def _is_due(path: Path, width: int) -> bool:
    """Say whether a tile must be written: a full one never changes."""
    return width < TILE_WIDTH or not path.exists()


def _write(path: Path, content: bytes) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)  # half of a full tile would stay for ever
    return 1


def _write_openings(store: Store, target: Path) -> int:
    lines = [
        json.dumps({"commitment": commitment, "salt": opening.salt.hex(), "value": opening.value.hex()})
        for commitment, opening in store.openings()
    ]
    write_whole(target / OPENINGS_FILE, "".join(f"{line}\n" for line in lines).encode(), mode=0o600)
    return len(lines)


def _copy_blobs(source: BlobStore, target: BlobStore) -> int:
    copied = 0
    for digest in source.digests():
        path = target.path(digest)
        if not path.exists():
            make_private_directory(path.parent)
            copy_whole(source.path(digest), path, mode=0o600)
        copied += 1
    target.directory.mkdir(exist_ok=True, mode=0o700)
    return copied
