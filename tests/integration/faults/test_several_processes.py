"""Several processes and threads appending at once lose nothing, and nobody is told otherwise."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import faults
from support.faults import Worker

from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream


@pytest.mark.parametrize(("processes", "each"), [(4, 300), (10, 120)])
def test_1200_appends_at_once_lose_nothing(place: Path, tmp_path: Path, processes: int, each: int) -> None:
    workers = [Worker.start(place, tmp_path / f"acks-{n}", "single", each) for n in range(processes)]
    for worker in workers:
        worker.finish()
    acknowledged = [name for worker in workers for name in worker.acknowledged()]
    assert len(set(acknowledged)) == 1200
    assert not faults.missing(place, acknowledged)
    report = faults.require_sound(place)
    assert report.findings == []  # every stream was closed
    assert report.size == 3 - 1 + 1200 + 2 * processes
    assert faults.anchored_size(place) == report.size


def test_opening_while_others_append_and_anchor_is_never_called_a_rollback(
    place: Path, tmp_path: Path
) -> None:
    """The anchor may move between two looks at the database; it must be read first."""
    workers = [Worker.start(place, tmp_path / f"acks-{n}", "reopen", 60) for n in range(4)]
    for worker in workers:
        worker.finish()
    assert sum(len(worker.acknowledged()) for worker in workers) == 240
    assert faults.require_sound(place).findings == []


def test_threads_append_through_one_ledger(place: Path) -> None:
    def work(number: int) -> list[str]:
        with Stream.start(ledger, ledger.signer("operator"), purpose="run") as stream:
            return [stream.append([faults.said(f"{number}-{n}")])[0].entry_hash for n in range(40)]

    with Ledger.open(place) as ledger, ThreadPoolExecutor(6) as threads:
        names = [name for found in threads.map(work, range(6)) for name in found]
    assert len(set(names)) == 240
    assert not faults.missing(place, names)
    assert faults.require_sound(place).findings == []


def test_two_ledgers_in_one_process(place: Path) -> None:
    with Ledger.open(place) as one, Ledger.open(place) as two:
        streams = [Stream.start(ledger, ledger.signer("operator"), purpose="run") for ledger in (one, two)]
        names = [
            stream.append([faults.said(f"{step}")])[0].entry_hash for step in range(60) for stream in streams
        ]
        for stream in streams:
            stream.close()
    assert not faults.missing(place, names)
    assert faults.require_sound(place).findings == []
