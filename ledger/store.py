"""The store: the ledger's rows in SQLite.

1. Rows are added, never changed: one ``BEGIN IMMEDIATE`` per append, so that writers wait for each
   other instead of losing each other's work (a deferred transaction loses most of them).
2. ``journal_mode=WAL``, ``synchronous=FULL``: a commit that returned is on disk.
   ``secure_delete=ON``: a redacted value leaves no bytes in free pages.
3. A database that somebody else wrote, or whose schema or triggers differ from ours, is refused.
4. Reading never writes. On media that cannot be written a pending write-ahead log is copied, with
   the database, to a temporary folder and read there: opening such a file as immutable would drop
   the pending rows without a word.
5. Names in queries stand in brackets: in double quotes SQLite takes a name that an altered schema no
   longer has for a piece of text.
6. Nothing outside this module and `anvil.ledger.sqlite` knows SQLite; others see rows, hashes and
   our own errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from sqlite_utils import Database

from anvil.ledger import schema, sqlite
from anvil.ledger.commitments import Opening
from anvil.ledger.errors import LedgerBusy, LedgerError, NotALedger, SchemaAltered, StoreDamaged

FORMAT = "anvil-ledger/1"

_STRAYS = {
    "entries": "SELECT [index] FROM entries WHERE [index] < 0 LIMIT 5",
    "checkpoints": "SELECT size FROM checkpoints WHERE size < 1 LIMIT 5",
    "nodes": "SELECT CAST(position AS INTEGER) FROM nodes WHERE typeof(level) <> 'integer' "
    "OR typeof(position) <> 'integer' OR level NOT BETWEEN 8 AND 56 OR level % 8 OR position < 0 LIMIT 5",
}

_ROWS_AT_ONCE = 64
"""Rows fetched with one call; 4 MB at most, since an entry has at most 65,535 bytes."""

Values = tuple[int, bytes, bytes, str, str, int, str | None, int]
"""A `Row` on its way into the table, as a bare tuple: SQLite's module is slower with a named one."""


class Row(NamedTuple):
    """One entry as it lies in the table. All but `entry` repeats what the entry says."""

    entry_index: int
    leaf_hash: bytes
    entry: bytes
    event: str
    stream: str
    stream_seq: int
    campaign: str | None
    leaf_prefix: int

    @property
    def columns(self) -> tuple[str, str, int, str | None, int]:
        """What repeats for lookups what the entry says."""
        return self[3:]


def _bytes(value: Any) -> bytes:
    """Return a value that must be bytes; in a damaged record it can be anything, and is then empty.

    Nothing in a ledger is empty where bytes are expected, so verification names the place.
    """
    return value if type(value) is bytes else b""


def _row(values: tuple[Any, ...]) -> Row:
    if type(values[1]) is bytes and type(values[2]) is bytes:
        return Row._make(values)
    index, leaf, entry, *rest = values
    return Row(index, _bytes(leaf), _bytes(entry), *rest)


