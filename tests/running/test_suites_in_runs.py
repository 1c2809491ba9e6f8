"""Suites as steps of a run: after the checks, kept whole, narrated, and one event each whatever happens."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable

import pytest
from support import killed
from support.interrupting import interrupt
from support.running import Bench
from support.suitefile import GOOD

from anvil.ledger.events import (
    LaunchStarted,
    RecipeDeclared,
    StreamClosed,
    SuiteCompleted,
)

SESSION = '[[suites]]\nid = "session"\n'
INTELLIGENCE = '[[suites]]\nid = "intelligence"\n'
HOUSE = '[[suites]]\nid = "house"\nfile = "house.toml"\nkey = "ours"\n'
EXITED = ("incomplete", "engine_exited")


def suites(bench: Bench) -> dict[str, tuple[str, str | None]]:
    """Outcome and failure of each suite; each must have left exactly one event."""
    found: dict[str, tuple[str, str | None]] = {}
    for event in bench.events(SuiteCompleted):
        assert event.selected_as not in found, f"{event.selected_as} has two results"
        found[event.selected_as] = (event.outcome, event.failure)
    return found


def status(bench: Bench) -> str:
    return bench.anvil("--ledger", bench.ledger, "status").out  # type: ignore[no-any-return]


def test_suites_run_after_the_checks_and_their_bodies_are_kept(bench: Bench) -> None:
    (bench.directory / "house.toml").write_text(GOOD)
    ran = bench.run(bench.recipe(checks=["identity"], more=SESSION + HOUSE))
    assert ran.code == 0, ran.err
    (types,) = bench.types()
    results = [kind for kind in types if kind.endswith(".completed")]
    assert results == ["check.completed", "suite.completed", "suite.completed"]
    assert suites(bench) == {"session": ("failed", "wrong_value"), "ours": ("failed", "no_call")}
    house = bench.events(SuiteCompleted)[1]
    assert (house.suite, house.selected_as, house.version, house.purpose) == ("house", "ours", 2, "ranking")
    assert bench.body("suite") == GOOD.encode()
    assert house.digest in {digest for _, name, digest in bench.artifacts() if name == "suite"}
    sent = json.loads(bench.body("recall.2.3.request"))
    assert sent["messages"][1] == {"role": "assistant", "content": "four"}  # the model's own words go back
    (declared,) = bench.events(RecipeDeclared)
    assert declared.attempts[0].suites == ("session", "ours")
    assert "failed       session                  0/3  not stable at 1.0  wrong_value" in ran.err
    bench.require_whole()
    bench.require_nothing_running()


def test_status_shows_counts_and_the_word_with_its_rate(bench: Bench) -> None:
    multimodal = '[[suites]]\nid = "multimodal"\nrepetitions = 1\n'
    rated = '[[suites]]\nid = "session"\nkey = "rated"\nrequired_rate = "0.5"\n'
    ran = bench.run(bench.recipe(checks=["identity"], more=rated + multimodal))
    assert ran.code == 0, ran.err
    shown = status(bench)
    assert "failed       suite rated              0/3  not stable at 0.5  wrong_value" in shown
    assert "suite multimodal         1/15  not stable at 1.0  image 1/6, video 0/7, mixed 0/2" in shown
    found = bench.anvil("--ledger", bench.ledger, "status", "--json").json
    run = found["campaigns"][0]["attempts"]["a1"][0]
    assert run["suites"]["rated"]["items"]["recall"] == {
        "modality": "text", "repetitions": 3, "passed": 0, "incomplete": 0, "failure": "wrong_value", "is_stable": False,
    }  # fmt: skip
    assert run["suites"]["multimodal"]["modalities"]["video"] == {"passed": 0, "expected": 7}
    assert run["incomplete_suites"] == {}


def test_only_selects_suites_too(bench: Bench) -> None:
    recipe = bench.recipe(checks=["identity"], more=SESSION + INTELLIGENCE)
    assert bench.run(recipe, "--only", "session").code == 0
    assert bench.verdicts() == {}
    assert set(suites(bench)) == {"session"}
    refused = bench.run(recipe, "--only", "wisdom")
    assert refused.code == 2
    assert "identity, session, intelligence" in refused.err


def test_a_recipe_with_a_bad_suite_is_refused_before_anything_is_launched(bench: Bench) -> None:
    recipe = bench.recipe(more='[[suites]]\nid = "wisdom"\n')
    line = recipe.read_text()[: recipe.read_text().index('id = "wisdom"')].count("\n") + 1
    for ran in (bench.run(recipe), bench.anvil("recipe", "check", recipe)):
        assert ran.code == 1
        assert f"mine.toml:{line}: there is no suite 'wisdom'. One of intelligence, session" in ran.err
    assert bench.events(LaunchStarted) == []


# --- misfortunes -----------------------------------------------------------------------------------------


def test_an_engine_that_ends_in_a_suite_leaves_it_and_the_next_incomplete(bench: Bench) -> None:
    ran = bench.run(bench.recipe(behave="dies", checks=[], more=SESSION + INTELLIGENCE))
    assert ran.code == 0, ran.err
    assert suites(bench) == {"session": EXITED, "intelligence": EXITED}
    first, second = bench.events(SuiteCompleted)
    assert (first.items[0].passed, first.items[0].incomplete, first.items[0].is_stable) == (0, 3, None)
    assert second.requests == ()
    assert "the engine had ended by itself" in str(second.messages)
    assert (
        "incomplete   suite session            0/3  undetermined at 1.0  3 incomplete  engine_exited"
        in status(bench)
    )
    bench.require_whole()


def test_an_engine_that_is_launched_once_more_goes_on_with_the_next_suite(bench: Bench) -> None:
    path = bench.recipe(
        behave="dies-once",
        checks=[],
        more=SESSION + INTELLIGENCE,
        argv=["--into", str(bench.directory / "died")],
    )
    path.write_text(path.read_text().replace("about =", 'on_exit = "relaunch"\nabout =', 1))
    assert bench.run(path).code == 0
    found = suites(bench)
    assert found["session"] == EXITED
    assert found["intelligence"][0] == "failed"
    assert len(bench.events(LaunchStarted)) == 2


def test_an_engine_that_is_never_ready_leaves_each_suite_incomplete(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="traceback", checks=["identity"], more=SESSION)).code == 0
    assert suites(bench) == {"session": EXITED}


def test_an_engine_that_cannot_be_launched_leaves_each_suite_incomplete(bench: Bench) -> None:
    path = bench.recipe(checks=["identity"], more=SESSION)
    path.write_text(path.read_text().replace("'{python}'", "'/no/such/program'"))
    assert bench.run(path).code == 1
    assert suites(bench) == {"session": ("incomplete", "prerequisite_failed")}
    assert bench.events(SuiteCompleted)[0].expected == 3


def test_an_interrupt_names_what_had_come_back(bench: Bench) -> None:
    interrupt(
        bench, "a1: suite session", signal.SIGINT, behave="hangs", checks=[], more=SESSION + INTELLIGENCE
    )
    (event,) = bench.events(SuiteCompleted)
    assert (event.outcome, event.failure, event.passed, event.expected) == ("incomplete", None, 0, 3)
    named = {name for kind, name, _ in bench.artifacts() if kind == "suite.completed"}
    assert {"recall.1.1.request"} <= named
    closed = bench.events(StreamClosed)[-1]
    assert (closed.outcome, closed.reason) == ("aborted", "interrupted")
    bench.require_whole()
    bench.require_nothing_running()
    shown = status(bench)
    assert "suite session            0/3  undetermined at 1.0  3 incomplete  aborted" in shown
    assert "incomplete   suite intelligence       -   aborted" in shown


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_that_is_killed_in_a_suite_loses_no_body(benches: Callable[[str], Bench], number: int) -> None:
    recipe = {"checks": [], "more": SESSION}
    whole = benches("whole")
    trace = killed.run(whole.directory, ["run", whole.recipe(**recipe)])  # type: ignore[arg-type]
    assert trace.exit_code == 0, (whole.directory / "output").read_text()
    responses = [at for at, step in enumerate(trace.steps) if step.startswith("after Client.exchange")]
    # The last three turns, each killed after its response was noted and kept.
    kept = next(
        at
        for at in range(responses[-number], len(trace.steps))
        if trace.steps[at].startswith("after BlobStore.hold")
    )
    bench = benches("killed")
    assert killed.run(bench.directory, ["run", bench.recipe(**recipe)], kept + 1).exit_code == -signal.SIGKILL  # type: ignore[arg-type]
    assert bench.run("--recover").code == 0
    bench.require_whole()
    bench.require_nothing_running()
    (event,) = bench.events(SuiteCompleted)
    assert (event.suite, event.selected_as, event.outcome) == ("session", "session", "incomplete")
    assert (event.items, event.required_rate, event.version) == ((), None, None)
    named = {name for kind, name, _ in bench.artifacts() if kind == "suite.completed"}
    assert {"recall.1.1.request", "recall.1.1.response"} <= named
    assert "suite session            0/0  recording_lost" in status(bench)


def test_a_run_that_is_gone_on_with_repeats_no_suite_that_was_finished(bench: Bench) -> None:
    (bench.directory / "house.toml").write_text(GOOD)
    interrupt(bench, "a1: suite ours", signal.SIGINT, behave="ponders", checks=[], more=SESSION + HOUSE)
    assert [event.selected_as for event in bench.events(SuiteCompleted)][:1] == ["session"]
    (bench.directory / "house.toml").unlink()  # the run kept it
    (old,) = (seen.header.stream for seen in bench.seen() if isinstance(seen.event, RecipeDeclared))
    ran = bench.run("--resume", old)
    assert ran.code == 0, ran.err
    assert "0 checks, 1 suite and 0 cells left" in ran.err
    assert [event.selected_as for event in bench.events(SuiteCompleted)] == ["session", "ours", "ours"]
    assert bench.events(SuiteCompleted)[-1].outcome == "failed"
    bench.require_whole()
