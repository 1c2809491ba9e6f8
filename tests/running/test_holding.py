"""A run is carried out, and gone on with, by one process at a time: who is refused is told which has it."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from support.interrupting import begin, interrupt, until
from support.loads import SMALL, finished, last_run, measured, require_nothing_lost_or_doubled
from support.running import Bench

from anvil.collectors.running.holding import held, let_go
from anvil.ledger.errors import CollectorError
from anvil.ledger.events import RecipeDeclared

ONE = SMALL.replace("[1, 2]", "[1]")


def test_of_two_at_the_same_moment_one_goes_on(bench: Bench) -> None:
    interrupt(bench, "c1, run 2 of 2", signal.SIGINT, behave="talks-slowly", checks=[], more=ONE)
    old = last_run(bench)
    children = [begin(bench, "--resume", old) for _ in range(2)]
    ended = {child.pid: (child.communicate(timeout=120)[1], child.returncode) for child in children}
    assert sorted(code for _, code in ended.values()) == [0, 1], ended
    (winner,) = (pid for pid, (_, code) in ended.items() if code == 0)
    (said,) = (words for words, code in ended.values() if code == 1)
    assert f"the run in stream {old!r} goes on: process {winner} holds it" in " ".join(said.split())
    assert "Traceback" not in said
    assert len(bench.events(RecipeDeclared)) == 2
    require_nothing_lost_or_doubled(bench)
    bench.require_whole()
    bench.require_nothing_running()


def test_while_the_run_itself_lives(bench: Bench) -> None:
    path = bench.recipe(behave="talks-slowly", checks=[], more=ONE)
    with begin(bench, str(path)) as child:
        until(child, "c1, run 1 of 2")
        ran = bench.run("--resume", last_run(bench))
        assert ran.code == 1
        assert f"process {child.pid} holds it" in " ".join(ran.err.split())
        assert child.communicate(timeout=120) is not None
        assert child.returncode == 0
    assert len(bench.events(RecipeDeclared)) == 1
    assert sum(finished(bench).values()) == 2
    bench.require_nothing_running()


def test_the_hold_of_a_killed_process_goes_with_it(bench: Bench) -> None:
    interrupt(bench, "c1, run 2 of 2", signal.SIGINT, behave="talks-slowly", checks=[], more=ONE)
    first = last_run(bench)
    with begin(bench, "--resume", first) as child:
        until(child, "c1, run 1 of 2")
        child.kill()
    ran = bench.run("--resume", first)
    assert ran.code == 1
    assert f"anvil run --resume {last_run(bench)}" in ran.err
    ran = bench.run("--resume", last_run(bench))
    assert ran.code == 0, ran.err
    assert measured(bench)[-1].outcome == "completed"
    require_nothing_lost_or_doubled(bench)
    bench.require_nothing_running()


def test_a_file_that_nobody_holds_is_taken_over_and_removed(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("1\n")
    with held(tmp_path, "s"):
        let_go(tmp_path)
        assert (tmp_path / "s").exists()
        with pytest.raises(CollectorError, match="holds it"), held(tmp_path, "s"):
            pass
    assert not list(tmp_path.iterdir())
    (tmp_path / "s").write_text("1\n")
    let_go(tmp_path)
    assert not list(tmp_path.iterdir())


def test_it_waits_for_who_only_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever removes what dead processes left has the lock for a moment."""
    import fcntl
    import os

    path = tmp_path / "s"
    looking = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(looking, fcntl.LOCK_EX)

    def look_away(_seconds: float) -> None:
        path.unlink()
        os.close(looking)

    monkeypatch.setattr(time, "sleep", look_away)
    with held(tmp_path, "s"):
        assert path.read_text() == f"{os.getpid()}\n"


def test_what_is_no_stream_of_the_ledger_is_not_held(bench: Bench) -> None:
    for stream in ("../../outside", "20261130T072613Z-0000000000000003"):
        ran = bench.run("--resume", stream)
        assert ran.code == 1
        assert "there is no run in stream" in ran.err
    assert not (bench.ledger / "runs" / "holds").exists()
