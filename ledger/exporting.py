"""Exports: a ledger as static files that tools we did not write can check (C2SP tlog-tiles).

1. What is exported is what the newest stored checkpoint covers, no more.
2. ``checkpoint``, ``tile/…`` and ``tile/entries/…`` are as the specification says; ``log.vkey`` is
   beside them for convenience, and whoever verifies should have it from elsewhere.
3. Public artifacts go along: those whose digest stands in a header, and those whose bytes were disclosed; none that was
   redacted there, although the same bytes may be here as a private artifact of another event.
4. For an auditor there are also ``openings.ndjson`` (salts and values of what is sealed, and what
   stands for private artifacts) and all other blobs that an exported event names. That is everything private: it is for
   the auditor, not for publication. An export without these is refused where they lie, since they would stay and be
   published with it.
5. Repeated, an export holds what the ledger holds now: what was redacted since is removed.
6. An export can be repeated into the same folder, also after it was interrupted. Full tiles never
   change and are written whole; the checkpoint is replaced last, so that a reader always finds the
   tiles that it covers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from anvil.ledger.artifacts import named_blobs, public_blobs
from anvil.ledger.blobs import BlobStore
from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.errors import LedgerError
from anvil.ledger.files import copy_whole, flush_path, make_private_directory, write_whole
from anvil.ledger.merkle import inclusion_proof
from anvil.ledger.note import SignedNote
from anvil.ledger.places import LedgerPlace
from anvil.ledger.sources import OPENINGS_FILE
from anvil.ledger.store import Store
from anvil.ledger.storedtree import StoredTree
from anvil.ledger.tiledtree import TILE_WIDTH
from anvil.ledger.tiles import encode_bundle, encode_tile, entries_path, layout, tile_path
from anvil.ledger.tlogproof import TlogProof
from anvil.ledger.wording import counted

BLOBS = "blobs"

_LEFT_OF_BLOB = re.compile(r"\.?[0-9a-f]{62}(?:\.[0-9a-f]{12})?|\.[0-9a-f]{16}")
_LEFT_OF_KEY = re.compile(r"\.log\.vkey\.[0-9a-f]{12}")
_LEFT_OF_OPENINGS = re.compile(re.escape(f".{OPENINGS_FILE}.") + "[0-9a-f]{12}")
"""Names of blobs, keys and openings, and of halves of them that a killed export left."""

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
        LedgerError: there is no checkpoint, or `target` holds the export of another ledger or, without
            `audit`, one for an auditor, or cannot be written.
    """
    store = Store.open_readonly(place.database)
    try:
        note, state = newest_checkpoint(store)
        _require_no_ledger(target, place)
        _require_same_log(target, state, place)
        if audit:
            named = {blob.digest for _, _, blob in named_blobs(store, 0, state.size)}
        else:
            public = list(public_blobs(store, state.size))
            _require_nothing_private(target, {blob.digest for blob, _ in public})
            named = {blob.digest for blob, is_redacted in public if not is_redacted}
        try:
            if place.verifier_key.exists():  # first: it names the log of an export that was interrupted
                target.mkdir(parents=True, exist_ok=True)
                for half in [path for path in target.iterdir() if _LEFT_OF_KEY.fullmatch(path.name)]:
                    half.unlink()
                write_whole(target / "log.vkey", place.verifier_key.read_bytes())
            files = _write_tiles(store, target, state.size, progress)
            openings = _write_openings(store, target) if audit else 0
            blobs = _match_blobs(BlobStore(place.blobs), BlobStore(target / BLOBS), named, is_private=audit)
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


def _require_no_ledger(target: Path, place: LedgerPlace) -> None:
    """Refuse a ledger's own folder: what was opened there would outlive a redaction."""
    if (target / place.database.name).exists():
        raise LedgerError(f"{target} is a ledger", advice="Name another directory for the export.")


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
            f"{target} holds the export of {counted(held.size, 'entry')} of {held.origin}; "
            f"this is {counted(state.size, 'entry')} of {state.origin}",
            advice="Name another directory.",
        )


def _require_nothing_private(target: Path, public: Collection[str]) -> None:
    """Refuse a folder in which sealed values or private artifacts of an earlier export lie."""
    openings, blobs = target / OPENINGS_FILE, target / BLOBS
    private = [path for path in (openings, blobs) if path.is_symlink() or path.is_file()]
    private += _halves_of_openings(target)
    if not private and any(_digest_of(path) not in public for path in _blob_files(blobs)):
        private = [blobs]
    if private:
        raise LedgerError(
            f"{target} holds an export for an auditor: {private[0].name} is private and would stay there",
            advice="Name another directory for what may be published; --audit brings this one up to date.",
        )


def _digest_of(path: Path) -> str:
    """Return the digest of which a file is the blob, or half of it, by its name."""
    return f"sha256:{path.parent.name}{path.name.removeprefix('.')[:62]}"


def _halves_of_openings(target: Path) -> list[Path]:
    """Return what a killed export left of the openings."""
    return [path for path in target.glob(".*") if _LEFT_OF_OPENINGS.fullmatch(path.name)]


def _is_begun(target: Path, place: LedgerPlace) -> bool:
    """Say whether an earlier export of the same ledger was interrupted in `target`."""
    if all(_LEFT_OF_KEY.fullmatch(path.name) for path in target.iterdir()):
        return True  # killed at its first file, which would have named the log
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
    for path in _halves_of_openings(target):
        path.unlink()
    write_whole(target / OPENINGS_FILE, "".join(f"{line}\n" for line in lines).encode(), mode=0o600)
    return len(lines)


def _match_blobs(source: BlobStore, target: BlobStore, named: Collection[str], *, is_private: bool) -> int:
    """Make the blobs in `target` exactly those of `named` that `source` has; return how many there are."""
    wanted = {target.path(digest): digest for digest in source.digests() if digest in named}
    for path in _blob_files(target.directory):
        if path not in wanted:
            path.unlink()
            flush_path(path.parent)
    make = make_private_directory if is_private else _make_directory
    for path, digest in wanted.items():
        kept = target.measure(digest)
        if kept is None or kept.digest != digest:
            make(path.parent)
            copy_whole(source.path(digest), path, mode=0o600 if is_private else 0o644)
    if named or is_private:
        make(target.directory)
    return len(wanted)


def _make_directory(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)


def _blob_files(directory: Path) -> Iterator[Path]:
    """Yield each file below `directory` that is a blob by its name, or half of one.

    Raises:
        LedgerError: a folder is a link; what lies behind it is not the export's own to delete.
    """
    for folder in (directory, directory / "sha256", *(directory / "sha256").glob("[0-9a-f][0-9a-f]")):
        if folder.is_symlink():
            raise LedgerError(
                f"{folder} is a link; an export deletes there what the ledger no longer has",
                advice="Put a folder in its place, or name another directory.",
            )
    for path in (directory / "sha256").rglob("*"):
        if _LEFT_OF_BLOB.fullmatch(path.name) and not path.is_dir():
            yield path
