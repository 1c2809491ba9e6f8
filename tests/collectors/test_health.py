"""Health and readiness, against a server of ours: the closed vocabulary, what is waited for, the cap's field."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from support.checking import MemoryRecorder
from support.endpoint import HANG, RESET, Chat, Reply, Server

from anvil.collectors.client import Client
from anvil.collectors.health import Health, observe_health, retry_after_s
from anvil.collectors.interface import Deadlines, Endpoint
from anvil.ledger.clock import system_clock

SECOND = 1_000_000_000


def observed(
    base_url: str, *, within_s: float = 5.0, has_exited: Callable[[], bool] = lambda: False
) -> Health:
    async def run() -> Health:
        async def exited() -> bool:
            return has_exited()

        started = time.monotonic_ns()
        limits = Deadlines(connect_s=2, first_byte_s=within_s, idle_s=1)
        async with Client(Endpoint(base_url, "m"), deadlines=limits) as client:
            return await observe_health(
                client,
                MemoryRecorder(),
                model="m",
                started_ns=started,
                deadline_ns=started + int(within_s * SECOND),
                has_exited=exited,
            )

    return asyncio.run(run())


def one_token(payload: dict[str, Any]) -> Chat:
    return Chat(content="one", completion_tokens=1, finish_reason="length")


def test_ready_is_one_token_with_the_newer_field() -> None:
    with Server(chat=one_token) as server:
        health = observed(server.base_url)
    event = health.event
    assert (event.health, event.http_status, event.is_ready, event.cap_field) == (
        "reached", 200, True, "max_completion_tokens",
    )  # fmt: skip
    assert event.ready_after_ns is not None
    assert 0 < event.ready_after_ns < 5 * SECOND
    assert event.detail is None
    assert [item.name for item in health.attachments] == ["health_response", "ready_response"]
    asked = server.requests[-1].json
    assert (asked["model"], asked["max_completion_tokens"], "max_tokens" in asked) == ("m", 1, False)


def test_a_field_that_is_refused_gives_way_to_the_other() -> None:
    def chat(payload: dict[str, Any]) -> Chat | Reply:
        if "max_completion_tokens" in payload:
            return Reply.of_json({"error": {"message": "unknown field max_completion_tokens"}}, 400)
        return one_token(payload)

    with Server(chat=chat) as server:
        health = observed(server.base_url)
    assert health.is_ready
    assert health.cap_field == "max_tokens"
    assert "unknown field" in str(health.event.detail)


def test_a_field_that_is_ignored_gives_way_to_the_other() -> None:
    def chat(payload: dict[str, Any]) -> Chat:
        return (
            one_token(payload)
            if "max_tokens" in payload
            else Chat(content="one two three", completion_tokens=3)
        )

    with Server(chat=chat) as server:
        health = observed(server.base_url)
    assert health.cap_field == "max_tokens"
    assert "let 3 tokens through" in str(health.event.detail)


def test_an_endpoint_that_honours_neither_field_is_ready_all_the_same() -> None:
    with Server(chat=lambda payload: Chat(content="one two", completion_tokens=2)) as server:
        health = observed(server.base_url)
    assert (health.is_ready, health.cap_field) == (True, "neither")


def test_healthy_is_not_ready() -> None:
    with Server(chat=lambda payload: Reply.of_json({"error": "no"}, 500)) as server:
        health = observed(server.base_url)
        asked = [request.path for request in server.requests]
    event = health.event
    assert (event.health, event.http_status, event.is_ready, event.cap_field) == ("reached", 200, False, None)
    assert event.ready_after_ns is None
    assert "HTTP 500" in str(event.detail)
    # A 500 is an observation, not something to be tried again.
    assert asked == ["/health", "/v1/chat/completions"]


def test_a_200_with_an_error_in_it_is_not_a_token() -> None:
    with Server(chat=lambda payload: {"error": {"message": "the model is confused"}}) as server:
        health = observed(server.base_url)
    assert not health.is_ready
    assert "the model is confused" in str(health.event.detail)


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (
            Reply(b"\xff\xfe\x00garbage"),
            "the engine answered, and not with a token (status 200, malformed_body)",
        ),
        (Reply(b"{}"), "the engine answered, and not with a token (status 200, malformed_body)"),
        (Reply(b"no", 500), "the engine answered, and not with a token (status 500, http_error)"),
    ],
)
def test_an_answer_without_a_token_is_no_deadline_that_passed(reply: Reply, outcome: str) -> None:
    with Server(chat=lambda payload: reply) as server:
        health = observed(server.base_url)
    assert (health.is_ready, health.outcome) == (False, outcome)
    assert health.reason.startswith(outcome + ": ")
    assert health.reason.removeprefix(outcome + ": ") in str(health.event.detail)


def test_what_is_no_http_could_not_be_read() -> None:
    with Server(chat=lambda payload: Reply(b"\xff\xfe\x00garbage\r\n\r\n", raw=True)) as server:
        health = observed(server.base_url)
    assert health.outcome.startswith("what the engine answered could not be read (")


def test_without_a_health_path_an_endpoint_can_be_ready() -> None:
    with Server(chat=one_token) as server:
        server.on("/health", lambda request: Reply.of_json({"error": "no such path"}, 404))
        event = observed(server.base_url).event
    assert (event.health, event.http_status, event.is_ready) == ("reached", 404, True)


def test_loading_and_too_many_requests_are_waited_for() -> None:
    states = {"health": 0, "chat": 0}

    def health(request: object) -> Reply:
        states["health"] += 1
        loading = states["health"] < 3
        return Reply.of_json({"status": "loading" if loading else "ok"}, 503 if loading else 200)

    def chat(payload: dict[str, Any]) -> Chat | Reply:
        states["chat"] += 1
        if states["chat"] == 1:
            return Reply(b"busy", 429, headers={"Retry-After": "1"})
        return one_token(payload)

    with Server(chat=chat) as server:
        server.on("/health", health)
        started = time.monotonic()
        event = observed(server.base_url, within_s=10).event
    assert event.is_ready
    assert states["chat"] == 2
    assert time.monotonic() - started >= 2.0  # two pauses of ours, and the second that was asked for


def test_nobody_listens() -> None:
    with Server() as server:
        server.refuse_connections()
        health = observed(server.base_url, within_s=1)
    event = health.event
    assert health.reason == "the engine did not generate a token within its deadline"
    assert (event.health, event.http_status, event.is_ready) == ("unreachable", None, False)
    assert "the deadline passed" in str(event.detail)


def test_a_server_that_hangs_has_timed_out() -> None:
    with Server() as server:
        server.on("/health", lambda request: Reply([HANG], raw=True))
        event = observed(server.base_url, within_s=1).event
    assert (event.health, event.is_ready) == ("timed_out", False)


def test_a_connection_that_is_reset_is_unreachable() -> None:
    with Server() as server:
        server.on("/health", lambda request: Reply([RESET], raw=True))
        event = observed(server.base_url, within_s=1).event
    assert event.health == "unreachable"


def test_an_engine_that_exits_is_not_waited_for() -> None:
    with Server() as server:
        server.refuse_connections()
        started = time.monotonic()
        event = observed(
            server.base_url, within_s=30, has_exited=lambda: time.monotonic() - started > 0.5
        ).event
    assert time.monotonic() - started < 10
    assert "exited before it was ready" in str(event.detail)


def test_an_engine_that_had_exited_was_not_asked() -> None:
    with Server() as server:
        event = observed(server.base_url, has_exited=lambda: True).event
    assert (event.health, event.is_ready) == ("not_attempted", False)
    assert not server.requests


def test_reasoning_counts_as_a_token() -> None:
    with Server(chat=lambda p: Chat(content="", reasoning="Hm", usage={}, finish_reason="length")) as server:
        event = observed(server.base_url).event
    assert (event.is_ready, event.cap_field) == (True, "max_completion_tokens")


@pytest.mark.parametrize(
    ("header", "seconds"), [("3", 3.0), (" 0 ", 0.0), (None, None), ("soon", None), ("-1", None)]
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header) == seconds


def test_retry_after_as_a_date() -> None:
    later = system_clock() + timedelta(seconds=60)
    found = retry_after_s(format_datetime(later, usegmt=True))
    assert found is not None
    assert 50 < found <= 60
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_a_last_look_that_the_deadline_cuts_short_does_not_hide_the_one_before() -> None:
    asked: list[object] = []

    def busy_then_silent(request: object) -> Reply:
        asked.append(request)
        return Reply(b"loading", status=503) if len(asked) == 1 else Reply((HANG,))

    with Server() as server:
        server.on("/health", busy_then_silent)
        event = observed(server.base_url, within_s=0.9).event
    assert len(asked) == 2
    assert (event.health, event.http_status) == ("reached", 503)
