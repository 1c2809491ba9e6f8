"""Somebody else holds the write lock, or makes copies, while we append."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support import faults
from support.faults import Worker

from anvil.ledger import sqlite
from anvil.ledger.errors import LedgerBusy
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import redact
from anvil.ledger.streams import Stream, record


@contextmanager
def write_lock(place: Path) -> Iterator[None]:
    """Hold the write lock by another connection."""
    with closing(sqlite.connect(place / "ledger.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 100)


@pytest.mark.usefixtures("impatient")
def test_a_lock_held_too_long_is_busy_and_the_stream_goes_on(place: Path) -> None:
    with Ledger.open(place) as ledger:
        stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
        with write_lock(place), pytest.raises(LedgerBusy, match="another process held the write lock"):
            stream.append([faults.said("refused")])
        stream.append([faults.said("the next one")])
        stream.close()
    assert faults.require_sound(place).size == 5


@pytest.mark.usefixtures("impatient")
def test_reading_does_not_wait_for_the_lock(place: Path) -> None:
    with write_lock(place):
        faults.require_sound(place)
        faults.anvil(place, "verify").done()


def test_a_worker_that_waited_too_long_says_so(place: Path, tmp_path: Path) -> None:
    with write_lock(place):
        said = Worker.start(place, tmp_path / "acks", "single", 1, busy_ms="200").finish(code=1)
    assert said.startswith("Error: LedgerBusy: ")
    assert "database is locked" in said


@pytest.mark.usefixtures("impatient")
def test_a_redaction_while_somebody_reads_is_finished_by_running_it_again(place: Path) -> None:
    with Ledger.open(place) as ledger:
        index = record(
            ledger,
            ledger.signer("operator"),
            [faults.secret(ledger, "PRIVATE words", b"PRIVATE bytes")],
            purpose="run",
        )[0].index
        with faults.reading(place) as reader, reader.snapshot():
            reader.size()
            with pytest.raises(LedgerBusy, match="another process is reading"):
                redact(ledger, [index], "It was private.")
        done = redact(ledger, [index], "It was private.")
        assert done.recorded == ()
    faults.require_sound(place, "redacted")
    assert not [p for p in place.rglob("*") if p.is_file() and b"PRIVATE" in p.read_bytes()]


def test_backups_and_exports_while_others_append(place: Path, tmp_path: Path) -> None:
    workers = [
        Worker.start(place, tmp_path / f"acks-{n}", style, 40) for n, style in enumerate(("single", "batch"))
    ]
    for worker in workers:
        worker.wait_for(1)
    for number in range(2):
        faults.anvil(place, "backup", tmp_path / f"copy-{number}.db").done()
        faults.anvil(place, "export", tmp_path / "export").done()
        faults.anvil(place, "verify").done()
    for worker in workers:
        worker.finish()
    faults.require_sound(place)
    for worker in workers:
        assert not faults.missing(place, worker.acknowledged())
    ran = faults.anvil(place, "verify", "--tiles", tmp_path / "export", "--key", place / "log.vkey")
    assert ran.code == 3, ran.out
    for number in range(2):
        restored = tmp_path / f"restored-{number}"
        faults.anvil(restored, "restore", tmp_path / f"copy-{number}.db").done()
        faults.require_sound(restored)


def test_a_redaction_while_others_append(place: Path, tmp_path: Path) -> None:
    with Ledger.open(place) as ledger:
        index = record(
            ledger,
            ledger.signer("operator"),
            [faults.secret(ledger, "PRIVATE words", b"PRIVATE bytes")],
            purpose="run",
        )[0].index
    workers = [
        Worker.start(place, tmp_path / f"acks-{n}", "single", 100_000, pause="0.005") for n in range(2)
    ]
    try:
        for worker in workers:
            worker.wait_for(1)
        faults.anvil(place, "redact", str(index), "--reason", "It was private.").done()
        assert not [p for p in place.rglob("*") if p.is_file() and b"PRIVATE" in p.read_bytes()]
        for worker in workers:
            worker.wait_for(len(worker.acknowledged()) + 5)
    finally:
        for worker in workers:
            worker.kill()
    for worker in workers:
        assert not faults.missing(place, worker.acknowledged())
    faults.require_sound(place, "redacted")
    assert not [p for p in place.rglob("*") if p.is_file() and b"PRIVATE" in p.read_bytes()]
