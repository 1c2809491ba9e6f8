"""Tool calls in pieces (case 16)."""

from __future__ import annotations

from typing import Any

from support.endpoint.cases.table import OSLO, ROLE, TOOLS, add_stream, usage
from support.endpoint.chat import Call, chunk
from support.endpoint.wire import events


def _calls(*deltas: dict[str, Any]) -> list[bytes]:
    return events(ROLE, *[chunk({"tool_calls": [delta]}) for delta in deltas], TOOLS, usage())


def _piece(arguments: str, index: int | None = 0, **more: Any) -> dict[str, Any]:
    return {**({} if index is None else {"index": index}), "function": {"arguments": arguments}, **more}


_oslo, _bergen = (
    Call("get_weather", OSLO, "call0oslo"),
    Call("get_weather", '{"city": "Bergen"}', "call1berg"),
)
_one, _two = list(_oslo.deltas(0, 1)), list(_bergen.deltas(1, 1))
add_stream(
    "tool_call_in_characters", "16: id and name first, arguments a character at a time", *_calls(*_one)
)
add_stream(
    "tool_calls_interleaved",
    "16: two calls by turns",
    *_calls(*[d for pair in zip(_one, _two, strict=False) for d in pair], *_two[len(_one) :]),
)
add_stream("tool_calls_out_of_order", "16: the second call before the first", *_calls(*_two, *_one))
add_stream("tool_arguments_repeated", "16: the arguments twice", *_calls(*_one, _piece(OSLO)))
add_stream(
    "tool_index_missing",
    "16: no index",
    *_calls(*[{k: v for k, v in d.items() if k != "index"} for d in [*_one, *_two]]),
)
add_stream("tool_index_reused", "two calls with index 0", *_calls(*_one, *_bergen.deltas(0)))
add_stream(
    "tool_arguments_not_json",
    "16: arguments that are not JSON",
    *_calls(*Call("get_weather", "city=Oslo").deltas(0)),
)
add_stream(
    "tool_arguments_object",
    "arguments as an object",
    *_calls({"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}),
)
add_stream(
    "tool_two_in_one_chunk",
    "two calls in one delta",
    *events(
        ROLE,
        chunk({"tool_calls": [{"index": 1, **_bergen.whole()}, {"index": 0, **_oslo.whole()}]}),
        TOOLS,
        usage(),
    ),
)
