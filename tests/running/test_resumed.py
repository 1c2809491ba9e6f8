"""Runs that were interrupted or killed and are gone on with: nothing lost, nothing done twice."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import killed
from support.endpoint import Chat, Server
from support.interrupting import ANVIL, interrupt
from support.loads import (
    SMALL,
    cells_of,
    content,
    finished,
    last_run,
    loads,
    measured,
    require_nothing_lost_or_doubled,
    sent,
    told,
)
from support.running import Bench

from anvil.collectors.recipes import load_recipe
from anvil.collectors.running.lineage import Lineage
from anvil.collectors.running.resuming import read_run
from anvil.ledger.events import CheckCompleted, RecipeDeclared, StreamAbandoned, StreamClosed
from anvil.ledger.recording import Ledger
from anvil.ledger.rows import read_rows

Benches = Callable[[str], Bench]

STEPS = (
    *killed.STEPS,
    "anvil.ledger.blobs:BlobStore.put_file",
    "anvil.collectors.load.process:LoadProcess.run",
    "anvil.collectors.load.spool:Spool.begin",
    "anvil.collectors.load.spool:Spool.remove",
)
ONE = SMALL.replace("[1, 2]", "[1]")
ALL = Counter({(cell, run): 1 for cell in ("c1", "c2") for run in (1, 2)})
FALLS = "ttft_falls_along_ladder"
LOADING = ("LoadProcess.run", "Spool.begin", "Spool.remove", "BlobStore.put_file")


def resume(bench: Bench) -> str:
    ran = bench.run("--resume", last_run(bench))
    assert ran.code == 0, ran.err
    return ran.err


def test_an_interrupted_cell_is_kept_as_aborted_and_done_again(bench: Bench) -> None:
    said = interrupt(
        bench, "c2, run 1 of 2", signal.SIGINT, behave="talks-slowly", checks=["coding"], more=SMALL
    )
    assert "the run was interrupted" in said
    before = measured(bench)
    assert [told(event)[:4] for event in before[-2:]] == [
        ("c2", "warm-up", 1, "completed"),
        ("c2", "measured", 1, "aborted"),
    ]
    assert before[-1].completed + before[-1].failed < before[-1].expected
    old = last_run(bench)
    assert f"going on with {old}: 0 checks, 0 suites and 1 cell left" in resume(bench)
    declared = bench.events(RecipeDeclared)[-1]
    assert (declared.continues, declared.attempts[0].checks) == (old, ())
    assert [cell.cell for cell in declared.attempts[0].protocols[0].cells] == ["c2"]
    again = measured(bench)[len(before) :]
    assert [told(event)[:4] for event in again] == [
        ("c2", "warm-up", 1, "completed"),
        ("c2", "measured", 1, "completed"),
        ("c2", "measured", 2, "completed"),
    ]
    assert finished(bench) == ALL
    assert {event.seed for event in again}.isdisjoint(event.seed for event in before)
    assert len([e for e in bench.events(CheckCompleted) if e.check == "coding"]) == 1
    require_nothing_lost_or_doubled(bench)
    bench.require_whole()
    bench.require_nothing_running()


def test_what_is_finished_or_unknown_is_not_gone_on_with(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="talks", checks=[], more=ONE)).code == 0
    before = len(bench.seen())
    ran = bench.run("--resume", last_run(bench))
    assert ran.code == 1
    assert "nothing is left of the run" in ran.err
    unknown = bench.run("--resume", "20261130T072613Z-0000000000000003")
    assert unknown.code == 1
    assert "there is no run in stream" in unknown.err
    assert bench.run("--resume", last_run(bench), bench.recipe()).code == 2
    assert len(bench.seen()) == before


def test_a_run_is_gone_on_with_once(bench: Bench) -> None:
    """A second one would measure what the first had measured, and both would count."""
    interrupt(bench, "c1, run 2 of 2", signal.SIGINT, behave="talks-slowly", checks=[], more=ONE)
    first = last_run(bench)
    resume(bench)
    before = len(bench.seen())
    ran = bench.run("--resume", first)
    assert ran.code == 1
    assert f"--resume {last_run(bench)}" in ran.err
    assert len(bench.seen()) == before


LADDER = """[[protocols]]
id = "context-ladder"
parameters = { input_tokens = [100, 200, 300], depths = [50], repetitions = 1 }
"""


def test_a_rung_is_compared_with_those_of_the_runs_that_it_goes_on_with(bench: Bench) -> None:
    """The second rung is answered sooner than the first, which another run measured."""

    def chat(asked: Any) -> Chat:
        words = len(asked["messages"][0]["content"].split())
        time.sleep(1.0 if 20 < words < 100 and asked.get("stream") else 0)
        return Chat(content="Paris is it", completion_tokens=3)

    with Server(chat=chat, model="org/tiny") as server:
        at = ["--base-url", server.base_url]
        when = "rung-2, measuring the client itself"
        interrupt(bench, when, signal.SIGINT, checks=[], more=LADDER, arguments=at)
        assert [event.findings.count(FALLS) for event in measured(bench)] == [0, 0]
        ran = bench.run("--resume", last_run(bench), *at)
        assert ran.code == 0, ran.err
    found = {event.cell: FALLS in event.findings for event in measured(bench) if event.phase == "measured"}
    assert found == {"rung-1": False, "rung-2": True, "rung-3": True}


def test_the_rows_of_a_cell_that_was_done_again_are_the_newest(bench: Bench) -> None:
    with Ledger.open(bench.ledger) as ledger:
        assert Lineage.of(ledger, "20261130T072613Z-0000000000000003").rows("capacity") == {}
    interrupt(bench, "c1, run 2 of 2", signal.SIGINT, behave="talks-slowly", checks=[], more=ONE)
    first = last_run(bench)
    resume(bench)
    with Ledger.open(bench.ledger) as ledger:
        lineage = Lineage.of(ledger, last_run(bench))
        assert lineage.streams == (first, last_run(bench))
        rows = lineage.rows("capacity")["capacity"]["c1"]
        assert lineage.rows("open-loop") == {}
    _, newest = read_rows(content(bench, loads(bench)[-1], "rows"))
    assert rows == newest


def test_of_many_cells_only_those_that_are_left_are_asked_for(bench: Bench) -> None:
    """Nothing that was sent is sent again, and each cell is there once."""
    many = SMALL.replace("[1, 2]", "[1, 2, 3, 4, 5, 6]").replace(
        "requests = 3, runs = 2", "requests = 6, runs = 1"
    )

    def chat(asked: Any) -> Chat:
        time.sleep(0.1 if asked.get("stream") else 0)
        return Chat(content="Paris is it", completion_tokens=3)

    with Server(chat=chat, model="org/tiny") as server:
        at = ["--base-url", server.base_url]
        interrupt(bench, "c5, warm-up", signal.SIGINT, checks=[], more=many, arguments=at)
        first = streams_of(server)
        assert {cell for cell, _ in finished(bench)} == {"c1", "c2", "c3", "c4"}
        ran = bench.run("--resume", last_run(bench), *at)
        assert ran.code == 0, ran.err
        assert "0 checks, 0 suites and 2 cells left" in ran.err
        later = streams_of(server) - first
    again = [event for event in measured(bench)[-4:] if event.outcome == "completed"]
    assert [(event.cell, event.phase) for event in again] == [
        (cell, phase) for cell in ("c5", "c6") for phase in ("warm-up", "measured")
    ]
    assert sum(later.values()) == sum(event.expected for event in again)
    assert finished(bench) == Counter({(f"c{streams}", 1): 1 for streams in range(1, 7)})
    assert first + later == sent(bench)
    assert max(sent(bench).values()) == 1


def streams_of(server: Server) -> Counter[str]:
    """The digest of each stream that an endpoint was asked for."""
    bodies = [request.body for request in server.requests if b'"stream":true' in request.body]
    return Counter(hashlib.sha256(body).hexdigest() for body in bodies)


def test_policies_that_are_left_are_judged_over_all_checks_again(bench: Bench) -> None:
    interrupt(
        bench, "a1: coding", signal.SIGINT, behave="hangs", checks=["structured-json", "coding", "finish"]
    )
    text = (bench.directory / "mine.toml").read_text()
    assert "hangs" in text
    (bench.directory / "mine.toml").write_text(text.replace("'hangs'", "'talks'"))
    with Ledger.open(bench.ledger) as ledger:
        continued = read_run(ledger, last_run(bench))
    (attempt,) = load_recipe(bench.directory / "mine.toml").attempts
    assert [check.name for check in continued.left(attempt).checks] == ["structured-json", "coding", "finish"]


# --- SIGKILL -----------------------------------------------------------------------------------------------


def kill(bench: Bench, at: int, more: str = ONE) -> killed.Trace:
    recipe = bench.recipe(behave="talks", checks=[], more=more)
    return killed.run(bench.directory, ["run", recipe], at, STEPS)


def steps_of(bench: Bench) -> list[str]:
    trace = kill(bench, 0)
    assert trace.exit_code == 0, (bench.directory / "output").read_text()
    return trace.steps


def require_gone_on(bench: Bench, trace: killed.Trace) -> None:
    """Recover, go on until nothing is left, and require that all is there once."""
    assert trace.exit_code == -signal.SIGKILL
    ran = bench.run("--recover")
    assert ran.code == 0, ran.err
    bench.require_whole()
    bench.require_nothing_running()
    require_nothing_lost_or_doubled(bench)
    before = finished(bench)
    assert max(before.values(), default=1) == 1
    if not bench.events(RecipeDeclared):
        return  # killed before anything was planned
    ran = bench.run("--resume", last_run(bench))
    is_over = ran.code == 1 and "nothing is left" in ran.err
    assert is_over or ran.code == 0, ran.err
    require_nothing_lost_or_doubled(bench)
    # A cell that was finished is not done again; another is done again whole, in the new stream.
    assert finished(bench) == (before if is_over else before + Counter({("c1", 1): 1, ("c1", 2): 1}))
    if is_over:
        assert before == Counter({("c1", 1): 1, ("c1", 2): 1})
    bench.require_whole()
    bench.require_nothing_running()
    closed = len(bench.events(StreamClosed)) + len(bench.events(StreamAbandoned))
    assert closed == len([seen for seen in bench.seen() if seen.header.stream_seq == 0])


def try_all(benches: Benches, chosen: list[int], steps: list[str]) -> None:
    for at in chosen:
        bench = benches(f"at{at}")
        trace = kill(bench, at)
        try:
            require_gone_on(bench, trace)
        except AssertionError as error:
            raise AssertionError(f"killed at step {at}, {steps[at - 1]}: {error}") from error


def test_killed_around_a_measured_run(benches: Benches) -> None:
    """Just before the client begins, after it ended, before and after its event."""
    steps = steps_of(benches("whole"))
    runs = [at for at, step in enumerate(steps, 1) if step == "after LoadProcess.run"]
    last = runs[-1]  # warm-up, calibration, run 1, run 2
    first = max(at for at, step in enumerate(steps[:last], 1) if step == "before LoadProcess.run")
    appended = next(at for at, step in enumerate(steps, 1) if at > last and step == "after Stream.append")
    try_all(benches, [first, last, appended], steps)


def test_killed_while_requests_are_under_way(bench: Bench) -> None:
    """The client notices, writes down what came and ends; recovery tells of it."""
    recipe = bench.recipe(behave="talks-slowly", checks=[], more=ONE)
    with subprocess.Popen([str(ANVIL), "run", str(recipe)], stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        begun = bench.ledger / "runs" / "loads"
        while not list(begun.glob("*.3/record.part")):  # the third: warm-up, run 1, run 2
            assert child.poll() is None
            time.sleep(0.02)
        time.sleep(0.3)
        child.kill()
        child.wait(60)
    assert bench.run("--recover").code == 0
    bench.require_whole()
    bench.require_nothing_running()
    warm, first, second = measured(bench)
    assert told(second)[:3] == ("c1", "measured", 2)
    assert (warm.counters_missing, second.counters_missing) == ("no_table", "recording_lost")
    require_nothing_lost_or_doubled(bench)
    if second.outcome == "aborted":
        assert bench.run("--resume", last_run(bench)).code == 0
        assert finished(bench) == Counter({("c1", 1): 2, ("c1", 2): 1})
        (cell,) = cells_of(bench)
        assert [(run.event.run, run.launch) for run in cell.runs] == [(1, 2), (2, 2)]
        assert [(one.event.run, one.launch, one.reason) for one in cell.left_out] == [
            (1, 1, "done_again"),
            (2, 1, "aborted"),
        ]
    assert first.outcome == "completed"
    require_nothing_lost_or_doubled(bench)


@pytest.mark.soak
@pytest.mark.parametrize("shard", range(4))
def test_killed_at_200_steps_of_a_load(benches: Benches, shard: int, tmp_path: Path) -> None:
    del tmp_path
    steps = steps_of(benches("whole"))
    begin = next(at for at, step in enumerate(steps, 1) if step == "after ProcessLauncher.start")
    chosen = [at for at in range(1, len(steps) + 1) if at >= begin]
    every = max(1, len(chosen) // 200)
    try_all(benches, chosen[::every][shard::4], steps)
