"""Engines that exit, never answer, break off, shout or talk nonsense: each leaves its events and its log."""

from __future__ import annotations

import socket

import pytest
from support.endpoint import Chat, Reply, Server
from support.running import Bench

from anvil.collectors.launchers.logs import DEFAULT_LIMITS
from anvil.ledger.events import (
    CheckCompleted,
    EngineExited,
    HealthObserved,
    LaunchStopped,
    LogRetained,
)

EXITED = ("incomplete", "engine_exited")


def test_an_engine_that_exits_at_start_leaves_its_log_and_its_exit(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="traceback")).code == 0
    assert bench.types() == [
        [
            "stream.opened",
            "recipe.declared",
            "host.observed",
            "launch.started",
            "health.observed",
            "check.completed",
            "check.completed",
            "log.retained",
            "log.excerpted",
            "engine.exited",
            "launch.stopped",
            "host.observed",
            "stream.closed",
        ]
    ]
    assert bench.verdicts() == {"identity": EXITED, "structured-json": EXITED}
    (exited,) = bench.events(EngineExited)
    assert (exited.exit_code, exited.before_ready) == (1, True)
    assert exited.last_lines[-1] == "RuntimeError: the weights do not fit"
    assert b"RuntimeError: the weights do not fit" in bench.body("log")
    (stopped,) = bench.events(LaunchStopped)
    assert (stopped.how, stopped.exit_code, stopped.is_removed) == ("exited_before", 1, True)
    bench.require_whole()


def test_an_engine_that_never_becomes_ready(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="deaf", ready_s=1)).code == 0
    (health,) = bench.events(HealthObserved)
    assert (health.health, health.is_ready) == ("unreachable", False)
    assert set(bench.verdicts().values()) == {("incomplete", "prerequisite_failed")}
    (stopped,) = bench.events(LaunchStopped)
    assert stopped.how == "asked"
    assert not bench.events(EngineExited)
    bench.require_nothing_running()


def test_an_engine_that_dies_in_the_middle_of_a_check(bench: Bench) -> None:
    """Two requests make it ready and identified; the third is the first of a check."""
    assert bench.run(bench.recipe(behave="dies", checks=["structured-json", "coding", "finish"])).code == 0
    assert bench.verdicts() == {"structured-json": EXITED, "coding": EXITED, "finish": EXITED}
    (exited,) = bench.events(EngineExited)
    assert (exited.exit_code, exited.before_ready) == (7, False)
    assert "fatal: the GPU has fallen off the bus" in exited.last_lines
    assert {n for k, n, _ in bench.artifacts() if k == "check.completed"} == {"object.request"}
    bench.require_whole()


def test_endless_logs_are_cut_and_the_cut_is_stated(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="shouts", checks=["structured-json"])).code == 0
    log = bench.events(LogRetained)[-1]
    limit = DEFAULT_LIMITS.head_bytes + DEFAULT_LIMITS.tail_bytes
    assert log.seen_bytes > limit >= log.kept_bytes
    assert not log.is_whole
    kept = bench.body("log")
    assert f"[anvil: {log.seen_bytes - log.kept_bytes} bytes were cut here]".encode() in kept
    assert kept.endswith(b"goodbye\n")
    bench.require_whole()


def test_healthy_and_nonsense_is_a_result(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="nonsense", checks=["structured-json"])).code == 0
    (health,) = bench.events(HealthObserved)
    assert health.is_ready
    outcome, failure = bench.verdicts()["structured-json"]
    assert outcome == "failed"
    assert failure is not None
    assert b"blue blue blue" in bench.body("object.response")


def test_an_endpoint_that_misbehaves_for_one_check_is_fine_for_the_next(bench: Bench) -> None:
    with Server(chat=fails_json) as server:
        ran = bench.run(
            bench.recipe(checks=["structured-json", "reasoning-leak", "finish"]),
            "--base-url",
            server.base_url,
        )
    assert ran.code == 0, ran.err
    found = bench.verdicts()
    assert found["structured-json"] == ("failed", "http_error")
    assert found["finish"][1] != "http_error"
    assert b"<html>out of memory</html>" in bench.body("object.response")
    event = next(e for e in bench.events(CheckCompleted) if e.selected_as == "structured-json")
    assert "500" in str(event.messages) or "out of memory" in str(event.messages)


def test_an_answer_that_is_no_token_is_said_to_be_one(bench: Bench) -> None:
    """No deadline passed, and neither the narration nor the record says that one did."""
    with Server(chat=lambda payload: Reply(b"\xff\xfe\x00garbage")) as server:
        ran = bench.run(bench.recipe(checks=["structured-json"]), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    assert "the engine answered, and not with a token (status 200, malformed_body); health reached" in ran.err
    assert "deadline" not in ran.err
    assert bench.verdicts() == {"structured-json": ("incomplete", "prerequisite_failed")}
    (event,) = bench.events(CheckCompleted)
    assert "the engine answered, and not with a token (status 200, malformed_body): " in str(event.messages)
    assert "deadline" not in str(event.messages)
    shown = bench.anvil("--ledger", bench.ledger, "status").out
    assert "attempt a1: answered, and not with a token\n" in shown


def fails_json(payload: dict[str, object]) -> Chat | Reply:
    """A model that fails whoever asks for JSON."""
    if "JSON" in str(payload["messages"]):
        return Reply(b"<html>out of memory</html>", status=500, content_type="text/html")
    return Chat(content="fine")


def test_a_port_that_is_taken_starts_nothing_and_says_by_what(bench: Bench) -> None:
    recipe = bench.recipe(behave={"a1": "serve", "a2": "serve"})
    before = len(bench.seen())
    with socket.create_server(("127.0.0.1", bench.ports["a2"])):
        ran = bench.run(recipe)
    assert ran.code == 1
    assert f"attempt 'a2' was not started: port {bench.ports['a2']} is held by" in ran.err
    assert len(bench.seen()) == before
    bench.require_nothing_running()


def test_a_variable_that_is_not_set_starts_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_ENGINE_KEY", raising=False)
    recipe = bench.recipe(lines='[engines.a1.endpoint]\napi_key_env = "MY_ENGINE_KEY"\n')
    before = len(bench.seen())
    ran = bench.run(recipe)
    assert ran.code == 1
    assert "MY_ENGINE_KEY" in ran.err
    assert len(bench.seen()) == before
