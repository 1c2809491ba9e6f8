"""Each byte of the database is inverted, one at a time.

Either verification fails, or every stored value is what it was: the byte lay in free space, in a
counter, or in a hint. `make test` takes a sample and every byte of the first page; `make soak` takes all.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from support.flips import dump, flips, spread
from support.ledgers import Small

from anvil.ledger.errors import AnvilError


@pytest.fixture
def database(small: Small) -> Path:
    """The database as one small file without a write-ahead log."""
    path = small.place.database
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    forget_wal(path)
    assert small.verify().exit_code == 0
    return path


def forget_wal(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def passes(small: Small) -> bool:
    try:
        return small.verify().exit_code == 0
    except AnvilError:
        return False


def unseen(small: Small, path: Path, positions: Iterable[int]) -> list[int]:
    """Return the positions whose change is neither caught nor without effect."""
    before, missed = dump(path), []
    for position in flips(path, positions):
        if passes(small) and dump(path) != before:
            missed.append(position)
        forget_wal(path)
    return missed


def test_a_sample_of_all_bytes(small: Small, database: Path) -> None:
    assert unseen(small, database, spread(database.stat().st_size, 250)) == []
    assert small.verify().exit_code == 0


def test_every_byte_of_the_header(small: Small, database: Path) -> None:
    assert unseen(small, database, range(112)) == []


@pytest.mark.parametrize("table", ["ledger", "entries", "checkpoints", "openings"])
def test_the_pages_heads_of_a_table(small: Small, database: Path, table: str) -> None:
    with closing(sqlite3.connect(database)) as db:
        page_size = db.execute("PRAGMA page_size").fetchone()[0]
        root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", [table]).fetchone()[0]
    forget_wal(database)
    start = (root - 1) * page_size
    assert unseen(small, database, range(start, start + 24)) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(16))
def test_every_byte(small: Small, database: Path, part: int) -> None:
    size = database.stat().st_size
    step = -(-size // 16)
    assert unseen(small, database, range(part * step, min(size, (part + 1) * step))) == []
