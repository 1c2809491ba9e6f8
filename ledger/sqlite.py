"""How SQLite is opened: which version, which pragmas, and on media that cannot be written.

1. The standard library's SQLite may be a version whose WAL reset can corrupt a database that
   several processes write; such a version is refused, with the remedy.
2. A write connection has ``journal_mode=WAL``, ``synchronous=FULL`` and ``secure_delete=ON``.
3. A read connection never writes. Where the directory cannot be written, a pending write-ahead
   log is copied with the database to a temporary folder and read there.
4. Whatever SQLite raises leaves here as one of our own errors.
5. What SQLite takes a table for is asked before anything is read from it. With other columns, or without `STRICT`,
   a row can hold anything anywhere, which no reader expects.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlite_utils.utils import sqlite3  # type: ignore[attr-defined]  # pysqlite3 when it is there

from anvil.ledger.errors import LedgerBusy, LedgerError, NotALedger, StoreDamaged
from anvil.ledger.files import open_plain
from anvil.ledger.folders import how_to_verify

BUSY_TIMEOUT_MS = 60_000
PAGE_SIZE = 8_192
"""Bytes of a page of a new database. Of entries of 1.4 kB five lie on one, and on a page of 4 KiB only two."""

WAL_PAGES = 2_000
"""After how many pages in the write-ahead log SQLite moves them into the database. A batch of 1,000 events fills
some five hundred; with SQLite's default every other batch would pay for the move."""

CHECK_CACHE_KIB = 32_768
"""What SQLite's own check keeps of the file. Each row has its place somewhere in the index by leaf hash, which is 16 MB
for a million events; with the 2 MB of SQLite's default it reads a page anew for almost each."""

_UNSAFE = ((3, 7, 0), (3, 51, 2))


def connect(path: Path) -> Any:
    """Return a connection that appends to the database at `path`."""
    connection = _open(path, "mode=rw")
    connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    return connection


def connect_readonly(path: Path) -> tuple[Path, Any, TemporaryDirectory[str] | None]:
    """Return where the database is read, a connection to it, and the temporary folder, if one was needed."""
    wal = path.with_name(path.name + "-wal")
    scratch, place, flags = None, path, "mode=ro"
    if not os.access(path.parent, os.W_OK):
        if wal.exists() and wal.stat().st_size:
            scratch = TemporaryDirectory(prefix="anvil-")
            place = Path(shutil.copy(path, scratch.name))
            shutil.copy(wal, scratch.name)
        else:
            flags = "mode=ro&immutable=1"
    connection = _open(place, flags)
    connection.execute("PRAGMA query_only = ON")
    return place, connection, scratch


def require_file(path: Path) -> None:
    """Check that there is a file to open.

    Raises:
        NotALedger: there is none, or it cannot be read.
    """
    try:
        with open_plain(path) as file:
            file.read(1)
    except FileNotFoundError:
        raise NotALedger(
            f"there is no ledger at {path.parent}: {path.name} does not exist",
            advice=how_to_verify(path.parent)
            or "Name the directory with `anvil --ledger DIR …`, or make a ledger with `anvil init`.",
        ) from None
    except OSError as error:
        raise NotALedger(f"{path} cannot be read: {error.strerror}") from error


def require_safe_version() -> None:
    """Check rule 1.

    Raises:
        LedgerError: this SQLite is one of the versions with the WAL-reset fault.
    """
    version = tuple(sqlite3.sqlite_version_info)
    if _UNSAFE[0] <= version <= _UNSAFE[1]:
        raise LedgerError(
            f"SQLite {sqlite3.sqlite_version} can corrupt a database in WAL mode that several processes write",
            advice="Install the pysqlite3 package (0.6.1 or newer), or a Python with SQLite 3.51.3 or newer.",
        )


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system raise into our own errors (rule 4)."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translation(path, str(error)) from error
    except UnicodeDecodeError as error:  # of a message that quotes a damaged schema
        raise StoreDamaged(f"{path}: what SQLite says of it is no text") from error
    except OSError as error:
        raise LedgerError(f"{path}: {error.strerror or error}") from error


def misread(connection: Any, tables: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each table of ours that SQLite takes for something else (rule 5); `tables` is what makes them.

    As SQLite reads the schema: the `type` that stands in it can say anything. A table that is missing is not told.
    """
    with closing(sqlite3.connect(":memory:")) as ours:
        for statement in tables.values():
            ours.execute(statement)
        expected, found = _kinds(ours), _kinds(connection)
        for name in sorted(expected.keys() & found.keys()):
            kind = found[name]
            if kind[0] != "table":  # a view is a stranger's SQL, which may never end
                yield f"{name} is a {kind[0]}, expected a table"
            elif kind != expected[name] or _columns(connection, name) != _columns(ours, name):
                yield f"{name} was altered: it is no table with our columns"


def _kinds(connection: Any) -> dict[str, tuple[Any, ...]]:
    """Return what each table is, and whether it is without row numbers and strict."""
    found = connection.execute(
        "SELECT lower(name), type, wr, strict FROM pragma_table_list WHERE schema = 'main'"
    )
    return {name: tuple(kind) for name, *kind in found}


def _columns(connection: Any, table: str) -> list[tuple[Any, ...]]:
    return list(connection.execute("SELECT * FROM pragma_table_xinfo(?)", [table]))


def _translation(path: Path, text: str) -> LedgerError:
    if "locked" in text or "busy" in text:
        return LedgerBusy(
            f"{path}: another process held the write lock for {BUSY_TIMEOUT_MS // 1000} s: {text}",
            advice="Find the process that holds it and try again.",
        )
    if "not a database" in text:
        return NotALedger(f"{path} is not an SQLite database: {text}")
    if any(word in text for word in ("full", "readonly", "disk I/O", "unable to open")):
        return LedgerError(f"{path}: {text}", advice="Check free space and the rights of the directory.")
    return StoreDamaged(f"{path}: {text}", advice="Run `anvil verify` to see what is affected.")


def _open(path: Path, flags: str) -> Any:
    quoted = str(path.absolute()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection = sqlite3.connect(
        f"file:{quoted}?{flags}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection
