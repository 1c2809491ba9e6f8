"""The tool checks: one call, the right tool, the right city, and nothing left of a protocol."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from typing import Any

import pytest
from support.checking import check
from support.endpoint import Call, Chat, Reply, Server, prompt_tokens

from anvil.collectors.checks.history import History
from anvil.collectors.checks.toolquestions import CITIES


def city_of(payload: dict[str, Any]) -> str:
    found = re.search(r'in the city "(.+?)"\?', payload["messages"][-1]["content"])
    return found.group(1) if found else ""


def weather(city: str, **more: Any) -> Call:
    return Call("get_weather", json.dumps({"city": city, **more}, ensure_ascii=False))


def right(payload: dict[str, Any]) -> Chat:
    return Chat(calls=(weather(city_of(payload)),))


# --- tools-batch -----------------------------------------------------------------------------------


def test_twenty_right_answers_are_20_of_20_at_once() -> None:
    together = threading.Barrier(20)

    def answer(payload: dict[str, Any]) -> Chat:
        together.wait(timeout=20)  # all are in flight, or nobody is answered
        return right(payload)

    done = check("tools-batch", answer)
    assert done.verdict == ("passed", None)
    assert (done.event.passed, done.event.expected, len(done.event.requests)) == (20, 20, 20)
    assert len({city_of(json.loads(done.kept[f"r{n}.request"])) for n in range(1, 21)}) == 20


def test_two_calls_and_a_wrong_city_are_18_of_20_with_reasons() -> None:
    cities: list[str] = []

    def answer(payload: dict[str, Any]) -> Chat:
        city = city_of(payload)
        cities.append(city)
        if len(cities) == 3:
            return Chat(calls=(weather(city), weather(city)))
        return Chat(calls=(weather("Atlantis"),)) if len(cities) == 7 else right(payload)

    done = check("tools-batch", answer)
    assert done.verdict == ("failed", "several_calls")
    assert (done.event.passed, done.event.expected) == (18, 20)
    wrong = {r.failure: done.messages[r.name] for r in done.event.requests if r.failure}
    assert set(wrong) == {"several_calls", "wrong_arguments"}
    assert "2 calls instead of one" in wrong["several_calls"]
    assert "'Atlantis' instead of" in wrong["wrong_arguments"]


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (lambda city: Chat(content=f"It is sunny in {city}."), "no_call"),
        (lambda city: Chat(calls=(weather(city), weather(city))), "several_calls"),
        (lambda city: Chat(calls=(Call("convert_currency", "{}"),)), "wrong_tool"),
        (lambda city: Chat(calls=(Call("get_weather", '{"city": '),)), "invalid_arguments"),
        (lambda city: Chat(calls=(Call("get_weather", json.dumps([city])),)), "invalid_arguments"),
        (lambda city: Chat(calls=(Call("get_weather", '"text"'),)), "invalid_arguments"),
        (lambda city: Chat(calls=(Call("get_weather", '{"city": 7}'),)), "invalid_arguments"),
        (lambda city: Chat(calls=(weather(city, unit="C"),)), "invalid_arguments"),
        (lambda city: Chat(calls=(weather("Elsewhere"),)), "wrong_arguments"),
        (lambda city: Chat(content="<tool_call>", calls=(weather(city),)), "protocol_debris"),
        (lambda city: Chat(content="<|im_end|>", calls=(weather(city),)), "protocol_debris"),
        (lambda city: Chat(content="[TOOL_CALLS]", calls=(weather(city),)), "protocol_debris"),
        (lambda city: Chat(content="", finish_reason="length", completion_tokens=256), "visible_answer_budget_exhausted"),
        (lambda city: Chat(calls=(weather(city),), finish_reason="error"), "unexpected_finish_reason"),
    ],
)  # fmt: skip
def test_each_wrong_answer_has_its_class(answer: Any, failure: str) -> None:
    done = check("tools-batch", lambda payload: answer(city_of(payload)), parameters={"requests": 1})
    assert done.verdict == ("failed", failure)
    assert done.messages["r1"]


def test_blanks_and_case_of_a_city_are_no_fault_and_stop_is_a_warning() -> None:
    def answer(payload: dict[str, Any]) -> Chat:
        return Chat(calls=(weather(f" {city_of(payload).upper()} "),), finish_reason="stop")

    done = check("tools-batch", answer, parameters={"requests": 2})
    assert done.verdict == ("passed", None)
    assert "call_with_finish_reason_stop" in done.requests["r1"].warnings


def test_one_that_hangs_and_one_refused_leave_the_others_standing() -> None:
    seen: list[str] = []

    def answer(payload: dict[str, Any]) -> Any:
        seen.append(city_of(payload))
        return Reply(b"<html>broken</html>", 500, "text/html") if len(seen) == 2 else right(payload)

    done = check("tools-batch", answer, parameters={"requests": 5})
    assert done.verdict == ("failed", "http_error")
    assert (done.event.passed, done.event.expected) == (4, 5)
    assert b"<html>broken</html>" in done.kept.values()


def test_every_city_is_another_and_most_need_care() -> None:
    assert len({city.casefold() for city in CITIES}) == len(CITIES)
    assert sum(not city.isascii() or " " in city or "-" in city for city in CITIES) >= 10


def test_the_largest_batch_fits_into_one_event(tmp_path: Any) -> None:
    from anvil.ledger.drafts import Draft, seal

    done = check("tools-batch", lambda payload: "x" * 3000, parameters={"requests": len(CITIES)})
    _, artifacts, _ = seal(Draft(done.event, attachments=done.attachments))
    size = len(json.dumps(done.event.facts())) + sum(len(json.dumps(vars_of(item))) for item in artifacts)
    assert size * 4 / 3 < 64_000


def vars_of(item: Any) -> dict[str, Any]:
    return {
        "name": item.name,
        "media_type": item.media_type,
        "commitment": item.commitment,
        "disclosure": "private",
    }


# --- tools-rendered ----------------------------------------------------------------------------------


def test_a_template_that_renders_tools_passes() -> None:
    assert check("tools-rendered", right).verdict == ("passed", None)


def dropped(payload: dict[str, Any]) -> Chat:
    return Chat(content="no", prompt_tokens=prompt_tokens({"messages": payload["messages"]}))


def test_a_template_that_drops_tools_is_no_failure_of_the_model() -> None:
    history = History()
    done = check("tools-rendered", dropped, history=history)
    assert done.verdict == ("incomplete", "tools_not_rendered")
    for name, expected in (
        ("tools-batch", 20),
        ("tools-long", 1),
        ("tools-streaming", 2),
        ("tool-result", 1),
    ):
        with Server(chat=right) as server:
            later = check(name, server=server, history=history)
            assert later.verdict == ("incomplete", "tools_not_rendered")
            assert (later.event.passed, later.event.expected) == (0, expected)
            assert not server.requests


def test_tools_that_are_dropped_by_another_model_are_dropped_all_the_same() -> None:
    history = History()
    done = check("tools-rendered", lambda payload: replace(dropped(payload), model="other"), history=history)
    assert done.verdict == ("failed", "identity_mismatch")
    assert check("tools-batch", right, history=history).verdict == ("incomplete", "tools_not_rendered")


def test_without_counts_nothing_follows() -> None:
    done = check("tools-rendered", lambda payload: Chat(content="x", usage={}))
    assert done.verdict == ("inconclusive", None)


def test_why_a_comparison_failed_is_why_it_could_not_be_made() -> None:
    done = check("tools-rendered", lambda payload: Reply(b"", 500))
    assert done.verdict == ("failed", "http_error")
    refusal = Reply.of_json({"error": {"message": "tools are not supported by this model"}}, 400)
    done = check("tools-rendered", lambda payload: refusal if "tools" in payload else "ok")
    assert done.verdict == ("incomplete", "unsupported_by_endpoint")


# --- tools-streaming -----------------------------------------------------------------------------------


def test_the_same_call_streamed_and_whole_passes() -> None:
    done = check("tools-streaming", right)
    assert done.verdict == ("passed", None)
    assert b"data: [DONE]" in done.kept["streamed.response"]


def test_other_text_of_the_same_call_is_inconclusive() -> None:
    def answer(payload: dict[str, Any]) -> Chat:
        separators = (",", ":") if payload.get("stream") else (", ", ": ")
        text = json.dumps({"city": city_of(payload)}, separators=separators)
        return Chat(calls=(Call("get_weather", text),))

    done = check("tools-streaming", answer)
    assert done.verdict == ("inconclusive", None)
    assert "other text" in done.messages["streamed"]


def test_a_call_that_ends_with_stop_fails_here() -> None:
    def answer(payload: dict[str, Any]) -> Chat:
        return Chat(calls=(weather(city_of(payload)),), finish_reason="stop")

    assert check("tools-streaming", answer).verdict == ("failed", "unexpected_finish_reason")


def test_a_stream_that_doubles_the_arguments_is_told_from_the_whole_answer() -> None:
    def answer(payload: dict[str, Any]) -> Chat:
        call = weather(city_of(payload))
        twice = Call(call.name, call.arguments * 2)
        return Chat(calls=(twice if payload.get("stream") else call,))

    done = check("tools-streaming", answer)
    assert done.verdict == ("failed", "invalid_arguments")
    assert {name: request.outcome for name, request in done.requests.items()} == {
        "streamed": "failed",
        "whole": "passed",
    }


# --- tools-long ------------------------------------------------------------------------------------------


def test_the_floor_is_met_by_what_is_reported() -> None:
    done = check("tools-long", right, parameters={"floor_tokens": 3000})
    assert done.verdict == ("passed", None)
    assert 3000 <= (done.requests["long"].prompt_tokens or 0) < 3200
    assert done.event.prompts[0].generator == "filler"


def test_a_prompt_that_was_cut_misses_the_floor() -> None:
    def answer(payload: dict[str, Any]) -> Chat:
        is_question = payload.get("stream")
        counted = 2000 if is_question else prompt_tokens(payload)
        return Chat(calls=(weather(city_of(payload)),), prompt_tokens=counted)

    done = check("tools-long", answer, parameters={"floor_tokens": 3000})
    assert done.verdict == ("failed", "prompt_floor_missed")


def test_what_does_not_fit_the_window_is_not_sent() -> None:
    with Server(chat=right) as server:
        done = check("tools-long", server=server, parameters={"floor_tokens": 3000}, window_tokens=3100)
        assert done.verdict == ("incomplete", "prerequisite_failed")
        assert not server.requests


# --- tool-result -------------------------------------------------------------------------------------------


def result_of(payload: dict[str, Any]) -> dict[str, Any]:
    return json.loads(payload["messages"][-1]["content"])  # type: ignore[no-any-return]


def test_an_answer_with_the_results_values_passes() -> None:
    def answer(payload: dict[str, Any]) -> str:
        call, result = payload["messages"][1]["tool_calls"][0], payload["messages"][2]
        assert re.fullmatch("[a-zA-Z0-9]{9}", call["id"])
        assert result["tool_call_id"] == call["id"]
        told = result_of(payload)
        return f"It is {told['degrees_celsius']}°C with {told['sky'].upper()}."

    assert check("tool-result", answer).verdict == ("passed", None)


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (lambda told: f"There is {told['sky']}.", "wrong_value"),
        (lambda told: f"{told['degrees_celsius']}0 degrees, {told['sky']}", "wrong_value"),
        (lambda told: Chat(calls=(weather(told["city"]),)), "unexpected_finish_reason"),
        (lambda told: "", "visible_answer_missing"),
    ],
)
def test_an_answer_without_them_fails(answer: Any, failure: str) -> None:
    assert check("tool-result", lambda payload: answer(result_of(payload))).verdict == ("failed", failure)
