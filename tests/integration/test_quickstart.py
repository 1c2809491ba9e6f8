"""`anvil run quickstart`: a real model behind a real engine answers every check that the recipe selects.

What the model answers is its own matter, and some of it is known to be wrong; what is held here is that
everything selected has a verdict, that the verdicts are of every kind, and that all bodies are kept.
All of it is one test, since one run, which keeps a core busy for more than a minute, serves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from support import quickstart
from support.browser import Browser
from support.running import Bench

from anvil.collectors.launchers import procfs
from anvil.collectors.recipes import load_recipe
from anvil.ledger.events import (
    CheckCompleted,
    DecisionRecorded,
    EngineIdentified,
    EngineReported,
    HealthObserved,
    HostObserved,
    LaunchStarted,
    LaunchStopped,
    LoadMeasured,
    LogRetained,
    RestorationChecked,
    SuiteCompleted,
    WeightsInspected,
)

TOOLS = ("tools-batch", "tools-streaming", "tool-result")


@dataclass(frozen=True)
class Run:
    """A finished run, and which checks and suites it selected."""

    bench: Bench
    selected: tuple[str, ...]
    suites: tuple[str, ...]


def run_recipe(directory: Path) -> Run:
    """Make a ledger in `directory` and run the quickstart recipe into it."""
    anvil = quickstart.anvil_in(directory)
    bench = Bench(directory, anvil)
    (attempt,) = load_recipe("quickstart").attempts
    selected = tuple(check.name for check in attempt.checks)
    assert anvil("init", "--origin", "localhost/quickstart").code == 0
    ran = anvil("run", "quickstart")
    assert ran.code == 0, ran.err
    return Run(bench, selected, tuple(suite.name for suite in attempt.suites))


@pytest.mark.long
@pytest.mark.needs("quickstart", "chromium")
def test_the_quickstart_from_recipe_to_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_recipe(tmp_path)
    # This process must know the anchor of the run's ledger, as the commands of the run did.
    monkeypatch.setenv("ANVIL_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ANVIL_KEYS", str(tmp_path / "keys"))
    require_verdicts(run)
    require_suites(run)
    require_restoration(run)
    require_bodies(run)
    require_engine_kept_and_stopped(run)
    require_weights_and_host(run)
    require_not_synthetic(run)
    require_document(run)
    require_decision(run)
    require_ladder(run)


def require_ladder(run: Run) -> None:
    """Require at each rung prompts of the length that was asked for, found in no cache, and a retrieval verdict."""
    verdicts = run.bench.verdicts()
    measured = [
        event
        for event in run.bench.events(LoadMeasured)
        if (event.kind, event.phase) == ("context-ladder", "measured")
    ]
    assert [(event.cell, event.input_target_tokens) for event in measured] == [
        ("rung-1", 1000),
        ("rung-2", 2000),
        ("rung-3", 4000),
    ]
    for event in measured:
        assert (event.outcome, event.completed, event.expected) == ("completed", 2, 2)
        assert event.cache_state == "cold"
        assert not {"prompt_size_off", "prompt_size_unknown"} & set(event.findings)
        assert verdicts[f"context-ladder.{event.cell}"][0] in ("passed", "failed")


def require_weights_and_host(run: Run) -> None:
    """Require the model file as the recipe names it, and a host that was looked at twice."""
    (weights,) = run.bench.events(WeightsInspected)
    assert (weights.files, weights.findings) == (1, ())
    assert (weights.stated_identities, weights.matched_identities) == (1, 1)
    (identity,) = run.bench.events(EngineIdentified)
    assert "chat_template" not in identity.disagreements  # the file's template is the one that is served
    assert [host.moment for host in run.bench.events(HostObserved)] == ["before", "after"]


def require_verdicts(run: Run) -> None:
    """Require a verdict for each selected check: passes, failures and prerequisites not met among them."""
    verdicts = {name: came for name, came in run.bench.verdicts().items() if "." not in name}
    assert tuple(verdicts) == run.selected
    assert {outcome for outcome, _ in verdicts.values()} >= {"passed", "failed", "incomplete"}
    assert verdicts["identity"] == ("passed", None)
    for name in ("tools-rendered", *TOOLS):
        assert verdicts[name] == ("incomplete", "tools_not_rendered")
    for name in ("retrieval-1k", "retrieval-2k"):
        assert verdicts[name][0] in ("passed", "failed")


def require_suites(run: Run) -> None:
    """Require a result of each suite that adds up; that tools are left out is no fault of the model."""
    suites = {event.selected_as: event for event in run.bench.events(SuiteCompleted)}
    assert tuple(suites) == run.suites == ("intelligence", "session", "tool")
    assert {name: suite.expected for name, suite in suites.items()} == {
        "intelligence": 6,
        "session": 3,
        "tool": 3,
    }
    for suite in suites.values():
        assert suite.required_rate == "1.0"
        assert suite.outcome != "passed" or suite.is_stable
    assert (suites["tool"].outcome, suites["tool"].failure) == ("incomplete", "tools_not_rendered")
    assert "engine_exited" not in str(suites)
    shown = run.bench.anvil("status").out
    for name, suite in suites.items():
        assert f"{suite.outcome:<12} suite {name:<18} {suite.passed}/{suite.expected}" in shown


def require_restoration(run: Run) -> None:
    """Require a gate that was recorded before the launch and passed after the stop."""
    before, after = run.bench.events(RestorationChecked)
    assert (before.gate, before.kind, before.outcome) == ("shared-memory", "memory", "recorded")
    assert (after.gate, after.outcome, after.differences) == ("shared-memory", "passed", ())
    assert after.before is not None


def require_decision(run: Run) -> None:
    """Require that host, weights, suites, restoration and a person's decision stand in one record that verifies."""
    newest = max(seen.index for seen in run.bench.seen() if isinstance(seen.event, SuiteCompleted))
    decided = run.bench.anvil(
        "decide",
        "no-promotion",
        "--rests-on",
        newest,
        "--reason",
        "So small a model is for trying anvil out.",
    )
    assert decided.code == 0, decided.err
    (decision,) = run.bench.events(DecisionRecorded)
    assert decision.verdicts == ("no-promotion",)
    kinds = {type(seen.event) for seen in run.bench.seen()}
    assert kinds >= {HostObserved, WeightsInspected, RestorationChecked, SuiteCompleted, DecisionRecorded}
    run.bench.require_whole()
    assert (
        run.bench.anvil("status").out.count("suite tool") == 2
    )  # as a result, and as what the decision rests on


