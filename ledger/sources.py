"""Where verification reads from: a ledger's database, or files that were exported from one.

Both answer the same questions; neither is believed. A `Source` can be opened again in another
process from its `Location`, so that runs of entries can be examined on all cores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from anvil.ledger.blobs import BlobRef, BlobStore
from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.checks.entries import Stored
from anvil.ledger.checks.finding import Code, Finding
from anvil.ledger.checks.keys import CONTROL_TYPES
from anvil.ledger.commitments import Opening
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import Malformed, MalformedTile, NotALedger
from anvil.ledger.files import open_plain, read_plain
from anvil.ledger.header import Header
from anvil.ledger.merkle import HASH_SIZE, CompactRange, leaf_hash
from anvil.ledger.note import SignedNote
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import FORMAT, Store
from anvil.ledger.storedtree import StoredTree
from anvil.ledger.tiledtree import TILE_HEIGHT, TILE_WIDTH, Subtree
from anvil.ledger.tiles import MAX_ENTRY_SIZE, decode_bundle, decode_tile, entries_path, layout, tile_path

OPENINGS_FILE = "openings.ndjson"
MAX_LEVEL = 63

_LONGEST = 1 << 20
"""Bytes at most in a checkpoint, and in a line of openings: both stay far below."""

_STRAY: dict[str, Code] = {
    "entries": "tampered",
    "checkpoints": "checkpoint-invalid",
    "nodes": "tree-differs",
}


class Source(Protocol):
    """What verification asks of the place that it reads from."""

    origin: str
    size: int

    def rows(self, start: int, stop: int) -> Iterator[Stored]:
        """Yield the entries of the half-open range, in order."""

    def control(self, start: int) -> Iterable[tuple[int, bytes]]:
        """Yield (index, entry) of the events that must be read first."""

    def checkpoints(self, start: int) -> list[tuple[int, bytes]]:
        """Return the signed checkpoints from size `start` on, as (size, note)."""

    def subtrees(self, start: int) -> Iterator[Subtree]:
        """Yield the stored roots of complete subtrees that end after index `start`."""

    def read(self, level: int, position: int) -> bytes:
        """Return the root of a complete subtree of ``2**level`` leaves, as the stored hashes give it."""

    def index_of(self, leaf: bytes) -> int | None:
        """Return the index of an entry by its leaf hash; None when it is not here."""

    def entry(self, index: int) -> bytes | None:
        """Return one entry."""

    def seen_before(self, stream: str, index: int) -> bool:
        """Say whether a stream has entries before `index`."""

    def opening(self, commitment: str) -> Opening | None:
        """Return salt and value of a commitment."""

    def blob(self, digest: str) -> BlobRef | None:
        """Return the digest and size that a blob really has."""

    def structure(self) -> list[Finding]:
        """Return what is wrong with the container itself."""

    def damage(self) -> list[Finding]:
        """Return what is wrong with the container as a whole; reads all of it."""

    def count_openings(self) -> int:
        """Return how many openings must belong to entries; 0 when there may be more than that."""

    @property
    def has_openings(self) -> bool:
        """Whether sealed values are here at all."""

    @property
    def has_blobs(self) -> bool:
        """Whether artifacts are here at all."""

    def close(self) -> None:
        """Let go of files."""


@dataclass(frozen=True)
class DatabaseLocation:
    """A ledger's database file and its blob store; `blobs` is None where artifacts are not at hand."""

    database: Path
    blobs: Path | None

    @classmethod
    def of(cls, place: LedgerPlace) -> DatabaseLocation:
        """Return the location of a whole ledger directory."""
        return cls(place.database, place.blobs)

    def open(self) -> Source:
        """Open it for reading.

        Raises:
            NotALedger: there is none.
        """
        return DatabaseSource(self.database, self.blobs)


@dataclass(frozen=True)
class TilesLocation:
    """A directory of C2SP tiles, and beside it perhaps sealed values and blobs."""

    directory: Path
    blobs: Path | None = None

    def open(self) -> Source:
        """Open it for reading.

        Raises:
            NotALedger: there is no checkpoint in it.
        """
        return TilesSource(self.directory, self.blobs)


Location = DatabaseLocation | TilesLocation


