"""Killed at each step, the disk full: never a partial publication, and what is released is finished."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from support import faults, killed
from support.command import run_here
from support.laguna import laguna
from support.published_folders import DOCUMENT, ORIGIN, at_home, vkey

from anvil.ledger.errors import LedgerError, PublicationRefused
from anvil.ledger.events import PublicationReleased
from anvil.ledger.places import LedgerPlace
from anvil.ledger.publication import layout, releasing
from anvil.ledger.publication.verifying import verify_publication
from anvil.ledger.recording import Ledger
from anvil.ledger.store import Store
from anvil.projections.recomputing import recompute

STEPS = (
    "anvil.ledger.publication.releasing:Pending.write",
    "anvil.ledger.publication.releasing:_write",
    "anvil.ledger.publication.releasing:record",
    "anvil.ledger.publication.releasing:proof_files",
    "anvil.ledger.publication.releasing:Pending.forget",
    "anvil.ledger.publication.releasing:write_whole",
    "anvil.ledger.store:Store.insert_entries",
    "anvil.ledger.anchor:Anchor.advance",
)
RELEASE = ("release", DOCUMENT, "--out", "published")
OFTEN = (3, 6, 9, 24, 42, 44, 45, 46, 49, 53, 60, 61, 62)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that nothing was released from, with its keys and state."""
    directory = tmp_path_factory.mktemp("base")
    with at_home(directory):
        laguna(directory / "anvil-ledger", ORIGIN)
    return directory


