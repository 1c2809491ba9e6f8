"""What a stream means: for each misbehaviour the exact answer."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from support.endpoint import CASES
from support.exchanges import exchange_of

from anvil.collectors.completion import read_chat, read_chat_stream, read_responses
from anvil.collectors.interface import NO_USAGE, Answer, Exchange, ToolCall, Usage
from anvil.ledger.events.checks import FailureClass

READERS = (read_chat, read_chat_stream, read_responses)
FIVE = "one two three four five"
COUNTS = Usage(11, 5, 16)
MODEL = "test-model"


def answer(exchange: Exchange, **told: Any) -> Answer:
    """A good answer, but for what is told."""
    good = {"visible": FIVE, "finish_reason": "stop", "usage": COUNTS, "model": MODEL}
    return Answer(exchange=exchange, **{**good, **told})


PARTIAL = {"finish_reason": None, "usage": NO_USAGE}
NOTHING = {**PARTIAL, "visible": "", "model": None}
OSLO = ToolCall("call0oslo", "get_weather", '{"city": "Oslo"}')
BERGEN = ToolCall("call1berg", "get_weather", '{"city": "Bergen"}')
CALLED = {"visible": "", "finish_reason": "tool_calls"}
CUDA = "CUDA error: an illegal memory access"
CUT = "no finish reason in 6 events"


def truncated(message: str) -> dict[str, Any]:
    return {"failure": "truncated_stream", "message": message}


EXPECTED: dict[str, dict[str, Any]] = {
    "good": {},
    "role_first": {},
    "reasoning_content": {
        "reasoning": {"reasoning_content": "let me"},
        "reasoning_seen": ("reasoning_content",),
    },
    "reasoning": {"reasoning": {"reasoning": "let me"}, "reasoning_seen": ("reasoning",)},
    "reasoning_in_both_keys": {
        "reasoning": {"reasoning": "hm", "reasoning_content": "hm"},
        "reasoning_seen": ("reasoning", "reasoning_content"),
    },
    "reasoning_in_one_late_chunk": {
        "reasoning": {"reasoning_content": "hm " * 900},
        "reasoning_seen": ("reasoning_content", "details_reasoning_tokens"),
        "usage": Usage(11, 905, 916, 900),
    },
    "three_tokens_a_chunk": {},
    "continuous_usage": {},
    "usage_late": {},
    "crlf": {},
    "lone_cr": {},
    "no_space": {},
    "multi_line_data": {},
    "unicode_line_ends": {"visible": "a\u2028b\u0085c\u2029"},
    "byte_order_mark": {},
    "keepalives": {},
    "split_emoji": {"visible": "\U0001f600"},
    "split_border": {},
    "ten_events_in_one_read": {"visible": "abcdefg"},
    "content_on_finish_chunk": {},
    "finish_null": {"finish_reason": None, **truncated("no finish reason in 9 events")},
    "cut_cleanly": {**PARTIAL, **truncated(CUT)},
    "no_done": {"warnings": ("done_missing",)},
    "last_border_missing": {**PARTIAL, **truncated(CUT), "warnings": ("event_unfinished",)},
    "error_event_data": {
        **PARTIAL,
        "visible": "one two",
        "failure": "error_in_stream",
        "message": f"{CUDA}\nno finish reason in 5 events",
    },
    "error_event_type": {
        **PARTIAL,
        "visible": "one two",
        "failure": "error_in_stream",
        "message": "out of memory\nno finish reason in 4 events",
    },
    "error_json_200": {
        **NOTHING,
        "failure": "error_in_stream",
        "message": f"{CUDA}\nno finish reason in 0 events",
    },
    "html_200": {
        **NOTHING,
        "failure": "malformed_stream",
        "message": "no event stream\nno finish reason in 0 events",
    },
    "empty_200": {**NOTHING, **truncated("no finish reason in 0 events")},
    "malformed_event": {
        "failure": "malformed_stream",
        "message": "event 4: JSONDecodeError: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
    },
    "whole_instead_of_stream": {
        **NOTHING,
        "failure": "malformed_stream",
        "message": "one JSON object, no event stream\nno finish reason in 0 events",
    },
    "bangs": {"visible": "!!!!" * 50, "finish_reason": "length", "usage": Usage(11, 50, 61)},
    "other_model": {"model": "fallback"},
    "usage_absent": {"usage": NO_USAGE, "warnings": ("usage_absent",)},
    "usage_null": {"usage": NO_USAGE, "warnings": ("usage_absent",)},
    "usage_prompt_zero": {"usage": Usage(None, 5, 5), "warnings": ("usage_prompt_zero",)},
    "usage_total_differs": {"usage": Usage(11, 5, 99), "warnings": ("usage_total_differs",)},
    "usage_odd_types": {"usage": NO_USAGE, "warnings": ("usage_malformed",)},
    "usage_cached_exceeds_prompt": {
        "usage": Usage(11, 5, 16, cached_tokens=12),
        "warnings": ("usage_cached_exceeds_prompt",),
    },
    "reasoning_only_in_usage": {
        "usage": Usage(11, 5, 16, 3),
        "reasoning_seen": ("usage_reasoning_tokens",),
    },
    "reasoning_only_in_details": {
        "usage": Usage(11, 5, 16, 3),
        "reasoning_seen": ("details_reasoning_tokens",),
    },
    "reasoning_zero_and_null": {"usage": Usage(11, 5, 16, 0)},
    "think_tags": {"visible": "<think>hm</think>four", "reasoning_seen": ("tags",)},
    "tool_call_in_characters": {**CALLED, "tool_calls": (OSLO,)},
    "tool_calls_interleaved": {**CALLED, "tool_calls": (OSLO, BERGEN)},
    "tool_calls_out_of_order": {**CALLED, "tool_calls": (OSLO, BERGEN)},
    "tool_arguments_repeated": {
        **CALLED,
        "tool_calls": (dataclasses.replace(OSLO, arguments=OSLO.arguments * 2),),
        "warnings": ("tool_arguments_repeated",),
    },
    "tool_index_missing": {
        **CALLED,
        "tool_calls": (OSLO, BERGEN),
        "warnings": ("tool_index_missing",),
    },
    "tool_index_reused": {**CALLED, "tool_calls": (OSLO, BERGEN), "warnings": ("tool_index_reused",)},
    "tool_arguments_not_json": {
        **CALLED,
        "tool_calls": (ToolCall("call00001", "get_weather", "city=Oslo"),),
    },
    "tool_arguments_object": {
        **CALLED,
        "tool_calls": (ToolCall("c", "get_weather", '{"city": "Oslo"}'),),
        "warnings": ("tool_arguments_not_text",),
    },
    "tool_two_in_one_chunk": {**CALLED, "tool_calls": (OSLO, BERGEN)},
    "gzip_body": {},
    "gzip_cut": {
        **NOTHING,
        "failure": "malformed_body",
        "message": "the body ends inside its content coding",
    },
    "gzip_bomb": {**NOTHING, "failure": "body_too_large"},
    "coding_unknown": {
        **NOTHING,
        "failure": "malformed_body",
        "message": "the content coding 'br', which nobody asked for",
    },
}

TRANSPORT: dict[str, tuple[FailureClass, dict[str, Any]]] = {
    "reset_mid_stream": ("connection_reset", PARTIAL),
    "closed_mid_stream": ("connection_reset", PARTIAL),
    "hang_mid_stream": ("timeout", PARTIAL),
    "error_html_500": ("http_error", NOTHING),
    "error_json_500": ("http_error", {**NOTHING, "message": f"as the client says: {CUDA}"}),
    "error_500_cut": ("connection_reset", NOTHING),
    "too_many_requests": ("http_error", {**NOTHING, "message": f"as the client says: {CUDA}"}),
    "loading": ("http_error", {**NOTHING, "message": "as the client says: Loading model"}),
    "not_found": ("http_error", {**NOTHING, "message": "as the client says: Not Found"}),
    "redirect": ("redirected", NOTHING),
}
ONLY_ON_A_SOCKET = {
    "hang_at_once",
    "close_at_once",
    "reset_at_once",
    "hang_in_headers",
    "short_body",
    "not_http",
    "bad_chunk_size",
    "drip_for_ever",
    "body_200_mb",
    "million_events",
}


def test_every_case_is_expected_somewhere() -> None:
    assert {*EXPECTED, *TRANSPORT, *ONLY_ON_A_SOCKET} == set(CASES)


@pytest.mark.parametrize("name", EXPECTED)
def test_stream_case(name: str) -> None:
    exchange = exchange_of(CASES[name].make())
    expected = answer(exchange, **EXPECTED[name])
    found = read_chat_stream(exchange)
    if name == "gzip_bomb":
        assert "decode to more than 33554432" in found.message
        expected = dataclasses.replace(expected, message=found.message)
    assert dataclasses.replace(found, raw=None) == expected


@pytest.mark.parametrize("name", TRANSPORT)
def test_transport_case(name: str) -> None:
    failure, told = TRANSPORT[name]
    exchange = exchange_of(CASES[name].make(), failure, "as the client says")
    expected = answer(exchange, failure=failure, **{"message": "as the client says", **told})
    assert read_chat_stream(exchange) == expected


def test_an_error_before_a_reset_is_told_too() -> None:
    exchange = exchange_of(CASES["error_event_data"].make(), "connection_reset", "reset")
    found = read_chat_stream(exchange)
    assert (found.failure, found.message) == ("connection_reset", f"reset\n{CUDA}")


def test_no_response_is_no_answer() -> None:
    exchange = Exchange(b"{}", 0, 1, failure="connection_failed", message="refused")
    for read in READERS:
        assert read(exchange) == Answer(exchange, failure="connection_failed", message="refused")