def require_bodies(run: Run) -> None:
    """Require the body of each request and response in the blob store, and a ledger that verifies."""
    named = {(event, name) for event, name, _ in run.bench.artifacts()}
    for kind, of in (("check.completed", CheckCompleted), ("suite.completed", SuiteCompleted)):
        for event in run.bench.events(of):
            for request in event.requests:
                if request.http_status is not None and request.name != "models":  # a GET has no body to send
                    assert (kind, f"{request.name}.request") in named
                if request.http_status is not None:
                    assert (kind, f"{request.name}.response") in named
    run.bench.require_whole()


def require_engine_kept_and_stopped(run: Run) -> None:
    """Require an engine that was watched, identified, read, kept and stopped."""
    (health,) = run.bench.events(HealthObserved)
    assert health.is_ready
    assert health.ready_after_ns > 0
    (identity,) = run.bench.events(EngineIdentified)
    assert identity.served_name_matches
    (report,) = run.bench.events(EngineReported)
    assert "kv_capacity_tokens" in {figure.name for figure in report.figures}
    logs = run.bench.events(LogRetained)
    assert logs
    for log in logs:
        assert log.seen_bytes >= log.kept_bytes > 0
    (stopped,) = run.bench.events(LaunchStopped)
    assert (stopped.how, stopped.is_removed) == ("asked", True)
    (started,) = run.bench.events(LaunchStarted)
    port = int(started.argv[started.argv.index("--port") + 1])
    assert procfs.port_holder(port) is None
    run.bench.require_nothing_running()


def require_document(run: Run) -> None:
    """Require a document of what failed, all of it on complete evidence, and a page of it."""
    drawn = run.bench.anvil("render", "candidate-failure.v1")
    assert drawn.code == 0, drawn.err
    (attempt,) = drawn.json["attempts"]
    assert attempt["evidence_status"] == "retained-complete"
    assert attempt["health"] == 200
    assert "tools-batch 0/4 incomplete (tools_not_rendered)" in attempt["preflight_no_thinking"]
    assert "coding 0/2 failed" in attempt["failure"]
    assert drawn.json["evidence_limit"].startswith("No decision is recorded. Incomplete, of attempt 1: ")
    page = run.bench.anvil("render", "candidate-failure.v1", "--format", "html").out
    place = run.bench.directory / "candidate-failure.html"
    place.write_text(page, encoding="utf-8")
    for dark in (False, True):
        seen = Browser(run.bench.directory).measured(place, (360, 1280), dark=dark)
        assert seen["complaints"] == []
        for width, found in zip((360, 1280), seen["frames"], strict=True):
            assert (found["asked_for"], found["poor"], found["lost"]) == ([], [], 0)
            assert found["scroll_width"] <= width


def require_not_synthetic(run: Run) -> None:
    """Require that nothing of a real run is marked as made up."""
    opened = [seen.event for seen in run.bench.seen() if seen.header.event == "stream.opened/1"]
    assert opened
    assert not any(event.synthetic for event in opened)  # type: ignore[union-attr]