class Store:
    """One open ledger database. Not shared between threads without a lock."""

    def __init__(self, connection: Any, path: Path, *, scratch: TemporaryDirectory[str] | None) -> None:
        self.path = path
        self._connection = connection
        self._db = Database(connection, execute_plugins=False)
        self._scratch = scratch

    @classmethod
    def create(cls, path: Path, origin: str) -> Store:
        """Make a new database for the ledger `origin`.

        Raises:
            LedgerError: there is a file at `path`, or it cannot be made.
        """
        sqlite.require_safe_version()
        if path.exists():
            raise LedgerError(f"{path} exists; a ledger is made once", advice="Choose another directory.")
        with sqlite.translated(path):
            path.touch(mode=0o600)
            store = cls(sqlite.connect(path), path, scratch=None)
            with store.transaction():
                store._db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
                store._db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION}")
                for statement in schema.STATEMENTS.values():
                    store._db.execute(statement)
                store._db.execute("INSERT INTO ledger VALUES (?, ?)", [origin, FORMAT])
            return store

    @classmethod
    def open(cls, path: Path) -> Store:
        """Open a database for appending.

        Raises:
            NotALedger: there is none, or it is something else.
            StoreDamaged: its schema or triggers are not ours.
        """
        sqlite.require_safe_version()
        sqlite.require_file(path)
        with sqlite.translated(path):
            store = cls(sqlite.connect(path), path, scratch=None)
            store._require_ours()
        differences = store.schema_differences()
        if differences:
            raise StoreDamaged(
                f"{path}: the schema is not as it was made: {'; '.join(differences)}",
                advice="Run `anvil verify`; restore a backup with `anvil restore` if history was altered.",
            )
        return store

    @classmethod
    def open_readonly(cls, path: Path) -> Store:
        """Open a database for reading, whatever state its schema is in (rule 4).

        Raises:
            NotALedger: there is none, or it is something else.
            SchemaAltered: what should be a table is a view.
        """
        sqlite.require_safe_version()
        sqlite.require_file(path)
        with sqlite.translated(path):
            place, connection, scratch = sqlite.connect_readonly(path)
            store = cls(connection, place, scratch=scratch)
            store._require_ours()
        return store

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        self._connection.close()
        if self._scratch is not None:
            self._scratch.cleanup()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; commit at the end, roll back on any error.

        Raises:
            LedgerBusy: another process held the lock for longer than the timeout.
        """
        with sqlite.translated(self.path):
            self._require_idle()
            try:
                self._db.execute("BEGIN IMMEDIATE")  # inside: an interrupt may come when it has the lock
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Hold one state for several reads."""
        with sqlite.translated(self.path):
            self._require_idle()
            try:
                self._db.execute("BEGIN")
                yield
            finally:
                if self._connection.in_transaction:
                    self._db.execute("ROLLBACK")

    # -- reading ---------------------------------------------------------------------------------

    def origin(self) -> str:
        """Return the name of the ledger."""
        return str(self._one("SELECT origin FROM ledger"))

    def size(self) -> int:
        """Return how many entries there are."""
        newest = self._one("SELECT MAX([index]) FROM entries")  # added here: SQL would go on in floats
        return 0 if newest is None else int(newest) + 1

    def rows(self, start: int, stop: int) -> Iterator[Row]:
        """Return the rows of the half-open range, in order."""
        sql = "SELECT * FROM entries WHERE [index] >= ? AND [index] < ? ORDER BY [index]"
        return map(_row, self._all(sql, start, stop))

    def entry(self, index: int) -> bytes | None:
        """Return one entry, or None when there is no such index."""
        found = self._one("SELECT entry FROM entries WHERE [index] = ?", index)
        return None if found is None else _bytes(found)

    def index_of(self, leaf_hash: bytes) -> int | None:
        """Return the index of the entry with this leaf hash."""
        sql = "SELECT [index] FROM entries WHERE leaf_prefix = ? AND leaf_hash = ?"
        found = self._one(sql, schema.leaf_prefix(leaf_hash), leaf_hash)
        return None if found is None else int(found)

    def last_of_stream(self, stream: str) -> int | None:
        """Return the index of the newest entry of a stream."""
        sql = "SELECT [index] FROM entries WHERE stream = ? ORDER BY stream_seq DESC LIMIT 1"
        found = self._one(sql, stream)
        return None if found is None else int(found)

    def first_of_stream(self, stream: str) -> int | None:
        """Return the index of the oldest entry of a stream."""
        found = self._one('SELECT MIN("index") FROM entries WHERE stream = ?', stream)
        return None if found is None else int(found)

    def has_stream(self, stream: str, before: int) -> bool:
        """Say whether a stream has entries before the index `before`."""
        sql = "SELECT 1 FROM entries WHERE stream = ? AND [index] < ? LIMIT 1"
        return self._one(sql, stream, before) is not None

    def of_types(self, event_types: Iterable[str], start: int = 0) -> list[Row]:
        """Return the rows of the given event types from `start` on, in order."""
        names = list(event_types)
        marks = ",".join("?" * len(names))
        # no index from the middle on: only a whole verification finds one that hides a row
        column = "+event" if start else "event"
        sql = f"SELECT * FROM entries WHERE {column} IN ({marks}) AND [index] >= ? ORDER BY [index]"  # noqa: S608
        return [_row(row) for row in self._all(sql, *names, start)]

    def about(self, campaign: str | None, event_types: Iterable[str], stop: int) -> Iterator[Row]:
        """Yield the rows before `stop` that are about a campaign, open a stream of it, or are of one of these types.

        By the columns, which repeat what the entries say; a verification compares them.
        """
        names = list(event_types)
        marks = ",".join("?" * len(names))
        opens = "stream_seq = 0 AND stream IN (SELECT stream FROM entries WHERE campaign IS ?2)"
        chosen = f"campaign IS ?2 OR {opens} OR +event IN ({marks})"
        sql = f"SELECT * FROM entries WHERE [index] < ?1 AND ({chosen}) ORDER BY [index]"  # noqa: S608
        yield from map(_row, self._all(sql, stop, campaign, *names))

    def event_types(self) -> dict[str, int]:
        """Return every event type in the log, and the first index that has it."""
        return dict(self._all("SELECT event, MIN([index]) FROM entries GROUP BY event"))

    def campaigns_of(self, event_types: Iterable[str], stop: int) -> list[str | None]:
        """Return the campaigns that events of these types before `stop` are about, each once."""
        names = list(event_types)
        marks = ",".join("?" * len(names))
        sql = f"SELECT DISTINCT campaign FROM entries WHERE event IN ({marks}) AND [index] < ?"  # noqa: S608
        return [campaign for (campaign,) in self._all(sql, *names, stop)]

    def leaf_hashes(self, start: int, stop: int) -> list[bytes]:
        """Return the stored leaf hashes of the half-open range."""
        sql = "SELECT leaf_hash FROM entries WHERE [index] >= ? AND [index] < ? ORDER BY [index]"
        return [_bytes(row[0]) for row in self._all(sql, start, stop)]

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield the stored subtree roots as (level, position, hash), level in leaves' powers of two."""
        for level, position, node in self._all(
            "SELECT level, position, hash FROM nodes WHERE typeof(level) = 'integer' "
            "AND typeof(position) = 'integer' ORDER BY level, position"
        ):
            yield level, position, _bytes(node)

    def node_hashes(self, level: int, start: int, stop: int) -> list[bytes]:
        """Return the stored roots of subtrees of ``2**level`` leaves, by half-open range of position."""
        sql = "SELECT hash FROM nodes WHERE level = ? AND position >= ? AND position < ? ORDER BY position"
        return [_bytes(row[0]) for row in self._all(sql, level, start, stop)]

    def opening(self, commitment: str) -> Opening | None:
        """Return salt and value of a commitment, or None when they are not here."""
        row = next(iter(self._all("SELECT salt, value FROM openings WHERE commitment = ?", commitment)), None)
        return None if row is None else Opening(_bytes(row[0]), _bytes(row[1]))

    def count_openings(self) -> int:
        """Return how many commitments can be opened."""
        return int(self._one("SELECT COUNT(*) FROM openings"))

    def openings(self) -> Iterator[tuple[str, Opening]]:
        """Yield every opening by its commitment."""
        for commitment, salt, value in self._all(
            "SELECT commitment, salt, value FROM openings ORDER BY commitment"
        ):
            yield commitment, Opening(_bytes(salt), _bytes(value))

    def latest_checkpoint(self) -> bytes | None:
        """Return the newest signed checkpoint, or None before the first."""
        found = self._one("SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1")
        return None if found is None else _bytes(found)

    def checkpoints(self, start: int = 0) -> list[tuple[int, bytes]]:
        """Return the signed checkpoints of size `start` and more."""
        return [
            (size, _bytes(note))
            for size, note in self._all("SELECT * FROM checkpoints WHERE size >= ?", start)
        ]

    # -- writing, inside `transaction` -----------------------------------------------------------

    def insert_entries(self, rows: Iterable[Values]) -> None:
        """Add rows at the end of the log."""
        self._connection.executemany("INSERT OR ROLLBACK INTO entries VALUES (?,?,?,?,?,?,?,?)", rows)

    def insert_nodes(self, nodes: Sequence[tuple[int, int, bytes]]) -> None:
        """Add roots of subtrees that became complete."""
        self._connection.executemany("INSERT OR ROLLBACK INTO nodes VALUES (?,?,?)", nodes)

    def insert_openings(self, openings: Iterable[Opening]) -> None:
        """Add salts and values."""
        rows = [(o.commitment(), o.salt, o.value) for o in openings]
        self._connection.executemany("INSERT OR ROLLBACK INTO openings VALUES (?,?,?)", rows)

    def insert_checkpoint(self, size: int, note: bytes) -> None:
        """Add a signed checkpoint."""
        self._connection.execute("INSERT INTO checkpoints VALUES (?,?)", (size, note))

    def delete_openings(self, commitments: Iterable[str]) -> None:
        """Delete salts and values for good; `scrub` then removes the bytes from the file."""
        self._connection.executemany("DELETE FROM openings WHERE commitment = ?", [(c,) for c in commitments])

    # -- the file itself -------------------------------------------------------------------------

    def scrub(self) -> None:
        """Rewrite the file without what was deleted, and empty the write-ahead log."""
        with sqlite.translated(self.path):
            self._truncate_wal()
            self._db.execute("VACUUM")
            self._truncate_wal()

    def backup(self, target: Path) -> None:
        """Write one consistent copy of the database to `target`, which must not exist."""
        with sqlite.translated(target):
            self._db.execute("VACUUM INTO ?", [str(target)])

    def schema_differences(self) -> list[str]:
        """Return in what the schema differs from the one that `create` makes."""
        return schema.differences(
            list(self._all("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
        )

    def is_own_description(self) -> bool:
        """Say whether the ledger's own row stands alone and has this build's format."""
        rows = list(self._all("SELECT format FROM ledger LIMIT 2"))
        return rows == [(FORMAT,)]

    def strays(self) -> Iterator[tuple[str, int]]:
        """Yield (table, number) of rows where no reader ever looks: numbers below those that count."""
        for table, sql in _STRAYS.items():
            yield from ((table, int(number or 0)) for (number,) in self._all(sql))

    def damage(self) -> list[str]:
        """Return what SQLite itself finds wrong with the file, tables and indexes."""
        with sqlite.translated(self.path):
            self._db.execute(f"PRAGMA cache_size = -{sqlite.CHECK_CACHE_KIB}")
            return [text for (text,) in self._all("PRAGMA integrity_check(5)") if text != "ok"]

    # --------------------------------------------------------------------------------------------

    def _truncate_wal(self) -> None:
        busy = self._one("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise LedgerBusy(
                f"{self.path}: the write-ahead log could not be emptied, another process is reading",
                advice="Stop other anvil commands on this ledger and run the redaction again.",
            )

    def _require_idle(self) -> None:
        if self._connection.in_transaction:  # beginning another would roll this one back
            raise LedgerError(f"{self.path}: a transaction or snapshot is under way on this connection")

    def _require_ours(self) -> None:
        if self._one("PRAGMA application_id") != schema.APPLICATION_ID:
            raise NotALedger(f"{self.path} is a database, and not an anvil ledger")
        version = self._one("PRAGMA user_version")
        if version != schema.SCHEMA_VERSION:
            raise NotALedger(
                f"{self.path} has schema version {version}, this build reads {schema.SCHEMA_VERSION}",
                advice="Use the anvil that made it. What its `anvil export --audit` writes every version verifies: "
                "`anvil verify --tiles`.",
            )
        for sentence in sqlite.misread(self._connection, schema.TABLES):
            raise SchemaAltered(f"{self.path}: {sentence}", advice="Restore a backup with `anvil restore`.")

    def _all(self, sql: str, *values: Any) -> Iterator[Any]:
        with sqlite.translated(self.path):
            # not from the cursor itself: left half-read, it would close itself on a closed connection
            cursor = self._db.execute(sql, values)
            while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from rows

    def _one(self, sql: str, *values: Any) -> Any:
        row = next(iter(self._all(sql, *values)), None)
        return None if row is None else row[0]
