"""`thinking-control`, and the policies over everything that ran: `reasoning-leak` and `finish`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.checking import check
from support.endpoint import Chat, Reply, Server

from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.history import History

TOGGLE, EFFORT = ThinkingControl("enable_thinking"), ThinkingControl("reasoning_effort")


def thinks(payload: dict[str, Any]) -> bool:
    if "chat_template_kwargs" in payload:
        return bool(payload["chat_template_kwargs"]["enable_thinking"])
    return payload.get("reasoning_effort") not in (None, "none")


def obedient(payload: dict[str, Any]) -> Chat:
    return Chat(content="43", reasoning="42 and one" if thinks(payload) else None)


# --- thinking-control ------------------------------------------------------------------------------


@pytest.mark.parametrize("control", [TOGGLE, EFFORT])
def test_a_switch_that_works_is_verified(control: ThinkingControl) -> None:
    done = check("thinking-control", obedient, thinking=control, parameters={"efforts": ["low", "xhigh"]})
    assert done.verdict == ("passed", None)
    assert done.findings == {"thinking_control": "verified", "effort.low": True, "effort.xhigh": True}
    assert (done.event.passed, done.event.expected) == (4, 4)
    sent = json.loads(done.kept["effort_xhigh.request"])
    assert "xhigh" in json.dumps(sent)


def test_a_switch_that_is_ignored_is_ineffective() -> None:
    done = check("thinking-control", lambda payload: Chat(content="43", prompt_tokens=30), thinking=TOGGLE)
    assert done.verdict == ("failed", "deterministic_check_failed")
    assert done.findings["thinking_control"] == "ineffective"
    assert "ineffective" in done.messages["enabled"]


def test_reasoning_that_does_not_go_away_is_a_leak() -> None:
    done = check("thinking-control", lambda payload: Chat(content="43", reasoning="hm"), thinking=TOGGLE)
    assert done.verdict == ("failed", "reasoning_leaked")
    assert done.requests["enabled"].outcome == "passed"


def test_another_answer_without_reasoning_is_undecided() -> None:
    done = check("thinking-control", lambda p: "43" if thinks(p) else "It is 43.", thinking=TOGGLE)
    assert done.verdict == ("inconclusive", None)
    assert done.findings["thinking_control"] == "undecided"


def test_an_effort_without_reasoning_fails_and_is_listed() -> None:
    def answer(payload: dict[str, Any]) -> Chat:
        is_low = payload.get("reasoning_effort") == "low"
        return Chat(content="43", reasoning=None if is_low or not thinks(payload) else "hm")

    done = check("thinking-control", answer, thinking=EFFORT, parameters={"efforts": ["low", "high"]})
    assert done.verdict == ("failed", "deterministic_check_failed")
    assert (done.findings["effort.low"], done.findings["effort.high"]) == (False, True)


def test_without_a_switch_there_is_nothing_to_check() -> None:
    with Server() as server:
        assert check("thinking-control", server=server).verdict == ("incomplete", "prerequisite_failed")
        assert not server.requests


# --- reasoning-leak ----------------------------------------------------------------------------------


LEAKS: dict[str, Any] = {
    "reasoning": Chat(content="{}", reasoning="hm", reasoning_key="reasoning"),
    "reasoning_content": Chat(content="{}", reasoning="hm"),
    "details_reasoning_tokens": Chat(content="{}", reasoning_tokens=7),
    "usage_reasoning_tokens": Chat(
        content="{}", usage={"prompt_tokens": 3, "completion_tokens": 9, "reasoning_tokens": 7}
    ),
    "tags": "<think>hm</think>{}",
}


@pytest.mark.parametrize("channel", LEAKS)
def test_a_leak_is_found_in_each_channel(channel: str) -> None:
    history = History()
    check("structured-json", lambda payload: LEAKS[channel], history=history, thinking=TOGGLE)
    done = check("reasoning-leak", history=history, thinking=TOGGLE)
    assert done.verdict == ("failed", "reasoning_leaked")
    assert done.requests["1.structured-json"].reasoning_seen == (channel,)
    assert channel in done.messages["1.structured-json"]
    has_text = channel in ("reasoning", "reasoning_content")
    assert done.findings["reasoning_chars"] == (2 if has_text else 0)


def test_a_leak_through_the_responses_api_alone_is_found() -> None:
    history = History()

    def answer(payload: dict[str, Any]) -> Chat:
        return Chat(content="x", reasoning="hm" if "input" in payload else None)

    for name in ("structured-json", "responses"):
        check(name, answer, history=history, thinking=TOGGLE)
    done = check("reasoning-leak", history=history)
    assert done.verdict == ("failed", "reasoning_leaked")
    assert (done.event.passed, done.event.expected) == (1, 2)
    assert done.requests["2.responses"].reasoning_seen == ("responses_item",)


@pytest.mark.parametrize("tokens", [None, 0])
def test_null_and_zero_are_no_leak(tokens: int | None) -> None:
    history = History()
    check("structured-json", lambda payload: Chat(content="{}", reasoning_tokens=tokens), history=history)
    done = check("reasoning-leak", history=history)
    assert done.verdict == ("passed", None)
    assert done.findings["reasoning_chars"] == 0


def test_what_ran_with_thinking_enabled_is_not_judged() -> None:
    history = History()
    check("structured-json", obedient, history=history, thinking=TOGGLE, parameters={"thinking": "enabled"})
    assert check("reasoning-leak", history=history).verdict == ("incomplete", "prerequisite_failed")
    check("thinking-control", obedient, history=history, thinking=TOGGLE)
    done = check("reasoning-leak", history=history)
    assert done.verdict == ("passed", None)
    assert list(done.requests) == ["3.thinking-control"]


def test_a_failed_request_proves_nothing_but_its_part_can_leak() -> None:
    history = History()
    check("structured-json", lambda payload: Reply(b"", 500), history=history)
    assert check("reasoning-leak", history=history).verdict == ("incomplete", "prerequisite_failed")
    steps = [b'data: {"choices": [{"index": 0, "delta": {"reasoning": "hm"}}]}\n\n']
    cut = Reply.of_events(steps)
    check("retrieval", lambda payload: cut, history=history, parameters={"target_tokens": 200})
    assert check("reasoning-leak", history=history).verdict == ("failed", "reasoning_leaked")


# --- finish ------------------------------------------------------------------------------------------


def test_reasons_that_are_allowed_pass_and_others_are_named() -> None:
    history = History()
    assert check("finish", history=history).verdict == ("incomplete", "prerequisite_failed")
    check("structured-json", lambda payload: "{}", history=history)
    check("responses", lambda payload: "x", history=history)
    assert check("finish", history=history).verdict == ("passed", None)
    check("structured-json", lambda payload: Chat(content="{}", finish_reason="length"), history=history)
    done = check("finish", history=history)
    assert done.verdict == ("failed", "unexpected_finish_reason")
    assert "'length'" in done.messages["5.structured-json"]
    parameters = {"allowed": ["stop", "completed", "length"]}
    assert check("finish", history=history, parameters=parameters).verdict == ("passed", None)


def test_what_never_ended_and_what_is_cut_on_purpose_is_not_judged() -> None:
    history = History()
    check("structured-json", lambda payload: Reply(b"", 500), history=history)
    check("tools-rendered", lambda payload: Chat(content="x", finish_reason="length"), history=history)
    assert check("finish", history=history).verdict == ("incomplete", "prerequisite_failed")