class DatabaseSource:
    """A ledger's own database, opened for reading. What is appended meanwhile is not looked at."""

    has_openings = True

    def __init__(self, database: Path, blobs: Path | None) -> None:
        self._store = Store.open_readonly(database)
        self._snapshot = self._store.snapshot()  # else a checkpoint signed meanwhile looks like a rollback
        self._snapshot.__enter__()
        self._tree = StoredTree(self._store)
        self._blobs = None if blobs is None else BlobStore(blobs)
        self._indices: dict[bytes, int] | None = None
        self.has_blobs = blobs is not None
        self.origin = self._store.origin()
        self.size = self._store.size()

    def rows(self, start: int, stop: int) -> Iterator[Stored]:
        """Yield the entries of the half-open range, in order."""
        return self._store.rows(start, stop)

    def control(self, start: int) -> Iterable[tuple[int, bytes]]:
        """Return (index, entry) of the events that must be read first."""
        return [(row.entry_index, row.entry) for row in self._store.of_types(CONTROL_TYPES, start)]

    def checkpoints(self, start: int) -> list[tuple[int, bytes]]:
        """Return the signed checkpoints from size `start` on."""
        return self._store.checkpoints(start)

    def subtrees(self, start: int) -> Iterator[Subtree]:
        """Yield the stored roots of complete subtrees that end after index `start`."""
        for level, position, root in self._store.nodes():
            if level % TILE_HEIGHT or not TILE_HEIGHT <= level < MAX_LEVEL:
                continue  # `structure` names it
            if position >= start >> level:
                yield level, position, root

    def read(self, level: int, position: int) -> bytes:
        """Return the root of a complete subtree, as the stored hashes give it."""
        return self._tree.read(level, position)

    def index_of(self, leaf: bytes) -> int | None:
        """Return the index of an entry by its leaf hash.

        What is not found is looked for in the entries themselves: of those before the place where a verification begins
        neither columns nor the index are compared, and either could hide one.
        """
        found = self._store.index_of(leaf)
        if found is None and self._indices is None:
            self._indices = {leaf_hash(row.entry): row.entry_index for row in self.rows(0, self.size)}
        return (self._indices or {}).get(leaf) if found is None else found

    def entry(self, index: int) -> bytes | None:
        """Return one entry."""
        return self._store.entry(index)

    def seen_before(self, stream: str, index: int) -> bool:
        """Say whether a stream has entries before `index`."""
        return index > 0 and self._store.has_stream(stream, index)

    def opening(self, commitment: str) -> Opening | None:
        """Return salt and value of a commitment."""
        return self._store.opening(commitment)

    def count_openings(self) -> int:
        """Return how many openings there are: each came with the entry that it belongs to."""
        return self._store.count_openings()

    def blob(self, digest: str) -> BlobRef | None:
        """Return the digest and size that a blob really has."""
        return None if self._blobs is None else self._blobs.measure(digest)

    def structure(self) -> list[Finding]:
        """Return what is wrong with the schema, and rows where nothing else looks."""
        found = [Finding("schema-altered", text) for text in self._store.schema_differences()]
        if not self._store.is_own_description():
            found.append(Finding("schema-altered", f"the ledger's own row is not one of {FORMAT}"))
        for table, number in self._store.strays():
            found.append(
                Finding(_STRAY[table], f"{table} has a row numbered {number}, outside the log", number)
            )
        return found

    def damage(self) -> list[Finding]:
        """Return what SQLite finds wrong with the file; reads all of it.

        Nothing where the schema is not ours, which `structure` says: it would carry out what a stranger wrote into it.
        """
        if any(not text.endswith(" is missing") for text in self._store.schema_differences()):
            return []
        return [Finding("store-damaged", text) for text in self._store.damage()]

    def close(self) -> None:
        """Close the database."""
        self._snapshot.__exit__(None, None, None)
        self._store.close()


class Filed(NamedTuple):
    """An entry of exported files, which hold no columns for lookups."""

    entry_index: int
    entry: bytes
    leaf_hash: bytes
    columns: None = None


