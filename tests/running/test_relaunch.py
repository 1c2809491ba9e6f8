"""`on_exit = "relaunch"`: an engine that ended by itself is launched once more, and nothing of the end is hidden."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from support import killed
from support.endpoint import Server
from support.running import Bench

from anvil.collectors.launchers.process import ProcessLauncher
from anvil.ledger.events import (
    EngineExited,
    LaunchFailed,
    LaunchStarted,
    LaunchStopped,
    LogRetained,
    StreamClosed,
)

RELAUNCH = 'on_exit = "relaunch"\n'
CHECKS = ("structured-json", "coding", "finish")
EXITED = ("incomplete", "engine_exited")


def relaunching(bench: Bench, behave: str, checks: tuple[str, ...] = CHECKS) -> Path:
    argv = ["--into", str(bench.directory / "died")]
    path = bench.recipe(behave=behave, checks=checks, argv=argv if behave == "dies-once" else ())
    path.write_text(path.read_text().replace("about =", f"{RELAUNCH}about =", 1))
    return path


def test_the_second_launch_goes_on_with_what_is_left(bench: Bench) -> None:
    ran = bench.run(relaunching(bench, "dies-once"))
    assert ran.code == 0, ran.err
    one_launch = ["launch.started", "health.observed", "engine.identified"]
    assert bench.types() == [
        [
            "stream.opened",
            "recipe.declared",
            "host.observed",
            *one_launch,
            "check.completed",
            "log.retained",
            "log.excerpted",
            "engine.exited",
            "launch.stopped",
            *one_launch,
            "check.completed",
            "check.completed",
            "log.retained",
            "log.excerpted",
            "log.retained",
            "launch.stopped",
            "host.observed",
            "stream.closed",
        ]
    ]
    found = bench.verdicts()
    assert found.pop("structured-json") == EXITED  # it is not asked again until it passes
    assert "engine_exited" not in str(found)
    assert [event.how for event in bench.events(LaunchStopped)] == ["exited_before", "asked"]
    first, second = (event.identity for event in bench.events(LaunchStarted))
    assert first != second
    shown = bench.anvil("--ledger", bench.ledger, "status")
    assert "attempt a1 (launch 2): done" in shown.out
    assert "structured-json          0/1  engine_exited" in shown.out
    bench.require_whole()
    bench.require_nothing_running()


def test_it_is_launched_once_more_and_not_for_ever(bench: Bench) -> None:
    assert bench.run(relaunching(bench, "dies")).code == 0
    assert bench.verdicts() == dict.fromkeys(CHECKS, EXITED)
    assert len(bench.events(LaunchStarted)) == len(bench.events(EngineExited)) == 2
    assert bench.events(StreamClosed)[-1].outcome == "completed"
    bench.require_nothing_running()


@pytest.mark.parametrize("checks", [CHECKS, ()])
def test_one_that_ends_before_it_is_ready(bench: Bench, checks: tuple[str, ...]) -> None:
    assert bench.run(relaunching(bench, "traceback", checks)).code == 0
    assert [event.before_ready for event in bench.events(EngineExited)] == [True, True]
    assert bench.verdicts() == dict.fromkeys(checks, EXITED)


def test_one_that_ends_after_its_last_check_is_not(bench: Bench) -> None:
    assert bench.run(relaunching(bench, "dies", ("structured-json",))).code == 0
    assert len(bench.events(LaunchStarted)) == 1


def test_what_was_never_launched_is_not_relaunched(bench: Bench) -> None:
    with Server(model="org/tiny") as server:
        server.refuse_connections()
        recipe = relaunching(bench, "serve")
        recipe.write_text(recipe.read_text().replace("ready_s = 20", "ready_s = 1"))
        assert bench.run(recipe, "--base-url", server.base_url).code == 0
    assert len(bench.events(LaunchStarted)) == 1


def test_a_port_that_somebody_took_meanwhile(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def occupied(_self: ProcessLauncher, plan: object) -> str | None:
        asked.append(plan)
        return "port 1 is held by cuckoo (process 7)" if len(asked) == 3 else None

    monkeypatch.setattr(ProcessLauncher, "occupied", occupied)
    ran = bench.run(relaunching(bench, "dies-once"))
    assert ran.code == 0
    assert "was not launched once more: port 1 is held by cuckoo" in ran.err
    assert bench.events(LaunchFailed)[0].failure == "occupied"
    assert bench.events(StreamClosed)[-1].outcome == "completed"
    shown = bench.anvil("--ledger", bench.ledger, "status").out
    assert "attempt a1: could not be launched once more: occupied" in shown
    lost = ("incomplete", "prerequisite_failed")
    assert bench.verdicts() == {"structured-json": EXITED, "coding": lost, "finish": lost}
    bench.require_whole()


def test_killed_after_the_second_launch(benches: Callable[[str], Bench]) -> None:
    """The second launch, of which no event tells yet, is told of by whoever collects it."""
    whole = benches("whole")
    steps = killed.run(whole.directory, ["run", relaunching(whole, "dies-once")]).steps
    starts = [at for at, step in enumerate(steps, 1) if step == "after ProcessLauncher.start"]
    bench = benches("killed")
    trace = killed.run(bench.directory, ["run", relaunching(bench, "dies-once")], starts[1])
    assert trace.exit_code == -signal.SIGKILL
    assert len(bench.events(LaunchStarted)) == 1
    assert bench.run("--recover").code == 0
    assert len(bench.events(LaunchStarted)) == len(bench.events(LaunchStopped)) == 2
    assert [event.is_recovered for event in bench.events(LaunchStopped)] == [False, True]
    assert len(bench.events(LogRetained)) >= 2
    bench.require_whole()
    bench.require_nothing_running()