@pytest.fixture
def work(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to work in."""
    directory = tmp_path / "work"
    shutil.copytree(base, directory)
    monkeypatch.setenv("ANVIL_STATE", str(directory / "state"))
    monkeypatch.setenv("ANVIL_KEYS", str(directory / "keys"))
    monkeypatch.chdir(directory)
    return directory


def released(work: Path) -> int:
    """Return how many releases are in the log."""
    store = Store.open_readonly(LedgerPlace(work / "anvil-ledger").database)
    try:
        return len(store.of_types([PublicationReleased.event_type]))
    finally:
        store.close()


def require_whole(work: Path) -> None:
    """Require one publication, whole, and nothing left over."""
    report = verify_publication(work / "published", vkey(LedgerPlace(work / "anvil-ledger")), recompute)
    assert report.exit_code == 0, report.every_finding
    assert released(work) == 1
    left = {path.name for path in work.iterdir()} - {
        "anvil-ledger",
        "state",
        "keys",
        "published",
        "trace",
        "output",
    }
    assert left == set()
    assert not list((work / "state" / "releases").rglob("*.json"))


def test_the_steps_of_a_release(work: Path) -> None:
    trace = killed.run(work, RELEASE, watched=STEPS)
    assert trace.exit_code == 0, (work / "output").read_text()
    assert len(trace.steps) >= max(OFTEN)
    order = [step.removeprefix("before ") for step in trace.steps if step.startswith("before ")]
    assert order.index("Pending.write") < order.index("_write") < order.index("record")
    assert order.index("record") < order.index("proof_files") < order.index("Pending.forget")
    require_whole(work)


@pytest.mark.parametrize(
    "at", [*OFTEN, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 65) if n not in OFTEN)]
)
def test_killed_at_a_step(work: Path, at: int) -> None:
    trace = killed.run(work, RELEASE, at, watched=STEPS)
    if trace.exit_code != -signal.SIGKILL:
        assert trace.exit_code == 0
        return
    if (work / "published").exists():
        report = verify_publication(work / "published", vkey(LedgerPlace(work / "anvil-ledger")), recompute)
        assert report.exit_code == 0, report.every_finding
    was_released = released(work)
    assert killed.run(work, RELEASE, watched=STEPS).exit_code == 0 or (work / "published").exists()
    assert released(work) == 1, was_released
    require_whole(work)


def test_killed_while_it_is_finished(work: Path) -> None:
    """A crash during the finishing of a crash."""
    for at in (49, 3, 9):
        killed.run(work, RELEASE, at, watched=STEPS)
    killed.run(work, RELEASE, watched=STEPS)
    require_whole(work)


@pytest.fixture(scope="module")
def recorded_at(base: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """The step after which the release is in the log, counted in a run that nobody kills."""
    directory = tmp_path_factory.mktemp("whole") / "work"
    shutil.copytree(base, directory)
    with at_home(directory), pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        return 1 + killed.run(directory, RELEASE, watched=STEPS).steps.index("after record")


def test_a_folder_that_was_lost_is_made_again(work: Path, recorded_at: int) -> None:
    assert killed.run(work, RELEASE, recorded_at, watched=STEPS).steps[-1] == "after record"
    staged = [path for path in work.iterdir() if path.name.startswith(".published")]
    assert len(staged) == 1
    shutil.rmtree(staged[0])
    assert killed.run(work, RELEASE, watched=STEPS).exit_code == 0, (work / "output").read_text()
    require_whole(work)


@pytest.mark.parametrize("number", [1, 2, 9, 16])
def test_a_file_that_cannot_be_written_leaves_nothing(
    work: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], number: int
) -> None:
    calls = 0

    def full(path: Path, content: bytes, *, mode: int = 0o644) -> None:
        nonlocal calls
        calls += path.name != "json"
        if calls == number + 1:
            raise LedgerError(f"{path} could not be written: No space left on device")
        path.write_bytes(content)

    monkeypatch.setattr(releasing, "write_whole", full)
    ran = run_here(capfdbinary, *RELEASE)
    assert ran.code == 1
    assert "No space left" in ran.err
    assert not (work / "published").exists()
    assert released(work) == 0
    assert sorted(path.name for path in work.iterdir()) == ["anvil-ledger", "keys", "state"]
    monkeypatch.undo()


def test_a_proof_that_cannot_be_written_is_finished_later(
    work: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    real = releasing.write_whole

    def full(path: Path, content: bytes, *, mode: int = 0o644) -> None:
        if path.parent.name == layout.RELEASE:
            raise LedgerError(f"{path} could not be written: No space left on device")
        real(path, content, mode=mode)

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "write_whole", full)
        ran = run_here(capfdbinary, *RELEASE)
    assert ran.code == 1
    assert "is released, as event 17, and could not be finished" in ran.err
    assert "run `anvil release` again" in ran.err
    assert not (work / "published").exists()
    assert run_here(capfdbinary, *RELEASE).code == 0
    require_whole(work)


def test_an_append_that_fails_leaves_nothing(
    work: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def fail(*_args: object, **_more: object) -> object:
        raise LedgerError("the database is full")

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "record", fail)
        assert run_here(capfdbinary, *RELEASE).code == 1
    assert sorted(path.name for path in work.iterdir()) == ["anvil-ledger", "keys", "state"]
    assert run_here(capfdbinary, *RELEASE).code == 0
    require_whole(work)


def test_an_append_that_failed_only_to_say_so_is_finished(
    work: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """The flush failed, and the event was in the log all the same."""
    real = releasing.record

    def fails_late(*args: object, **more: object) -> object:
        real(*args, **more)  # type: ignore[arg-type]
        raise LedgerError("the flush failed")

    with monkeypatch.context() as patch:
        patch.setattr(releasing, "record", fails_late)
        assert run_here(capfdbinary, *RELEASE).code == 1
    assert not (work / "published").exists()
    assert released(work) == 1
    assert run_here(capfdbinary, *RELEASE).code == 0
    require_whole(work)


@pytest.mark.needs("mount")
@pytest.mark.parametrize("leave", [0, 40, 100, 160])
def test_a_full_disk(
    work: Path, tmp_path: Path, leave: int, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with faults.disk(tmp_path / "small", 2048) as small:
        small.fill(leave * 1024)
        ran = run_here(capfdbinary, "release", DOCUMENT, "--out", small.path / "published")
        if ran.code:
            assert "No space left" in ran.err
            assert not (small.path / "published").exists()
            small.make_room()
            assert run_here(capfdbinary, "release", DOCUMENT, "--out", small.path / "published").code == 0
        small.make_room()
        report = verify_publication(
            small.path / "published", vkey(LedgerPlace(work / "anvil-ledger")), recompute
        )
        assert report.exit_code == 0
        assert small.names() == ["published"]
        assert released(work) == 1


def test_what_is_at_the_target_is_never_touched(
    work: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for make in (lambda p: p.mkdir(), lambda p: p.write_text("mine"), lambda p: p.symlink_to("nowhere")):
        target = work / "published"
        make(target)
        ran = run_here(capfdbinary, *RELEASE)
        assert ran.code == 1
        assert "there is something at" in ran.err
        assert released(work) == 0
        target.rmdir() if target.is_dir() else target.unlink()


def test_a_target_in_no_directory_is_refused(work: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    ran = run_here(capfdbinary, "release", DOCUMENT, "--out", "nowhere/published")
    assert ran.code == 1
    assert "is no directory" in ran.err
    with Ledger.open(work / "anvil-ledger") as ledger, pytest.raises(PublicationRefused):
        releasing.require_releasable(ledger, Path("nowhere/published"))


def test_a_damaged_note_of_what_is_under_way_is_told(
    work: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    killed.run(work, RELEASE, 9, watched=STEPS)
    note = next((work / "state" / "releases").rglob("*.json"))
    note.write_bytes(b"{")
    ran = run_here(capfdbinary, *RELEASE)
    assert ran.code == 1
    assert "cannot be read" in ran.err
    assert layout.MANIFEST == "manifest.json"


def test_one_release_at_a_time(work: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """What another process has under way is not taken for what a crash left."""
    with Ledger.open(work / "anvil-ledger") as ledger, releasing.alone(ledger):
        ran = run_here(capfdbinary, *RELEASE)
    assert ran.code == 1
    assert "another release" in ran.err
    assert released(work) == 0
    assert run_here(capfdbinary, *RELEASE).code == 0
