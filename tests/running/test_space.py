"""A disk that fills up: a run does not begin, or ends in order, and says which disk, expected and found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from support import faults
from support.command import Ran, run_here
from support.faults import Disk
from support.running import Bench

from anvil.collectors.recipes import load_recipe
from anvil.collectors.running.space import Space, estimate_bytes
from anvil.ledger.creation import create_ledger
from anvil.ledger.events import (
    CheckCompleted,
    LaunchFailed,
    LaunchStopped,
    LogRetained,
    StreamClosed,
    SuiteCompleted,
)

MIB = 1 << 20
MIN_FREE = 8 * MIB


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    with faults.disk(tmp_path / "small", 32 << 10) as disk:
        yield disk


@pytest.fixture
def crowded(
    small: Disk, bench: Bench, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Bench:
    """A bench whose ledger is on the small disk; the site asks for `MIN_FREE`."""
    create_ledger(small.path / "anvil-ledger", "runs.test.invalid")
    monkeypatch.chdir(small.path)
    (small.path / "anvil-site.toml").write_text(f"min_free_bytes = {MIN_FREE}\n")
    run: Callable[..., Ran] = partial(run_here, capfdbinary)
    return Bench(small.path, run)


def require_told(ran: Ran, attempted: str) -> None:
    """Require one message: what was attempted, on what, expected against found, what to do."""
    assert ran.code == 1, ran.out
    (line,) = [line for line in ran.err.splitlines() if line.startswith("Error: ")]
    holds = "the ledger, the blob store, the logs of engines and the loads under way"
    assert line.startswith(f"Error: {attempted}: the disk that holds {holds}")
    assert f"bytes free, and the site asks for {MIN_FREE:,}" in line
    assert "min_free_bytes" in ran.err.splitlines()[-1]


@pytest.mark.needs("mount")
def test_a_run_that_cannot_begin_leaves_nothing(crowded: Bench, small: Disk) -> None:
    small.fill(MIN_FREE - MIB)
    before = len(crowded.seen())
    require_told(crowded.run(crowded.recipe()), "the run was not started")
    assert len(crowded.seen()) == before
    crowded.require_nothing_running()
    small.make_room()
    assert crowded.run(crowded.recipe()).code == 0


@pytest.mark.needs("mount")
def test_room_that_goes_during_an_attempt_ends_it_in_order(crowded: Bench, small: Disk) -> None:
    argv = ["--into", str(small.path / "hoard"), "--bytes", str(small.free - MIN_FREE // 2)]
    recipe = crowded.recipe(behave="hoards", checks=["structured-json", "coding", "finish"], argv=argv)
    require_told(crowded.run(recipe), "attempt 'a1' was ended before its last check")
    lost = ("incomplete", "prerequisite_failed")
    found = crowded.verdicts()
    assert found.pop("structured-json")[0] == "failed"
    assert found == {"coding": lost, "finish": lost}
    assert "min_free" not in str(crowded.events(CheckCompleted)[-1].facts())
    assert "bytes free" in str(crowded.events(CheckCompleted)[-1].messages)
    closed = crowded.events(StreamClosed)[-1]
    assert (closed.outcome, closed.reason) == ("aborted", "disk_full")
    assert len(crowded.events(LogRetained)) == 2
    assert crowded.events(LaunchStopped)[0].is_removed
    assert crowded.run("--recover").code == 0
    crowded.require_whole()
    crowded.require_nothing_running()


@pytest.mark.needs("mount")
def test_room_that_goes_during_a_suite_ends_it_in_order(crowded: Bench, small: Disk) -> None:
    argv = ["--into", str(small.path / "hoard"), "--bytes", str(small.free - MIN_FREE // 2)]
    more = '[[suites]]\nid = "session"\n[[suites]]\nid = "tool"\n'
    recipe = crowded.recipe(behave="hoards", checks=[], argv=argv, more=more)
    require_told(crowded.run(recipe), "attempt 'a1' was ended before its last check")
    first, second = crowded.events(SuiteCompleted)
    assert (first.outcome, first.failure, len(first.requests)) == ("incomplete", "prerequisite_failed", 3)
    assert (first.items[0].incomplete, second.items[0].incomplete) == (2, 3)
    assert "bytes free" in str(second.messages)
    closed = crowded.events(StreamClosed)[-1]
    assert (closed.outcome, closed.reason) == ("aborted", "disk_full")
    assert crowded.run("--recover").code == 0
    crowded.require_whole()
    crowded.require_nothing_running()


@pytest.mark.needs("mount")
def test_room_that_goes_before_the_next_attempt(crowded: Bench, small: Disk) -> None:
    argv = ["--into", str(small.path / "hoard"), "--bytes", str(small.free - MIN_FREE // 2)]
    behave = {"a1": "hoards", "a2": "serve", "a3": "serve"}
    recipe = crowded.recipe(behave=behave, checks=["structured-json"], argv=argv)
    require_told(crowded.run(recipe), "attempt 'a2' was not started")
    assert crowded.verdicts("a1")["structured-json"][0] == "failed"
    assert crowded.verdicts("a2") == {"structured-json": ("incomplete", "prerequisite_failed")}
    assert crowded.verdicts("a3") == {}
    assert [event.failure for event in crowded.events(LaunchFailed)] == ["disk_full"]
    assert [(e.outcome, e.reason) for e in crowded.events(StreamClosed)][-2:] == [
        ("completed", None),
        ("aborted", "disk_full"),
    ]
    assert len(crowded.events(LaunchStopped)) == 1
    assert crowded.run("--recover").code == 0
    crowded.require_nothing_running()


@pytest.mark.needs("mount")
def test_each_disk_is_looked_at_and_named_by_what_it_holds(small: Disk, tmp_path: Path) -> None:
    places = {"the ledger": tmp_path, "the blob store": small.path / "not" / "there", "logs": tmp_path / "x"}
    space = Space(places, MIN_FREE)
    assert [disk.holds for disk in space.disks()] == [("the ledger", "logs"), ("the blob store",)]
    assert space.shortage() is None
    small.fill(MIB)
    assert (space.shortage() or "").startswith(f"the disk that holds the blob store ({small.path}) has ")


@pytest.mark.needs("mount")
def test_artifacts_on_a_disk_of_their_own(
    small: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.chdir(tmp_path)
    create_ledger(tmp_path / "anvil-ledger", "runs.test.invalid", blobs=small.path)
    bench = Bench(tmp_path, partial(run_here, capfdbinary))
    (tmp_path / "anvil-site.toml").write_text(f"min_free_bytes = {MIN_FREE}\n")
    before = small.free
    assert bench.run(bench.recipe(checks=["structured-json"])).code == 0
    assert small.free < before
    bench.require_whole()
    small.fill(MIN_FREE - MIB)
    ran = bench.run(bench.recipe(checks=["structured-json"]))
    assert ran.code == 1
    assert f"the disk that holds the blob store ({small.path}" in ran.err


def test_what_a_run_will_take_is_told_before(bench: Bench) -> None:
    ran = bench.run(bench.recipe(checks=["structured-json"]))
    assert ran.code == 0
    assert re.search(r"about \d+(\.\d+)? MB will be kept; [0-9.,]+ [MGT]B are free", ran.err)
    assert "may end before" not in ran.err


@pytest.mark.needs("mount")
def test_a_disk_that_will_hardly_do_is_told_before(crowded: Bench) -> None:
    ran = crowded.run(crowded.recipe(checks=["structured-json"]))
    assert ran.code == 0
    assert "the run may end before its last check" in ran.err


def test_long_prompts_count_in_the_estimate() -> None:
    (attempt,) = load_recipe("quickstart").attempts
    short, long = (
        [c.model_copy(update={"parameters": {"target_tokens": tokens}}) for c in attempt.checks if c.id == "retrieval"]
        for tokens in (1_000, 100_000)
    )  # fmt: skip
    assert estimate_bytes([(attempt, long)]) - estimate_bytes([(attempt, short)]) > 3 * 99_000 * 4
    assert estimate_bytes([(attempt, ()), (attempt, ())]) == 2 * estimate_bytes([(attempt, ())])
