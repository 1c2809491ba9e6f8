"""Runs of entries examined by other processes: the same report as in this one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.ledgers import SIZE, Small, attack, small_ledger

from anvil.ledger import verify as verification
from anvil.ledger import workers
from anvil.ledger.sources import DatabaseLocation
from anvil.ledger.verify import Expectations, Report


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """A ledger that is long enough for other processes, and takes them four runs."""
    monkeypatch.setattr(workers, "IN_PROCESS_UP_TO", 1)
    for module in (workers, verification):
        monkeypatch.setattr(module, "RUN", 4)
    return small_ledger(tmp_path / "ledger")


def verify(small: Small, processes: int) -> Report:
    expectations = Expectations((small.vkey,), small.anchor.read())
    return verification.verify(DatabaseLocation.of(small.place), expectations, workers=processes)


def test_a_sound_ledger(small: Small) -> None:
    seen: list[tuple[int, int]] = []
    expectations = Expectations((small.vkey,), small.anchor.read())
    location = DatabaseLocation.of(small.place)
    report = verification.verify(
        location, expectations, workers=2, progress=lambda done, size: seen.append((done, size))
    )
    assert seen == [(4, SIZE), (8, SIZE), (12, SIZE), (SIZE, SIZE)]
    assert report == verify(small, 1)
    assert report.exit_code == 0


def test_each_finding_is_made(small: Small) -> None:
    with attack(small) as db:
        db.execute("""UPDATE entries SET campaign = 'other' WHERE "index" IN (1, 5, 13)""")
        db.execute("""UPDATE entries SET entry = x'7b7d' WHERE "index" = 9""")
    report = verify(small, 2)
    assert {f.index for f in report.findings} >= {1, 5, 9, 13}
    assert report == verify(small, 1)


def test_a_page_that_cannot_be_read_is_a_finding(small: Small) -> None:
    spoil(small, small.entries()[3][:64])
    report = verify(small, 2)
    assert "store-damaged" in {f.code for f in report.findings}
    assert (report.exit_code, report.state) == (1, None)


def test_damage_where_nothing_else_looks_is_a_finding_and_leaves_no_state(small: Small) -> None:
    """An index that no other check reads holds the campaign's name."""
    spoil(small, b"qwen38", last=True)
    report = verify(small, 2)
    assert [f.code for f in report.findings if f.severity != "note"] == ["store-damaged"]
    assert (report.exit_code, report.state) == (1, None)


WAIT = """
import sys, time
from pathlib import Path
from anvil.ledger import workers
from anvil.ledger.sources import DatabaseLocation
workers.IN_PROCESS_UP_TO, workers.RUN = 1, 4
location = DatabaseLocation(Path(sys.argv[1]), None)
job = workers.Job(location, {}, (), False)
if __name__ == "__main__":
    source = location.open()
    for _ in workers.examine_all(source, job, 0, source.size, 2):
        print("started", flush=True)
        time.sleep(60)
"""


def test_no_process_is_left_when_the_first_is_killed(small: Small, tmp_path: Path) -> None:
    script = tmp_path / "wait.py"
    script.write_text(WAIT)
    command = [sys.executable, str(script), str(small.place.database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.kill()
        process.stdout.read()  # ends when the last process that inherited it has ended


def spoil(small: Small, content: bytes, *, last: bool = False) -> None:
    """Make the page that holds `content` unreadable; of several, the first or the last."""
    with attack(small) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("PRAGMA page_size").fetchone()[0]
    raw = bytearray(small.place.database.read_bytes())
    start = (raw.rindex(content) if last else raw.index(content)) // size * size
    raw[start : start + 8] = b"\xff" * 8
    small.place.database.write_bytes(raw)
