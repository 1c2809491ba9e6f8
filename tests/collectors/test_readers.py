"""No bytes make a reader of completions raise, and what comes out can be written down."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.endpoint import CASES, Call, Chat
from support.mangle import mangled

from anvil.collectors import failures
from anvil.collectors.completion import read_chat, read_chat_stream, read_responses
from anvil.collectors.interface import Exchange

READERS = (read_chat, read_chat_stream, read_responses)
MODEL = "test-model"


VALID = [
    *(CASES[name].body for name in ("tool_calls_interleaved", "reasoning_in_both_keys", "multi_line_data")),
    json.dumps(Chat("4", "hm", calls=(Call("f", "{}"),)).whole({}, MODEL)).encode(),
    json.dumps(Chat("4", "hm", calls=(Call("f", "{}"),)).response({}, MODEL)).encode(),
]
KEYS = st.sampled_from([
    "choices", "delta", "message", "content", "reasoning", "tool_calls", "index", "id", "function", "name",
    "arguments", "finish_reason", "usage", "prompt_tokens", "completion_tokens_details", "reasoning_tokens",
    "error", "object", "output", "type", "status", "text", "model", "total_tokens", "summary",
])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


def read_all(body: bytes, status: int = 200, coding: str = "") -> None:
    """Read with every reader. What comes out can be written down."""
    exchange = Exchange(b"{}", 0, 1, status, {"content-encoding": coding} if coding else {}, body)
    for read in READERS:
        found = read(exchange)
        assert found.failure is None or found.failure in failures.ORDER
        texts = [found.visible, found.message, *found.reasoning.values(), found.model or ""]
        texts += [found.finish_reason or "", *(f"{call.name}{call.arguments}" for call in found.tool_calls)]
        "".join(texts).encode()


@given(st.one_of(st.binary(max_size=200), *(mangled(raw) for raw in VALID)), st.sampled_from([200, 404, 500]))
def test_no_bytes_raise(body: bytes, status: int) -> None:
    read_all(body, status)


@given(
    st.binary(max_size=60),
    st.sampled_from(["gzip", "deflate", "gzip, deflate", "br", "identity", ",", "\u00e9"]),
)
def test_no_content_coding_raises(body: bytes, coding: str) -> None:
    read_all(body, coding=coding)


@given(st.lists(JSON, max_size=4))
def test_no_json_raises(values: list[Any]) -> None:
    read_all(b"".join(f"data: {json.dumps(value)}\n\n".encode() for value in values))
    for value in values:
        read_all(json.dumps(value).encode())


@given(JSON)
def test_no_odd_member_raises(value: Any) -> None:
    for name in ("choices", "usage", "error", "model", "output"):
        read_all(json.dumps({**Chat("4").whole({}, MODEL), "status": "completed", name: value}).encode())
    for name in ("message", "delta", "finish_reason", "index"):
        choice = {"index": 0, "message": {}, "delta": {}, "finish_reason": "stop", name: value}
        raw = json.dumps({"choices": [choice]})
        read_all(raw.encode())
        read_all(f"data: {raw}\n\n".encode())
