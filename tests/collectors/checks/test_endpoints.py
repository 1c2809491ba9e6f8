"""Whatever an endpoint does, a check has an outcome and a class, its bytes are kept, and the next one runs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.checking import MemoryRecorder, check
from support.endpoint import Chat, Reply, Server, case

from anvil.collectors.checks import CHECKS, judging
from anvil.collectors.checks.history import History
from anvil.ledger.errors import CollectorError

STREAMED = {"target_tokens": 200, "depths": [50]}


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("error_html_500", "http_error"),
        ("too_many_requests", "http_error"),
        ("loading", "http_error"),
        ("redirect", "redirected"),
        ("error_json_200", "error_in_stream"),
        ("html_200", "malformed_body"),
        ("empty_200", "malformed_body"),
        ("not_http", "malformed_body"),
        ("short_body", "connection_reset"),
        ("close_at_once", "connection_reset"),
        ("reset_at_once", "connection_reset"),
        ("gzip_bomb", "body_too_large"),
        ("gzip_cut", "malformed_body"),
    ],
)
def test_a_whole_answer_that_is_none_fails_by_class(name: str, failure: str) -> None:
    with Server(every=case(name)) as server:
        done = check("structured-json", server=server)
    assert done.verdict == ("failed", failure)
    assert done.messages["object"]
    assert done.kept["object.request"]


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("cut_cleanly", "truncated_stream"),
        ("reset_mid_stream", "connection_reset"),
        ("hang_mid_stream", "timeout"),
        ("error_event_data", "error_in_stream"),
        ("error_event_type", "error_in_stream"),
        ("malformed_event", "malformed_stream"),
        ("finish_null", "truncated_stream"),
        ("error_html_500", "http_error"),
    ],
)
def test_a_stream_that_goes_wrong_fails_by_class_and_its_part_is_kept(name: str, failure: str) -> None:
    with Server(every=case(name)) as server:
        done = check("retrieval", server=server, parameters=STREAMED)
    assert done.event.outcome == "failed"
    assert done.requests["depth_50"].failure == failure
    assert done.kept["depth_50.response"] == case(name).body or name == "hang_mid_stream"


def test_a_refused_connection_says_nothing_about_the_model() -> None:
    with Server() as server:
        server.refuse_connections()
        done = check("structured-json", server=server)
    assert done.verdict == ("incomplete", "connection_failed")
    assert done.requests["object"].latency_ns is None
    assert [item.name for item in done.attachments] == ["object.request"]


@pytest.mark.parametrize("misbehaviour", ["error_html_500", "reset_at_once", "bangs"])
def test_every_check_has_a_result_and_the_run_goes_on(misbehaviour: str) -> None:
    history = History()
    with Server(every=case(misbehaviour)) as server:
        for name in CHECKS:
            small = {
                "retrieval": STREAMED,
                "tools-long": {"floor_tokens": 200},
                "tools-batch": {"requests": 3},
            }
            done = check(name, server=server, history=history, parameters=small.get(name))
            assert done.event.outcome != "passed" or name in ("finish", "reasoning-leak", "tools-rendered")
            assert done.event.failure is not None or done.event.outcome in ("passed", "inconclusive")
            assert "Traceback" not in str(done.messages)
    assert [event.check for event in history.completed] == list(CHECKS)


def test_bodies_are_kept_before_anything_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Any:
        raise ZeroDivisionError("a judge with a defect")

    monkeypatch.setattr("anvil.collectors.checks.structured_json.judge", broken)
    history = History()
    done = check("structured-json", lambda payload: "{}", history=history)
    assert done.verdict == ("incomplete", None)
    assert "ZeroDivisionError: a judge with a defect" in done.messages["check"]
    assert [item.name for item in done.attachments] == ["object.request", "object.response"]
    assert json.loads(done.kept["object.response"])["choices"]
    assert history.latest("structured-json") is done.event


def test_a_request_is_kept_before_it_is_sent() -> None:
    recorder = MemoryRecorder()

    def answer(payload: dict[str, Any]) -> str:
        assert json.loads(recorder.kept["object.request"]) == payload
        return "{}"

    check("structured-json", answer, recorder=recorder)


def test_bytes_that_cannot_be_kept_are_not_judged() -> None:
    class Full(MemoryRecorder):
        def keep(self, content: bytes, *, name: str, check: str | None = None) -> Any:
            raise CollectorError("no space left")

    with Server() as server:
        with pytest.raises(CollectorError, match="no space left"):
            check("structured-json", server=server, recorder=Full())
        assert not server.requests


def test_a_long_message_is_kept_whole_as_an_artifact() -> None:
    words = "the engine is out of memory; " * 200
    refusal = Reply.of_json({"error": {"message": words}}, 500)
    done = check("structured-json", lambda payload: refusal)
    assert done.messages["object"] == "in the artifact object.message"
    assert words in done.kept["object.message"].decode()


def test_a_message_with_half_a_character_can_be_sealed() -> None:
    fault = judging.Fault("wrong_value", "found '\ud83d'")
    assert "\\ud83d" in fault.message.encode("utf-8", "backslashreplace").decode()
    done = check("responses", lambda payload: Chat(content="x\ud83d"))
    assert done.verdict == ("failed", "wrong_value")


def test_another_model_is_named_before_what_it_answers() -> None:
    done = check("structured-json", lambda payload: Chat(content="{}", model="org/other"))
    assert done.verdict == ("failed", "identity_mismatch")
    assert "'test-model', answered by 'org/other'" in done.messages["object"]


def test_oddities_are_warnings() -> None:
    cap = {"visible_tokens": 64}
    done = check("responses", lambda payload: Chat(content="x", completion_tokens=64), parameters=cap)
    assert "cap_exceeded" not in done.requests["response"].warnings
    done = check("structured-json", lambda payload: Chat(content="{}", completion_tokens=64), parameters=cap)
    assert "cap_reached_with_stop" in done.requests["object"].warnings
    done = check("structured-json", lambda payload: Chat(content="{}", completion_tokens=99), parameters=cap)
    assert "cap_exceeded" in done.requests["object"].warnings
    done = check("structured-json", lambda payload: Chat(content="{}", finish_reason="very odd indeed"))
    assert done.requests["object"].finish_reason is None
    assert "finish_reason_is_no_word" in done.requests["object"].warnings


def test_a_server_that_talks_nonsense_is_named() -> None:
    with Server(every=case("bangs")) as server:
        done = check("retrieval", server=server, parameters=STREAMED)
    assert done.event.outcome == "failed"
    assert "repetition" in done.requests["depth_50"].warnings
