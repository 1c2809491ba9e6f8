"""An engine that cannot be launched ends its own attempt, with the reason on record, and not the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.running import Bench

from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.collectors.launchers.process import ProcessLauncher
from anvil.ledger.events import CheckCompleted, LaunchFailed, LaunchStarted, StreamClosed

LOST = ("incomplete", "prerequisite_failed")


def without_program(path: Path, *attempts: str) -> Path:
    """Make the engines of some attempts name a program that is not there."""
    text = path.read_text()
    for attempt in attempts:
        before, block, after = text.partition(f"[engines.{attempt}]")
        text = before + block + after.replace("'{python}'", "'/nowhere/python'", 1)
    path.write_text(text)
    return path


def closed(bench: Bench) -> list[tuple[str, str | None]]:
    return [(event.outcome, event.reason) for event in bench.events(StreamClosed)][1:]


def test_the_run_goes_on_with_the_next_attempt(bench: Bench) -> None:
    behave = dict.fromkeys(("a1", "a2", "a3"), "serve")
    recipe = without_program(bench.recipe(behave=behave, checks=["structured-json"]), "a2")
    ran = bench.run(recipe)
    assert ran.code == 0, ran.err
    assert "but for a2, which could not be launched" in ran.out
    assert "'/nowhere/python' could not be started: No such file" in ran.err
    assert bench.verdicts("a2") == {"structured-json": LOST}
    assert {bench.verdicts(key)["structured-json"][0] for key in ("a1", "a3")} == {"failed"}
    assert closed(bench) == [("completed", None), ("aborted", "launch_failed"), ("completed", None)]
    (failed,) = bench.events(LaunchFailed)
    assert (failed.launcher, failed.failure) == ("process", "not_found")
    assert "'/nowhere/python' could not be started" in failed.detail
    shown = bench.anvil("--ledger", bench.ledger, "status").out
    assert "attempt a2: could not be launched: not_found" in shown
    bench.require_whole()
    bench.require_nothing_running()  # no journal either: nothing is left to name


def test_for_programs_it_is_listed(bench: Bench) -> None:
    recipe = bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=[])
    ran = bench.run(without_program(recipe, "a1"), "--json")
    assert ran.json["not_launched"] == ["a1"]
    assert len(ran.json["streams"]) == 2


def test_the_reason_is_kept_where_no_check_was_selected(bench: Bench) -> None:
    assert bench.run(without_program(bench.recipe(checks=[]), "a1")).code == 1
    assert bench.events(LaunchFailed)[0].failure == "not_found"


def test_a_run_in_which_nothing_was_launched_is_not_done(bench: Bench) -> None:
    ran = bench.run(without_program(bench.recipe(), "a1"))
    assert ran.code == 1
    assert "Error: '/nowhere/python' could not be started" in ran.err
    assert set(bench.verdicts().values()) == {LOST}
    assert "could not be started" in str(bench.events(CheckCompleted)[0].messages)
    assert closed(bench) == [("aborted", "launch_failed")]
    assert bench.run("--recover", "--json").json["recovered"] == 0
    several = without_program(bench.recipe(behave={"a1": "serve", "a2": "serve"}), "a1", "a2")
    assert "no attempt could be launched; the first: '/nowhere" in bench.run(several).err
    bench.require_whole()
    bench.require_nothing_running()


def test_one_of_two_lanes(bench: Bench) -> None:
    path = without_program(
        bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=["structured-json"]), "a1"
    )
    text = path.read_text()
    for key in ("a1", "a2"):
        text = text.replace(
            f'key = "{key}"\n', f'key = "{key}"\nside_by_side = "both"\nplacement = "{key}"\n'
        )
    path.write_text(text)
    lines = (f"[placements.{key}]\nport = {port}\n" for key, port in bench.ports.items())
    (bench.directory / "anvil-site.toml").write_text("".join(lines))
    assert bench.run(path).code == 0
    assert bench.verdicts("a1") == {"structured-json": LOST}
    assert bench.verdicts("a2")["structured-json"][0] == "failed"
    assert bench.events(LaunchFailed)[0].placement == "a1"


def test_a_port_that_is_taken_meanwhile(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def occupied(_self: ProcessLauncher, plan: object) -> str | None:
        asked.append(plan)
        return "port 1 is held by cuckoo (process 7)" if len(asked) == 4 else None

    monkeypatch.setattr(ProcessLauncher, "occupied", occupied)
    ran = bench.run(bench.recipe(behave=dict.fromkeys(("a1", "a2"), "serve"), checks=["structured-json"]))
    assert ran.code == 0
    assert "attempt 'a2' was not started: port 1 is held by cuckoo (process 7). Stop what holds it" in ran.err
    assert bench.events(LaunchFailed)[0].failure == "occupied"
    assert bench.verdicts("a2") == {"structured-json": LOST}


def test_without_a_container_engine_the_run_ends(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be the same for every attempt that follows."""

    async def start(_self: ProcessLauncher, plan: object) -> None:
        raise EngineUnreachable("the container engine cannot be reached", advice="Start it.")

    monkeypatch.setattr(ProcessLauncher, "start", start)
    ran = bench.run(bench.recipe(behave=dict.fromkeys(("a1", "a2"), "serve"), checks=["structured-json"]))
    assert ran.code == 1
    assert ran.err.splitlines()[-2:] == ["Error: the container engine cannot be reached", "  Start it."]
    assert [event.failure for event in bench.events(LaunchFailed)] == ["no_container_engine"]
    assert bench.verdicts("a1") == {"structured-json": LOST}
    assert bench.verdicts("a2") == {}
    assert closed(bench) == [("aborted", "failed")]
    assert bench.events(LaunchStarted) == []
