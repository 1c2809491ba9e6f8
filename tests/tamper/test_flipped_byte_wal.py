"""Each byte of the write-ahead log is inverted, one at a time, while everything new lies in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils.utils import (
    sqlite3,
)  # the product's own: two libraries in one process drop each other's locks
from support.flips import dump, spread
from support.ledgers import SIZE, Small, grow

from anvil.ledger.errors import AnvilError


@pytest.fixture
def files(small: Small, tmp_path: Path) -> tuple[Path, bytes, bytes]:
    """The ledger's database path; the bytes of a database and of a log that holds its last three events."""
    path = small.place.database
    wal = path.with_name(path.name + "-wal")
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM ledger").fetchall()  # a reader keeps the log from being written back
        grow(small)
        shutil.copy(path, tmp_path / "db")
        shutil.copy(wal, tmp_path / "wal")
    return path, (tmp_path / "db").read_bytes(), (tmp_path / "wal").read_bytes()


def put_back(path: Path, database: bytes, wal: bytes) -> None:
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    path.write_bytes(database)
    path.with_name(path.name + "-wal").write_bytes(wal)


def passes(small: Small) -> bool:
    try:
        return small.verify().exit_code == 0
    except AnvilError:
        return False


def unseen(small: Small, files: tuple[Path, bytes, bytes], positions: Iterable[int]) -> list[int]:
    """Return the positions whose change is neither caught nor without effect."""
    path, database, wal = files
    put_back(path, database, wal)
    before = dump(path)
    assert len(before["entries"]) == SIZE + 3
    missed = []
    for at in positions:
        put_back(path, database, wal[:at] + bytes([wal[at] ^ 0xFF]) + wal[at + 1 :])
        if passes(small) and dump(path) != before:
            missed.append(at)
    put_back(path, database, wal)
    assert small.verify().exit_code == 0
    return missed


def test_a_sample_of_all_bytes(small: Small, files: tuple[Path, bytes, bytes]) -> None:
    assert unseen(small, files, spread(len(files[2]), 400)) == []


def test_the_head_and_the_first_frames_head(small: Small, files: tuple[Path, bytes, bytes]) -> None:
    assert unseen(small, files, range(56)) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(16))
def test_every_byte(small: Small, files: tuple[Path, bytes, bytes], part: int) -> None:
    size = len(files[2])
    step = -(-size // 16)
    assert unseen(small, files, range(part * step, min(size, (part + 1) * step))) == []


@pytest.mark.parametrize("keep", [0, 31, 32, 33, 0.25, 0.5, 0.9])
def test_the_log_is_cut(small: Small, files: tuple[Path, bytes, bytes], keep: float) -> None:
    path, database, wal = files
    put_back(path, database, wal[: int(keep * len(wal)) if isinstance(keep, float) else keep])
    report = small.verify()
    assert report.exit_code in (1, 4)
    # where only the last checkpoint is gone, the entries are all there
    assert {f.code for f in report.findings} & {"rolled-back", "checkpoint-invalid"}


def test_the_log_is_deleted(small: Small, files: tuple[Path, bytes, bytes]) -> None:
    path, database, _ = files
    put_back(path, database, b"")
    path.with_name(path.name + "-wal").unlink()
    report = small.verify()
    assert report.exit_code == 4
    (finding,) = [f for f in report.findings if f.code == "rolled-back"]
    assert (finding.expected, finding.found) == (f"{SIZE + 3} entries", f"{SIZE} entries")
