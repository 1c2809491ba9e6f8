"""The disk full: one clear error, nothing acknowledged is lost, and the next append works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import faults
from support.faults import Disk, Worker

from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record

KIB = 1024


def soaked(*often: int, soak: tuple[int, ...]) -> list[Any]:
    """Parameters of each run, and those of `make soak`."""
    return [*often, *(pytest.param(value, marks=pytest.mark.soak) for value in soak)]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    """A disk of two mebibytes."""
    with faults.disk(tmp_path / "small", 2048) as disk:
        yield disk


def events(place: Path, count: int) -> None:
    """Append many events at once."""
    with Ledger.open(place) as ledger:
        drafts = [faults.said(f"{n}") for n in range(count)]
        record(ledger, ledger.signer("operator"), drafts, purpose="run")


@pytest.mark.needs("mount")
@pytest.mark.parametrize(
    ("style", "kib", "count"), [("single", 1024, 400), ("batch", 5120, 200), ("sealed", 2048, 200)]
)
def test_appending_until_the_disk_is_full(tmp_path: Path, style: str, kib: int, count: int) -> None:
    with faults.disk(tmp_path / "small", kib) as small:
        place = faults.make(small.path / "ledger")
        small.fill(kib * KIB // 2)
        worker = Worker.start(place, tmp_path / "acks", style, count, go_on="1")
        said = worker.finish(code=None)
        assert worker.process.returncode in (0, 1), said
        failures = worker.failures()
        assert worker.acknowledged()
        assert failures, "the disk was never full"
        assert all(line.startswith("LedgerError: ") for line in failures), failures
        assert not faults.missing(place, worker.acknowledged())
        faults.anvil(place, "verify").done()  # on the full disk
        small.make_room()
        faults.observe(place, "there is room again").done()
        faults.require_sound(place)
        assert faults.anchored_size(place) == faults.size(place)
        assert not faults.missing(place, worker.acknowledged())
        assert not list((place / "blobs").glob("sha256/.*"))


@pytest.mark.needs("mount")
@pytest.mark.parametrize("leave", soaked(0, soak=(4, 8, 16, 24, 40, 64)))
def test_a_command_that_appends(small: Disk, leave: int) -> None:
    place = faults.make(small.path / "ledger")
    faults.observe(place, "before").done()
    before = faults.size(place)
    small.fill(leave * KIB)
    ran = faults.observe(place, "on a full disk")
    if ran.code:
        ran.refused()
    faults.anvil(place, "log").done()
    faults.anvil(place, "verify").done()
    small.make_room()
    assert ran.code or faults.size(place) == before + 3
    faults.observe(place, "after").done()
    faults.require_sound(place)


@pytest.mark.needs("mount")
def test_a_blob_that_does_not_fit(small: Disk, tmp_path: Path) -> None:
    place = faults.make(small.path / "ledger")
    (tmp_path / "big.log").write_bytes(b"log\n" * 200_000)
    small.fill(256 * KIB)
    arguments = ("observe", "a log", "--status", "retained-complete", "--attach", tmp_path / "big.log")
    faults.anvil(place, *arguments).refused("a blob could not be written", "No space left on device")
    assert not [path for path in (place / "blobs").rglob("*") if path.is_file()]
    assert faults.size(place) == 2
    small.make_room()
    faults.anvil(place, *arguments).done()
    faults.require_sound(place)


@pytest.mark.needs("mount")
@pytest.mark.parametrize("leave", soaked(0, 24, 128, soak=(4, 8, 16, 36, 48, 64, 80, 96, 112, 144, 160, 192)))
def test_making_a_ledger(small: Disk, leave: int) -> None:
    small.fill(leave * KIB)
    ran = faults.anvil(small.path / "ledger", "init", "--origin", faults.NAME)
    if ran.code:
        ran.refused()
        assert small.names() == []
        small.make_room()
        faults.anvil(small.path / "ledger", "init", "--origin", faults.NAME).done()
    small.make_room()
    faults.observe(small.path / "ledger", "works").done()
    faults.require_sound(small.path / "ledger")


@pytest.mark.needs("mount")
def test_keys_that_cannot_be_kept(small: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANVIL_KEYS", str(small.path / "keys"))
    small.fill(0)
    faults.anvil(tmp_path / "ledger", "init", "--origin", faults.NAME).refused("No space left on device")
    assert not (tmp_path / "ledger").exists()


@pytest.mark.needs("mount")
def test_an_anchor_that_cannot_be_moved(
    place: Path, small: Disk, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "state").rename(home / "moved")
    (home / "state").symlink_to(small.path / "state")
    import shutil

    shutil.copytree(home / "moved", small.path / "state")
    small.fill(0)
    faults.observe(place, "recorded, not anchored").refused("anchor", "No space left on device")
    assert faults.size(place) == 5
    faults.require_sound(place)
    small.make_room()
    faults.anvil(place, "checkpoint").done()
    assert faults.anchored_size(place) == 5


@pytest.mark.needs("mount")
def test_a_backup_that_does_not_fit(place: Path, small: Disk) -> None:
    events(place, 600)
    small.fill(128 * KIB)
    faults.anvil(place, "backup", small.path / "copy.db").refused("copy.db", "full")
    assert small.names() == []
    small.make_room()
    faults.anvil(place, "backup", small.path / "copy.db").done()
    assert (small.path / "copy.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.needs("mount")
@pytest.mark.parametrize("leave", soaked(12, 300, soak=(0, 4, 20, 60, 100, 200)))
def test_an_export_that_does_not_fit_is_finished_later(place: Path, small: Disk, leave: int) -> None:
    """A full tile is never written again, so half of one must never have its name."""
    events(place, 600)
    with Ledger.open(place) as ledger:
        record(
            ledger,
            ledger.signer("operator"),
            [faults.secret(ledger, "x", b"blob " * 5000) for _ in range(2)],
            purpose="run",
        )
    small.fill(leave * KIB)
    target = small.path / "export"
    faults.anvil(place, "export", "--audit", target).refused()
    small.make_room()
    faults.anvil(place, "export", "--audit", target).done()
    ran = faults.anvil(place, "verify", "--tiles", target, "--key", place / "log.vkey")
    assert ran.code == 3, ran.out  # consistent; files do not say how far the log had come


@pytest.mark.needs("mount")
@pytest.mark.parametrize("leave", soaked(0, 16, soak=(4, 8, 48)))
def test_a_checkpoint_on_a_full_disk(small: Disk, leave: int) -> None:
    place = faults.make(small.path / "ledger")
    worker = Worker.start(place, small.path / "acks", "single", 20, end="kill")
    worker.finish(code=-9)  # what it appended is not yet anchored
    small.fill(leave * KIB)
    ran = faults.anvil(place, "checkpoint")
    if ran.code:
        ran.refused()
    small.make_room()
    faults.anvil(place, "checkpoint").done()
    assert not faults.missing(place, worker.acknowledged())
    assert faults.anchored_size(place) == faults.require_sound(place).size


@pytest.mark.needs("mount")
@pytest.mark.parametrize("leave", soaked(24, soak=(0, 4, 8, 16, 32, 64, 100, 140)))
def test_a_redaction_on_a_full_disk_is_finished_later(small: Disk, leave: int) -> None:
    place = faults.make(small.path / "ledger")
    with Ledger.open(place) as ledger:
        draft = faults.secret(ledger, "PRIVATE words", b"PRIVATE bytes")
        index = record(ledger, ledger.signer("operator"), [draft], purpose="run")[0].index
    small.fill(leave * KIB)
    arguments = ("redact", str(index), "--reason", "It was private.")
    ran = faults.anvil(place, *arguments)
    if ran.code:
        ran.refused()
    small.make_room()
    faults.require_sound(place, "redacted")
    faults.anvil(place, *arguments).done()
    faults.require_sound(place, "redacted")
    assert not [p for p in place.rglob("*") if p.is_file() and b"PRIVATE" in p.read_bytes()]


@pytest.mark.needs("mount")
@pytest.mark.parametrize("leave", soaked(200, soak=(0, 16, 64, 128, 256)))
def test_a_restore_that_does_not_fit(place: Path, small: Disk, tmp_path: Path, leave: int) -> None:
    events(place, 100)
    with Ledger.open(place) as ledger:
        draft = faults.secret(ledger, "words", b"bytes " * 60_000)
        record(ledger, ledger.signer("operator"), [draft], purpose="run")
    faults.anvil(place, "backup", tmp_path / "copy.db").done()
    small.fill(leave * KIB)
    arguments = ("restore", tmp_path / "copy.db", "--blobs", place / "blobs")
    faults.anvil(small.path / "restored", *arguments).refused()
    assert small.names() == []
    small.make_room()
    faults.anvil(small.path / "restored", *arguments).done()
    faults.require_sound(small.path / "restored")


def test_a_file_that_may_not_grow(place: Path, tmp_path: Path) -> None:
    """Without a disk of its own: the process's limit on the size of a file (RLIMIT_FSIZE)."""
    limited = ("bash", "-c", 'ulimit -f "$1"; shift; exec "$@"', "limit")
    for kib in (4, 24, 40, 64):
        ran = faults.observe(place, "with a limit", under=[*limited, str(kib)])
        if ran.code:
            ran.refused()
        faults.require_sound(place)
    worker = Worker.start(place, tmp_path / "acks", "single", 200, go_on="1", under=(*limited, "512"))
    worker.finish(code=None)
    assert worker.failures()
    assert worker.acknowledged()
    assert not faults.missing(place, worker.acknowledged())
    faults.observe(place, "without a limit").done()
    faults.require_sound(place)
