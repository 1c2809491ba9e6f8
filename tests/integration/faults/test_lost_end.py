"""The end of the log is gone, or the anchor trails or cannot be moved: each is told apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import faults
from support.faults import Worker

from anvil.ledger.errors import RolledBack
from anvil.ledger.recording import Ledger


def test_the_write_ahead_log_deleted_after_a_crash(place: Path, tmp_path: Path) -> None:
    faults.observe(place, "in the database").done()
    worker = Worker.start(place, tmp_path / "acks", "single", 300, pause="0.01")
    worker.wait_for(150)  # longer than the anchor may trail
    worker.kill()
    assert worker.acknowledged()
    anchored = faults.anchored_size(place)
    assert 5 < anchored <= faults.size(place)
    (place / "ledger.db-wal").unlink()
    (place / "ledger.db-shm").unlink(missing_ok=True)
    ran = faults.anvil(place, "verify")
    assert ran.code == 4
    assert f"the anchor knows of {anchored} entries, there are 5" in ran.out
    for arguments in (("observe", "x", "--status", "declared"), ("checkpoint",), ("backup", tmp_path / "b")):
        faults.anvil(place, *arguments).refused(
            f"was rolled back: {anchored} entries had been signed for, the database holds 5"
        )
    with pytest.raises(RolledBack):
        Ledger.open(place)
    assert faults.size(place) == 5
    faults.anvil(place, "log").done()


def test_a_process_killed_before_it_could_anchor(place: Path, tmp_path: Path) -> None:
    """The database is ahead: that is no finding, and the next command finishes."""
    acknowledged = faults.leave_wal(place, tmp_path / "acks")
    assert (faults.anchored_size(place), faults.size(place)) == (2, 8)
    report = faults.require_sound(place)
    assert [finding.code for finding in report.findings] == ["uncovered", "stream-open"]
    faults.anvil(place, "checkpoint").done()
    assert faults.anchored_size(place) == 8
    assert not faults.missing(place, acknowledged)


def test_opening_alone_finishes_what_was_not_anchored(place: Path, tmp_path: Path) -> None:
    faults.leave_wal(place, tmp_path / "acks")
    with Ledger.open(place):
        pass
    assert faults.anchored_size(place) == 8


@pytest.mark.needs("mount")
def test_an_anchor_directory_that_cannot_be_written(place: Path, home: Path, tmp_path: Path) -> None:
    """The event is in the log, and the message says so."""
    with faults.disk(tmp_path / "disk", 1024) as disk:
        shutil.copytree(home / "state", disk.path / "state")
        (home / "state").rename(home / "kept")
        (home / "state").symlink_to(disk.path / "state")
        disk.freeze()
        faults.observe(place, "recorded").refused("anchor", "Read-only file system", "log itself is complete")
        assert faults.size(place) == 5
        assert faults.anchored_size(place) == 2
        faults.anvil(place, "verify").done()
    (home / "state").unlink()
    (home / "kept").rename(home / "state")
    faults.observe(place, "the next one").done()
    assert faults.anchored_size(place) == faults.size(place) == 8
    faults.require_sound(place)


def test_an_anchor_that_was_lost_is_made_again_only_on_a_persons_word(place: Path, home: Path) -> None:
    shutil.rmtree(home / "state")
    ran = faults.anvil(place, "verify")
    assert (ran.code, "UNANCHORED" in ran.out) == (3, True)
    faults.observe(place, "refused").refused("no anchor on this machine", "--adopt")
    assert faults.size(place) == 2
    faults.anvil(place, "checkpoint", "--adopt").done()
    faults.observe(place, "the next one").done()
    assert faults.anchored_size(place) == 5


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, b'{"schema":"anvil.anchor/1"}'])
def test_an_anchor_that_is_damaged_refuses_appends(place: Path, home: Path, content: bytes) -> None:
    anchor = next((home / "state").rglob("anchor.json"))
    anchor.write_bytes(content)
    faults.observe(place, "refused").refused("anchor", "was altered")
    assert faults.size(place) == 2