class TilesSource:
    """Exported files: checkpoint, tiles, entry bundles; with `--audit` also openings and blobs."""

    def __init__(self, directory: Path, blobs: Path | None) -> None:
        self._directory = directory
        self._note = self._read("checkpoint", _LONGEST, NotALedger)
        state = Checkpoint.parse_body(SignedNote.parse(self._note).text)
        self.origin, self.size = state.origin, state.size
        exported = directory / "blobs"
        place = blobs or (exported if exported.is_dir() else None)
        self._blobs = None if place is None else BlobStore(place)
        self._openings = self._read_openings()
        self._indices: dict[bytes, int] | None = None

    @property
    def has_openings(self) -> bool:
        """Whether sealed values were exported."""
        return self._openings is not None

    @property
    def has_blobs(self) -> bool:
        """Whether there is a blob store to look into."""
        return self._blobs is not None

    def rows(self, start: int, stop: int) -> Iterator[Stored]:
        """Yield the entries of the half-open range, in order."""
        for tile in range(start // TILE_WIDTH, -(-stop // TILE_WIDTH)):
            width = min(TILE_WIDTH, self.size - tile * TILE_WIDTH)
            leaves = self._decoded(decode_tile, tile_path(0, tile, width), width)
            entries = self._decoded(decode_bundle, entries_path(tile, width), width)
            for offset, (leaf, entry) in enumerate(zip(leaves, entries, strict=True)):
                index = tile * TILE_WIDTH + offset
                if start <= index < stop:
                    yield Filed(index, entry, leaf)

    def control(self, start: int) -> Iterable[tuple[int, bytes]]:
        """Yield (index, entry) of the events that must be read first; reads every entry to find them."""
        for row in self.rows(start, self.size):
            try:
                event = Header.parse(Envelope.parse(row.entry).header).event
            except Malformed:
                continue  # the same entry is a finding when it is examined
            if event in CONTROL_TYPES:
                yield row.entry_index, row.entry

    def checkpoints(self, start: int) -> list[tuple[int, bytes]]:
        """Return the one checkpoint."""
        return [(self.size, self._note)] if self.size >= start else []

    def subtrees(self, start: int) -> Iterator[Subtree]:
        """Yield the roots in the tiles above the lowest level."""
        for level, tile, width in layout(self.size):
            if level:
                hashes = self._decoded(decode_tile, tile_path(level, tile, width), width)
                for offset, root in enumerate(hashes):
                    position = tile * TILE_WIDTH + offset
                    if position >= start >> (level * TILE_HEIGHT):
                        yield level * TILE_HEIGHT, position, root

    def read(self, level: int, position: int) -> bytes:
        """Return the root of a complete subtree, as the tiles give it."""
        base, height = divmod(level, TILE_HEIGHT)
        tile, offset = divmod(position << height, TILE_WIDTH)
        width = min(TILE_WIDTH, (self.size >> (base * TILE_HEIGHT)) - tile * TILE_WIDTH)
        hashes = self._decoded(decode_tile, tile_path(base, tile, width), width)
        subtree = CompactRange()
        subtree.extend(hashes[offset : offset + (1 << height)])
        return subtree.root()

    def index_of(self, leaf: bytes) -> int | None:
        """Return the index of an entry by its leaf hash."""
        if self._indices is None:
            # by the entries themselves: a hash tile may say anything
            self._indices = {leaf_hash(row.entry): row.entry_index for row in self.rows(0, self.size)}
        return self._indices.get(leaf)

    def entry(self, index: int) -> bytes | None:
        """Return one entry."""
        return next((row.entry for row in self.rows(index, min(index + 1, self.size))), None)

    def seen_before(self, stream: str, index: int) -> bool:
        """Say whether a stream has entries before `index`."""
        return any(
            Header.parse(Envelope.parse(row.entry).header).stream == stream for row in self.rows(0, index)
        )

    def opening(self, commitment: str) -> Opening | None:
        """Return salt and value of a commitment."""
        return (self._openings or {}).get(commitment)

    def blob(self, digest: str) -> BlobRef | None:
        """Return the digest and size that a blob really has."""
        return None if self._blobs is None else self._blobs.measure(digest)

    def count_openings(self) -> int:
        """Return 0: an export may hold openings of entries newer than its checkpoint."""
        return 0

    def structure(self) -> list[Finding]:
        """Return nothing: every file is checked when it is read."""
        return []

    def damage(self) -> list[Finding]:
        """Return nothing: every file is checked when it is read."""
        return []

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _decoded(self, decode: Callable[[bytes, int], list[bytes]], name: str, width: int) -> list[bytes]:
        raw = self._read(name, width * (HASH_SIZE if decode is decode_tile else 2 + MAX_ENTRY_SIZE))
        try:
            return decode(raw, width)
        except MalformedTile as error:
            raise MalformedTile(f"{name}: {error}") from error

    def _read(
        self, name: str, most: int, missing: type[NotALedger] | type[MalformedTile] = MalformedTile
    ) -> bytes:
        """Return the bytes of a file that has at most so many; a longer one is not read to its end."""
        path = self._directory / name
        try:
            return read_plain(path, most)
        except OSError as error:
            raise missing(f"{path} cannot be read: {error.strerror}") from error

    def _read_openings(self) -> dict[str, Opening] | None:
        path = self._directory / OPENINGS_FILE
        if not path.exists():
            return None
        openings = {}
        try:
            with open_plain(path) as file:
                for number, line in enumerate(iter(lambda: file.readline(_LONGEST), b""), 1):
                    commitment, opening = _parse_opening(line, f"{path}, line {number}")
                    openings[commitment] = opening
        except OSError as error:
            raise MalformedTile(f"{path} cannot be read: {error.strerror}") from error
        return openings


def _parse_opening(line: bytes, where: str) -> tuple[str, Opening]:
    try:
        row = json.loads(line)
        salt, value = bytes.fromhex(row["salt"]), bytes.fromhex(row["value"])
        if (salt.hex(), value.hex()) != (row["salt"], row["value"]):
            raise ValueError("hex digits are in lower case, without blanks")
        return str(row["commitment"]), Opening(salt, value)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise MalformedTile(f"{where}: not an opening: {error}") from error
