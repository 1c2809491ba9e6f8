"""What an endpoint does to a suite: wrong, late, broken, gone. One event comes of it, and says how much is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.endpoint import HANG, RESET, Chat, Reply, Server, case
from support.repeating import suite

from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.judging import Judgement
from anvil.collectors.suites import Obstacle
from anvil.collectors.suites.session import FACT
from anvil.ledger.events.suites import SuiteItem, spell_stability, stability


def by_turn(*answers: Any) -> Callable[[dict[str, Any]], Any]:
    """Answers the recall of each repetition in turn; the turns before are always right."""
    left = list(answers)

    def answer(payload: dict[str, Any]) -> Any:
        return left.pop(0) if len(payload["messages"]) == 5 else "Noted."

    return answer


# --- how steady ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "rate", "outcome", "passed", "is_stable"),
    [
        ((FACT, FACT, FACT), "1.0", "passed", 3, True),
        ((FACT, "4716", FACT), "1.0", "failed", 2, False),
        ((FACT, "4716", FACT), "0.66", "passed", 2, True),
        ((FACT, "4716", FACT), "0.67", "failed", 2, False),
        (("no", "4716", "0000"), "0.01", "failed", 0, False),
    ],
)
def test_the_required_rate_decides_and_is_recorded(
    answers: tuple[str, ...], rate: str, outcome: str, passed: int, is_stable: bool
) -> None:
    done = suite("session", by_turn(*answers), required_rate=rate)
    assert (done.event.outcome, done.event.passed, done.event.expected) == (outcome, passed, 3)
    assert done.event.is_stable is is_stable
    assert done.event.required_rate == rate
    assert (
        spell_stability(done.event.is_stable, rate) == f"{'stable' if is_stable else 'not stable'} at {rate}"
    )
    if outcome == "passed" and passed < 3:  # what did not pass stays in sight
        assert done.items["recall"].failure == "wrong_value"
        assert done.event.failure is None


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 50), st.integers(1, 100))
def test_stability_is_what_it_would_be_whatever_the_incomplete_ones_had_been(
    repetitions: int, passed: int, incomplete: int, percent: int
) -> None:
    passed = min(passed, repetitions)
    incomplete = min(incomplete, repetitions - passed)
    rate = f"{percent // 100}.{percent % 100:02d}"
    possible = {
        Fraction(passed + more, repetitions) >= Fraction(percent, 100) for more in range(incomplete + 1)
    }
    assert stability(passed, incomplete, repetitions, rate) is (
        possible.pop() if len(possible) == 1 else None
    )


def test_an_event_that_does_not_add_up_cannot_be_made() -> None:
    event = suite("session", by_turn(FACT, FACT, FACT)).event
    for wrong in (
        {"passed": 2},
        {"expected": 4},
        {"required_rate": "1.5"},
        {"required_rate": None},
        {"failure": "timeout"},
    ):
        with pytest.raises(ValueError, match="Value error"):
            type(event).model_validate({**event.model_dump(), **wrong})
    item = event.items[0].model_dump()
    for wrong in ({"is_stable": False}, {"incomplete": 1}):
        with pytest.raises(ValueError, match="Value error"):
            type(event).model_validate({**event.model_dump(), "items": [{**item, **wrong}]})
    with pytest.raises(ValueError, match="Value error"):
        SuiteItem.model_validate({**item, "passed": 4})


# --- what an endpoint does -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "outcome", "failure"),
    [
        (Reply.of_json({"error": {"message": "overloaded"}}, 503), "failed", "http_error"),
        (Reply(b"<html>"), "failed", "malformed_body"),
        (Reply([b'{"choices": [', HANG]), "failed", "timeout"),
        (Reply([b'{"choices": [', RESET]), "failed", "connection_reset"),
        (Reply([HANG]), "failed", "timeout"),
        (Chat(content="Noted.", model="another"), "failed", "identity_mismatch"),
        (Chat(content=None), "failed", "visible_answer_missing"),
        (Chat(content="Noted.", finish_reason="content_filter"), "failed", "unexpected_finish_reason"),
        (Chat(content=None, reasoning="hm", finish_reason="length"), "failed", "visible_answer_missing"),
    ],
)
def test_a_turn_that_is_no_answer_ends_its_repetition(reply: Any, outcome: str, failure: str) -> None:
    done = suite("session", lambda payload: reply, idle_s=0.3)
    assert done.verdict == (outcome, failure, 0, 3)
    assert set(done.requests) == {f"recall.{n}.1" for n in (1, 2, 3)}
    assert len(done.server.requests) == 3  # nothing is sent twice
    assert {f"recall.{n}.1.request" for n in (1, 2, 3)} <= set(done.kept)


@pytest.mark.parametrize("name", ["reset_mid_stream", "error_event_type", "malformed_event"])
def test_a_broken_stream_is_kept_and_no_wrong_value(name: str) -> None:
    with Server(every=case(name)) as server:
        done = suite("retrieval", server=server, parameters={"target_tokens": 100}, repetitions=2)
    assert done.event.outcome == "failed"
    assert done.event.failure not in (None, "wrong_value")
    assert {request.outcome for request in done.event.requests} == {"failed"}
    for number in (1, 2):
        assert done.kept[f"depth-50.{number}.response"]


def test_an_endpoint_that_is_gone_says_nothing_of_the_model() -> None:
    with Server() as server:
        server.refuse_connections()
        done = suite("intelligence", server=server)
    assert done.verdict == ("incomplete", "connection_failed", 0, 6)
    assert done.event.is_stable is None
    assert [item.incomplete for item in done.event.items] == [3, 3]
    assert all(request.latency_ns is None for request in done.event.requests)


def test_what_came_late_but_came_is_an_answer() -> None:
    done = suite("session", lambda payload: Chat(content=FACT, pace_s=0.01), repetitions=1)
    assert done.verdict == ("passed", None, 1, 1)


# --- what else there is ----------------------------------------------------------------------------------


def test_budgets_are_recorded_apart_and_sent_as_one() -> None:
    budgets = {"visible_tokens": 40, "reasoning_tokens": 400, "thinking": "enabled"}
    done = suite("session", lambda p: FACT, parameters=budgets, thinking=ThinkingControl("enable_thinking"))
    assert (done.event.visible_budget_tokens, done.event.reasoning_budget_tokens) == (40, 400)
    sent = json.loads(done.kept["recall.1.1.request"])
    assert sent["max_tokens"] == 440
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}
    recorded = {parameter.name: parameter.value for parameter in done.event.parameters}
    assert recorded == budgets


def test_none_of_the_models_words_stand_in_the_clear() -> None:
    done = suite("session", by_turn("chatter-7731", "chatter-7731", "chatter-7731"))
    assert "chatter" not in str(done.event.facts())
    assert "chatter-7731" in done.messages["recall.1.3"]


def test_items_take_turns() -> None:
    done = suite("intelligence", lambda payload: "x", repetitions=2)
    order = [name.removesuffix(".request") for name in done.kept if name.endswith(".request")]
    assert order == ["unified-diff.1", "triage.1", "unified-diff.2", "triage.2"]


def after(calls: int, obstacle: Obstacle) -> Callable[[], Any]:
    """Nothing stands in the way of so many repetitions; then something does."""
    left = [calls]

    async def look() -> Obstacle | None:
        left[0] -= 1
        return obstacle if left[0] < 0 else None

    return look


def test_an_obstacle_leaves_the_rest_incomplete_and_what_was_judged_judged() -> None:
    done = suite("session", lambda p: FACT, obstacle=after(2, ("engine_exited", "it had ended")))
    assert done.verdict == ("incomplete", "engine_exited", 2, 3)
    assert done.items["recall"].incomplete == 1
    assert done.items["recall"].is_stable is None
    assert done.messages["suite"] == "it had ended"
    rated = suite(
        "session", lambda p: FACT, obstacle=after(2, ("engine_exited", "it had ended")), required_rate="0.5"
    )
    assert rated.items["recall"].is_stable is True
    assert rated.event.outcome == "incomplete"  # not carried out is never passed


def test_a_repetition_that_the_engines_end_broke_off_says_nothing_of_the_model() -> None:
    async def ended(judgement: Judgement) -> bool:
        return judgement.failure == "connection_reset"

    done = suite("session", by_turn(FACT, FACT, Reply([b"{", RESET])), broke_off=ended)
    assert done.verdict == ("incomplete", "engine_exited", 2, 3)
    assert done.requests["recall.3.3"].outcome == "incomplete"
    assert "engine ended" in done.messages["recall.3.3"]


def test_a_suite_that_is_wrong_itself_is_incomplete_and_tells_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("anvil.collectors.suites.session.judge_recall", broken)
    done = suite("session", lambda p: FACT)
    assert done.verdict == ("incomplete", None, 0, 3)
    assert "ZeroDivisionError: a defect" in done.messages["suite"]
    assert done.kept["recall.1.3.response"]
