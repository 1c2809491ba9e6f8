"""The loss that started this project: a run is killed, and what had arrived must not be gone.

`anvil run` is killed with SIGKILL at one step after another; then `anvil run --recover` collects. By
default at one step of two from the last response to the removal of the engine; at all of them, and at
all before, in `make soak`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest
from support import killed
from support.campaigns import CAMPAIGN, Scene
from support.running import Bench

from anvil.collectors.journal import Journal
from anvil.ledger.drafts import Draft
from anvil.ledger.events import (
    LaunchStarted,
    LaunchStopped,
    LogRetained,
    RecipeDeclared,
    StreamAbandoned,
    StreamClosed,
)
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

SHARDS = 4
Benches = Callable[[str], Bench]


def whole_run(benches: Benches) -> list[str]:
    """The steps of a run that nobody kills."""
    bench = benches("whole")
    trace = killed.run(bench.directory, ["run", bench.recipe(checks=["structured-json"])])
    assert trace.exit_code == 0, (bench.directory / "output").read_text()
    bench.require_whole()
    bench.require_nothing_running()
    return trace.steps


def worst(steps: list[str]) -> list[int]:
    """Steps, from 1: the ends of calls from the last response on, and the start of the engine.

    The moment before a call is as good as the moment after the one before it.
    """
    last = _last(steps, "after Client.exchange") + 1
    since = [number for number in range(last, len(steps) + 1) if steps[number - 1].startswith("after")]
    return [_last(steps, "after Spool.create") + 1, _last(steps, "after ProcessLauncher.start") + 1, *since]


def kill_and_recover(bench: Bench, at: int) -> killed.Trace:
    recipe = bench.recipe(checks=["structured-json"])
    trace = killed.run(bench.directory, ["run", recipe], at)
    assert trace.exit_code == -signal.SIGKILL, (bench.directory / "output").read_text()
    ran = bench.run("--recover", "--json")
    assert ran.code == 0, ran.err
    assert "container" not in ran.err  # the run could have left none
    return trace


def require_nothing_lost(bench: Bench, trace: killed.Trace) -> None:
    bench.require_whole()
    bench.require_nothing_running()
    named = {digest for _, _, digest in bench.artifacts()}
    # A body that has just come in lies in memory alone until the step after; nothing can save that one.
    safe = trace.arrived[:-1] if _last_is_in_memory(trace) else trace.arrived
    assert set(safe) <= named
    opened = [s.header.stream for s in bench.seen() if s.header.stream_seq == 0]
    closed = [s.header.stream for s in bench.seen() if isinstance(s.event, StreamClosed)]
    abandoned = [event.abandoned for event in bench.events(StreamAbandoned)]
    assert sorted(opened) == sorted(closed + abandoned)
    launched, stopped = bench.events(LaunchStarted), bench.events(LaunchStopped)
    assert len(launched) <= 1
    assert len(stopped) <= len(launched) <= len(bench.events(LogRetained)) or not launched
    assert len(bench.events(CheckCompleted)) <= 1


def _last_is_in_memory(trace: killed.Trace) -> bool:
    """Say whether the process died before it had put its last body into the blob store."""
    since = trace.steps[_last(trace.steps, "after Client.exchange") :]
    return "after BlobStore.hold" not in since


def _last(steps: list[str], label: str) -> int:
    return max((at for at, found in enumerate(steps) if found == label), default=0)


def require_recovered_once(bench: Bench) -> None:
    before = len(bench.seen())
    again = bench.run("--recover", "--json")
    assert again.json["recovered"] == 0
    assert len(bench.seen()) == before


def try_all(benches: Benches, chosen: list[int]) -> None:
    for at in chosen:
        bench = benches(f"at{at}")
        trace = kill_and_recover(bench, at)
        try:
            require_nothing_lost(bench, trace)
            require_recovered_once(bench)
        except AssertionError as error:
            raise AssertionError(f"killed at step {at}, {trace.steps[-1]}: {error}") from error


@pytest.mark.parametrize("shard", range(SHARDS))
def test_killed_after_a_response_loses_nothing(benches: Benches, shard: int) -> None:
    try_all(benches, worst(whole_run(benches))[shard::SHARDS])


@pytest.mark.soak
@pytest.mark.parametrize("shard", range(SHARDS))
def test_killed_at_any_step_loses_nothing(benches: Benches, shard: int) -> None:
    try_all(benches, list(range(1, len(whole_run(benches)) + 1))[shard::SHARDS])


@pytest.mark.soak
def test_killed_while_recovering_begins_again(benches: Benches) -> None:
    first = benches("first")
    killed.run(first.directory, ["run", first.recipe(checks=["structured-json"])], 60)
    steps = killed.run(first.directory, ["run", "--recover"]).steps
    for at in range(1, len(steps) + 1):
        bench = benches(f"again{at}")
        trace = killed.run(bench.directory, ["run", bench.recipe(checks=["structured-json"])], 60)
        killed.run(bench.directory, ["run", "--recover"], at)
        assert bench.run("--recover").code == 0
        require_nothing_lost(bench, trace)
        require_recovered_once(bench)


def test_killed_while_recovering(benches: Benches) -> None:
    bench = benches("twice")
    recipe = bench.recipe(checks=["structured-json"])
    steps = whole_run(benches)
    at = _last(steps, "after Client.exchange") + 3  # the answer is in the blob store, no event names it
    trace = killed.run(bench.directory, ["run", recipe], at)
    for step in (8, 12, 14):
        assert killed.run(bench.directory, ["run", "--recover"], step).exit_code == -signal.SIGKILL
    assert bench.run("--recover").code == 0
    require_nothing_lost(bench, trace)
    require_recovered_once(bench)
    (event,) = bench.events(CheckCompleted)
    assert (event.selected_as, event.outcome, event.failure) == ("structured-json", "incomplete", None)


@pytest.mark.parametrize(("launcher", "is_said"), [("docker", True), ("process", False), ("attach", False)])
def test_containers_are_spoken_of_only_where_there_may_be_one(
    bench: Bench, launcher: str, is_said: bool
) -> None:
    """Nobody's container engine answers here."""
    scene = Scene()
    scene.declared()
    (declared,) = (seen.event for seen in scene.seen)
    assert isinstance(declared, RecipeDeclared)
    (attempt,) = declared.attempts
    event = declared.model_copy(update={"attempts": (attempt.model_copy(update={"launcher": launcher}),)})
    with Ledger.open(bench.ledger) as ledger:
        stream = Stream.start(ledger, ledger.signer("collector"), purpose="run")
        stream.append([Draft(event, CAMPAIGN)])
        Journal.create(bench.ledger / "runs" / "journals", stream.id).leave()
    ran = bench.run("--recover")
    assert ran.code == 0, ran.err
    assert ("no container engine answers: containers of the dead run stay" in ran.err) == is_said
    assert "Collected what 1 crashed run left." in ran.out
