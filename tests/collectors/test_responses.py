"""What a response of the Responses API means."""

from __future__ import annotations

from typing import Any

import pytest
from support.endpoint import Call, Chat, Reply
from support.exchanges import exchange_of, of_json

from anvil.collectors.completion import read_responses
from anvil.collectors.interface import Answer, ToolCall, Usage
from anvil.ledger.events.checks import FailureClass

MODEL = "test-model"


def response(said: Chat, **changed: Any) -> Answer:
    return read_responses(of_json({**said.response({"input": "?"}, MODEL), **changed}))


def test_a_response() -> None:
    said = Chat("it is 4", "hm", calls=(Call("f", "{}", "c1"),), reasoning_tokens=1, cached_tokens=2)
    found = response(said)
    assert (found.visible, found.finish_reason, found.model) == ("it is 4", "completed", MODEL)
    assert found.reasoning == {"responses_item": "hm"}
    assert found.reasoning_seen == ("responses_item", "details_reasoning_tokens")
    assert found.tool_calls == (ToolCall("c1", "f", "{}"),)
    assert found.usage == Usage(11, 6, 17, 1, 2)
    assert (found.failure, found.warnings) == (None, ())


def test_an_empty_reasoning_item_is_seen() -> None:
    found = response(Chat("4"), output=[{"type": "reasoning", "summary": [], "content": None}])
    assert (found.reasoning, found.reasoning_seen) == ({}, ("responses_item",))


@pytest.mark.parametrize(
    ("changed", "finish", "failure"),
    [
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "max_output_tokens",
            None,
        ),
        ({"status": "incomplete", "incomplete_details": None}, "incomplete", None),
        ({"status": "failed", "error": {"message": "m"}}, None, "error_in_stream"),
        ({"status": "failed"}, None, "error_in_stream"),
        ({"status": "cancelled"}, None, "error_in_stream"),
        ({"status": "in_progress"}, None, "malformed_body"),
        ({"status": None}, None, "malformed_body"),
        ({"output": {}}, "completed", "malformed_body"),
        ({"output": ["x"]}, "completed", "malformed_body"),
        ({"output": [{"type": "message", "content": "x"}]}, "completed", "malformed_body"),
        ({"output": [{"type": "function_call", "name": 7}]}, "completed", "malformed_body"),
        ({"output": None}, "completed", None),
    ],
)
def test_responses(changed: dict[str, Any], finish: str | None, failure: FailureClass | None) -> None:
    found = response(Chat("4"), **changed)
    assert (found.finish_reason, found.failure) == (finish, failure)


@pytest.mark.parametrize(
    ("status", "failure"),
    [(404, "unsupported_by_endpoint"), (501, "unsupported_by_endpoint"), (500, "http_error")],
)
def test_an_endpoint_without_responses(status: int, failure: FailureClass) -> None:
    exchange = exchange_of(Reply.of_json({"detail": "Not Found"}, status), "http_error", f"HTTP {status}")
    found = read_responses(exchange)
    assert found.failure == failure
    assert found.message.endswith(f"HTTP {status}: Not Found")
