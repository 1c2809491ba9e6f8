"""A whole run: every step an event, in order, and every body named."""

from __future__ import annotations

import json

from support.endpoint import Server
from support.running import Bench

from anvil.ledger.events import (
    EngineExited,
    HostObserved,
    LaunchStarted,
    LaunchStopped,
    LogRetained,
    RecipeDeclared,
)

ORDER = [
    "stream.opened",
    "recipe.declared",
    "host.observed",
    "launch.started",
    "health.observed",
    "engine.identified",
    "check.completed",
    "check.completed",
    "log.retained",
    "log.excerpted",
    "log.retained",
    "launch.stopped",
    "host.observed",
    "stream.closed",
]


def test_the_order_of_a_run(bench: Bench) -> None:
    ran = bench.run(bench.recipe())
    assert ran.code == 0, ran.err
    assert bench.types() == [ORDER]
    assert set(bench.verdicts()) == {"identity", "structured-json"}
    assert [e.how for e in bench.events(LaunchStopped)] == ["asked"]
    bench.require_whole()
    bench.require_nothing_running()


def test_an_engine_with_a_reader_reports_after_it_is_identified(bench: Bench) -> None:
    assert bench.run(bench.recipe(engine="vllm", lines='version = "1.2.3"\n')).code == 0
    expected = [*ORDER[:6], "engine.reported", *ORDER[6:]]
    assert bench.types() == [expected]
    assert b"listening on" in bench.body("startup-log")


def test_bodies_are_named_whole_by_their_checks(bench: Bench) -> None:
    assert bench.run(bench.recipe(checks=["structured-json"])).code == 0
    names = {name for kind, name, _ in bench.artifacts() if kind == "check.completed"}
    assert names == {"object.request", "object.response"}
    assert json.loads(bench.body("object.response"))["choices"][0]["message"]["content"] == "four"
    assert {n for k, n, _ in bench.artifacts() if k == "log.retained"} == {"log", "inspect"}


def test_what_the_engine_writes_while_it_ends_is_kept_too(bench: Bench) -> None:
    assert bench.run(bench.recipe(behave="last-words", checks=[])).code == 0
    before, after = bench.events(LogRetained)
    assert after.seen_bytes > before.seen_bytes
    assert bench.body("log").endswith(b"goodbye\n")


def test_only_selects_by_id_or_key_and_the_rest_is_absent(bench: Bench) -> None:
    recipe = bench.recipe(checks=["identity"], more='[[checks]]\nid = "finish"\nkey = "ends"\n')
    assert bench.run(recipe, "--only", "ends").code == 0
    assert list(bench.verdicts()) == ["ends"]
    (declared,) = bench.events(RecipeDeclared)
    assert declared.attempts[0].checks == ("ends",)


def test_attempt_and_campaign(bench: Bench) -> None:
    recipe = bench.recipe(behave={"a1": "serve", "a2": "serve"}, checks=["identity"])
    assert bench.run(recipe, "--attempt", "a2", "--campaign", "other").code == 0
    about = [s.header.subject for s in bench.seen() if isinstance(s.event, LaunchStarted)]
    assert [(s.campaign, s.candidate, s.attempt) for s in about] == [("other", "tiny", "a2")]


def test_attempts_follow_one_another_each_in_its_stream(bench: Bench) -> None:
    recipe = bench.recipe(behave={"a1": "traceback", "a2": "serve"}, checks=["identity"])
    assert bench.run(recipe).code == 0
    assert len(bench.types()) == 2
    assert bench.verdicts("a1") == {"identity": ("incomplete", "engine_exited")}
    assert bench.verdicts("a2")["identity"][0] != "incomplete"
    assert len(bench.events(EngineExited)) == 1


def test_base_url_launches_and_stops_nothing(bench: Bench) -> None:
    with Server() as server:
        ran = bench.run(bench.recipe(), "--base-url", server.base_url, "--json")
        assert ran.code == 0, ran.err
        assert server.requests
    assert len(ran.json["streams"]) == 1
    (started,) = bench.events(LaunchStarted)
    assert (started.launcher, started.has_launch_evidence) == ("attach", False)
    (stopped,) = bench.events(LaunchStopped)
    assert (stopped.how, stopped.is_removed) == ("left_running", False)
    bench.require_whole()


def test_misuse_is_told_and_records_nothing(bench: Bench) -> None:
    recipe = bench.recipe(behave={"a1": "serve", "a2": "serve"})
    before = len(bench.seen())
    for arguments in (
        (),
        (recipe, "--only", "nonsense"),
        (recipe, "--attempt", "a9"),
        (recipe, "--base-url", "http://127.0.0.1:9"),
        (recipe, "--campaign", "Not a label"),
    ):
        assert bench.run(*arguments).code == 2, arguments
    assert bench.run("no-such-recipe").code == 1
    assert len(bench.seen()) == before


def test_the_host_is_looked_at_before_and_after(bench: Bench) -> None:
    assert bench.run(bench.recipe(checks=[])).code == 0
    before, after = bench.events(HostObserved)
    assert (before.moment, after.moment) == ("before", "after")
    assert before.memory_bytes == after.memory_bytes
    reasons = {item.field: item.reason for item in before.absent}
    assert reasons["container_engine"] == "container-engine-unreachable"  # nothing listens where it is sought
    assert json.loads(bench.body("host"))["schema"] == "anvil.host/1"
