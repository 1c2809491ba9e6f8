"""`structured-json` and `structured-json-schema`: each class by name, and the lenient reading beside."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.checking import check
from support.endpoint import Chat, Reply

from anvil.collectors.checks.jsonanswers import is_leniently, same, strict_faults


def asked(payload: dict[str, Any]) -> dict[str, Any]:
    """What a model that understands the question answers."""
    text = payload["messages"][0]["content"]
    item, count, stock, one, two = re.search(
        r'string "(\w+)"\. .* number (\d+)\. .* is (true|false)\. .* "(\w+)" and "(\w+)"', text
    ).groups()  # type: ignore[union-attr]
    return {"item": item, "count": int(count), "in_stock": stock == "true", "colours": [one, two]}


@pytest.mark.parametrize("name", ["structured-json", "structured-json-schema"])
def test_a_right_answer_passes(name: str) -> None:
    done = check(name, lambda payload: f" {json.dumps(asked(payload))}\n")
    assert done.verdict == ("passed", None)
    assert (done.event.passed, done.event.expected) == (1, 1)
    assert done.requests["object"].lenient_passed is True


ANSWERS = {
    "fenced": lambda text: f"```json\n{text}\n```",
    "prose_around": lambda text: f"Here it is: {text}",
    "extra_keys": lambda text: text[:-1] + ', "note": "done"}',
    "deterministic_check_failed": lambda text: text[:-1] + ",}",
}


@pytest.mark.parametrize("failure", ANSWERS)
def test_what_only_a_lenient_reader_accepts_fails_with_its_class(failure: str) -> None:
    done = check("structured-json", lambda payload: ANSWERS[failure](json.dumps(asked(payload))))
    assert done.verdict == ("failed", failure)
    assert done.requests["object"].lenient_passed is True
    assert done.messages["object"]


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ('{"item": "anvil"}', "wrong_value"),
        ("[]", "wrong_value"),
        ("I cannot do that.", "deterministic_check_failed"),
        ('{"item": NaN}', "deterministic_check_failed"),
        ("{" * 5000, "repetition"),
        ("", "visible_answer_missing"),
        ("   \n", "visible_answer_missing"),
        ("!" * 300, "repetition"),
    ],
)
def test_a_wrong_answer_fails_with_its_class(answer: str, failure: str) -> None:
    done = check("structured-json", lambda payload: answer)
    assert done.verdict == ("failed", failure)
    assert done.requests["object"].lenient_passed is False


def test_a_doubled_key_is_no_json() -> None:
    faults = strict_faults('{"a": 1, "a": 2}', {"a": 2})
    assert [fault.failure for fault in faults] == ["deterministic_check_failed"]


def test_true_is_not_one() -> None:
    assert not same(True, 1)
    assert not same({"a": [1]}, {"a": [True]})
    assert same({"a": [1.0]}, {"a": [1]})
    assert not is_leniently("{}", {"a": None})


def test_a_schema_that_is_refused_is_unsupported() -> None:
    refusal = Reply.of_json({"error": {"message": "response_format is not supported"}}, 400)
    done = check("structured-json-schema", lambda payload: refusal)
    assert done.verdict == ("incomplete", "unsupported_by_endpoint")
    assert "not supported" in done.messages["object"]


def test_the_schema_is_sent_and_does_not_give_the_values_away() -> None:
    done = check("structured-json-schema", lambda payload: json.dumps(asked(payload)))
    sent = json.loads(done.kept["object.request"])
    schema = json.dumps(sent["response_format"])
    assert sent["response_format"]["type"] == "json_schema"
    assert asked(sent)["item"] not in schema


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (Chat(content="{", finish_reason="length", completion_tokens=256), "visible_answer_budget_exhausted"),
        (Chat(content="{", finish_reason="length", completion_tokens=9), "output_clamped"),
        (
            Chat(content="{", reasoning="hm", finish_reason="length", completion_tokens=256),
            "completion_budget_exhausted_after_visible_output",
        ),
        (
            Chat(reasoning="hm", finish_reason="length", completion_tokens=256),
            "reasoning_budget_exhausted",
        ),
        (Chat(content="{}", finish_reason="content_filter"), "unexpected_finish_reason"),
        (Chat(content="{}", model="fallback"), "identity_mismatch"),
    ],
)
def test_what_ends_otherwise_is_named_before_what_it_says(answer: Chat, failure: str) -> None:
    assert check("structured-json", lambda payload: answer).verdict == ("failed", failure)
