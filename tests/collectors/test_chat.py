"""What a chat completion may hold, whole and streamed, and what it may not."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from support.endpoint import Call, Chat, Reply, events
from support.endpoint.cases.table import GOOD, ROLE, STOP, TOOLS, USAGE, usage, words
from support.endpoint.chat import chunk
from support.exchanges import exchange_of, of_json, of_stream

from anvil.collectors.completion import read_chat, read_chat_stream
from anvil.collectors.interface import Answer, ToolCall, Usage
from anvil.ledger.events.checks import FailureClass

FIVE = "one two three four five"
COUNTS = Usage(11, 5, 16)
MODEL = "test-model"


def calls_of(*deltas: dict[str, Any]) -> Answer:
    chunks = [chunk({"tool_calls": [delta]}) for delta in deltas]
    return read_chat_stream(of_stream(ROLE, *chunks, TOOLS, usage()))


def piece(arguments: str | None = None, **more: Any) -> dict[str, Any]:
    name = more.pop("name", None)
    return {**more, "function": {"name": name, "arguments": arguments}}


def test_a_call_whose_name_comes_late_in_pieces_or_again() -> None:
    late = calls_of(piece("{", index=0, id="a"), piece("}", index=0, name="f"))
    parted = calls_of(piece(index=0, id="a", name="get_"), piece("{}", index=0, name="weather"))
    again = calls_of(piece("{", index=0, id="a", name="f"), piece("}", index=0, id="a", name="f"))
    assert late.tool_calls == again.tool_calls == (ToolCall("a", "f", "{}"),)
    assert parted.tool_calls == (ToolCall("a", "get_weather", "{}"),)
    assert late.warnings == parted.warnings == again.warnings == ()


def test_another_id_with_each_piece_is_one_call() -> None:
    found = calls_of(piece("{", index=0, id="a", name="f"), piece("}", index=0, id="b"))
    assert found.tool_calls == (ToolCall("a", "f", "{}"),)
    assert found.warnings == ("tool_id_changes",)


def test_without_index_and_id_a_name_begins_a_call() -> None:
    found = calls_of(piece("{", name="f"), piece("}"), piece("{}", name="g"))
    assert found.tool_calls == (ToolCall(None, "f", "{}"), ToolCall(None, "g", "{}"))


def test_without_index_an_id_says_which_call() -> None:
    parts = [
        piece("{", id="a", name="f"),
        piece("[", id="b", name="g"),
        piece("}", id="a"),
        piece("]", id="b"),
    ]
    assert calls_of(*parts).tool_calls == (ToolCall("a", "f", "{}"), ToolCall("b", "g", "[]"))


@pytest.mark.parametrize(
    "delta",
    [
        "no object",
        {"index": 0, "function": "f"},
        {"index": "0", "function": {}},
        {"index": -1, "function": {}},
        {"index": True, "function": {}},
        {"index": 10**9, "function": {}},
        {"index": 0, "id": 7, "function": {}},
        {"index": 0, "function": {"name": ["f"]}},
    ],
)
def test_what_is_no_piece_of_a_call(delta: Any) -> None:
    assert calls_of(delta).failure == "malformed_stream"


def test_a_piece_without_function_only_names_the_call() -> None:
    assert calls_of({"index": 0, "id": "a"}, piece("{}", index=0, name="f")).tool_calls == (
        ToolCall("a", "f", "{}"),
    )


@pytest.mark.parametrize(
    "odd",
    [
        '{"choices": {}}',
        '{"choices": [1]}',
        '{"choices": [{"index": 0, "delta": "text"}]}',
        '{"choices": [{"index": 0, "delta": {"content": 7}}]}',
        '{"choices": [{"index": 0, "delta": {"reasoning": []}}]}',
        '{"choices": [{"index": 0, "delta": {}, "finish_reason": 1}]}',
        '{"choices": [{"index": 0, "delta": {"tool_calls": {}}}]}',
        '{"choices": [], "choices": []}',
        '{"choices": [], "n": NaN}',
        '{"choices": [], "n": -Infinity}',
        '{"choices": [], "n": 1e999}',
        '{"choices": [], "n": 1' + "0" * 5000 + "}",
        '{"choices": [], "n": 18446744073709551616}',
        "[" * 100_000,
        '{"a":' * 100_000,
        "[]",
        "null",
        "7",
        '"text"',
        "[DONE",
        "{} {}",
    ],
    ids=lambda text: text[:60],
)
def test_a_malformed_event_between_good_ones(odd: str) -> None:
    body = b"".join(events(*GOOD[:3], done=False)) + f"data: {odd}\n\n".encode() + b"".join(events(*GOOD[3:]))
    found = read_chat_stream(exchange_of(Reply.of_events([body])))
    assert found.failure == "malformed_stream"
    assert found.visible == FIVE
    assert found.finish_reason == "stop"
    assert len(found.message) < 300


def test_a_stream_of_another_content_type_is_read() -> None:
    found = read_chat_stream(exchange_of(Reply(b"".join(events(*GOOD)), content_type="text/plain")))
    assert (found.visible, found.failure, found.warnings) == (FIVE, None, ())


def test_a_stream_of_comments_only_is_truncated() -> None:
    assert read_chat_stream(exchange_of(Reply.of_events([b": ping\n\n"]))).failure == "truncated_stream"


def test_an_empty_usage_takes_nothing_back() -> None:
    assert read_chat_stream(of_stream(*GOOD, {**usage(), "usage": {}})).usage == COUNTS


def test_other_choices_are_not_read() -> None:
    other = {"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}
    found = read_chat_stream(of_stream(ROLE, {**ROLE, "choices": [other]}, *GOOD[1:]))
    assert (found.visible, found.finish_reason, found.warnings) == (FIVE, "stop", ("several_choices",))


def test_what_follows_done_is_not_read() -> None:
    body = b"".join(events(*GOOD)) + b"".join(events(*words(" six")))
    found = read_chat_stream(exchange_of(Reply.of_events([body])))
    assert (found.visible, found.warnings) == (FIVE, ("data_after_done",))


def test_a_chunk_without_choices_is_no_output() -> None:
    assert read_chat_stream(of_stream({"progress": 1}, *GOOD)).warnings == ("chunk_without_choices",)


def test_another_model_on_the_way_is_noted() -> None:
    found = read_chat_stream(of_stream(*GOOD[:-1], {**usage(), "model": "fallback"}))
    assert (found.model, found.warnings) == ("fallback", ("model_changes",))


def test_a_character_whose_surrogates_came_apart_is_whole() -> None:
    parted = [
        json.dumps(delta).replace("HALF", half)
        for delta, half in zip(words("HALF", "HALF"), ("\\ud83d", "\\ude00"), strict=True)
    ]
    body = b"".join(f"data: {text}\n\n".encode() for text in parted) + b"".join(events(STOP, usage()))
    found = read_chat_stream(exchange_of(Reply.of_events([body])))
    assert (found.visible, found.warnings) == ("\U0001f600", ("surrogate",))
    alone = read_chat_stream(exchange_of(Reply.of_events([body.replace(b"\\ude00", b"")])))
    assert alone.visible == "\ufffd"


def test_bytes_that_are_no_utf8_are_noted() -> None:
    body = b"".join(events(*GOOD)).replace(b"two", b"t\xffo")
    found = read_chat_stream(exchange_of(Reply.of_events([body])))
    assert (found.visible, found.warnings) == ("one t\ufffdo three four five", ("invalid_utf8",))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ('event: error\ndata: {"error": {"message": "m", "code": 1}}', "m"),
        ('event: error\ndata: {"detail": "d"}', '{"detail": "d"}'),
        ("event: error\ndata: not JSON", "not JSON"),
        ('data: {"error": "m"}', "m"),
        ('data: {"error": {"code": 1}}', '{"code": 1}'),
        ('data: {"object": "error", "message": "m", "code": 400}', "m"),
    ],
)
def test_errors_in_a_stream_are_told_whole(event: str, message: str) -> None:
    body = f"{event}\n\n".encode() + b"".join(events(*GOOD))
    found = read_chat_stream(exchange_of(Reply.of_events([body])))
    assert (found.failure, found.message, found.visible) == ("error_in_stream", message, FIVE)


def test_an_error_of_null_is_none() -> None:
    assert read_chat_stream(of_stream(*[{**made, "error": None} for made in GOOD])).failure is None


# --- tags ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["<think>", "a</think>b", "<THINK>", "<thinking>x", "<thought>", "<reasoning >", "<think/>", "<seed:think>", "[THINK]", "[/THINK]", "◁think▷", "<|channel|>analysis", "<|begin_of_thought|>"],
)  # fmt: skip
def test_tags_like_think_are_reasoning(text: str) -> None:
    assert read_chat(of_json(Chat(text).whole({}, MODEL))).reasoning_seen == ("tags",)


@pytest.mark.parametrize(
    "text", ["think", "a < think > b", "<thinker>", "<b>", "[thinking about it]", "<-- think -->"]
)
def test_what_only_looks_like_a_tag_is_not(text: str) -> None:
    assert read_chat(of_json(Chat(text).whole({}, MODEL))).reasoning_seen == ()


def test_blank_reasoning_is_kept_and_not_seen() -> None:
    found = read_chat(of_json(Chat("ok", reasoning="\n\n").whole({}, MODEL)))
    assert (found.reasoning, found.reasoning_seen) == ({"reasoning_content": "\n\n"}, ())


# --- whole -----------------------------------------------------------------------------------------


def test_whole_and_streamed_say_the_same() -> None:
    said = Chat(
        "it is 4", "hm so", calls=(Call("f", '{"a": 1}', "c1"), Call("g", "{}", "c2")), cached_tokens=3
    )
    asked = {"messages": [{"role": "user", "content": "2 + 2?"}], "stream_options": {"include_usage": True}}
    whole = read_chat(of_json(said.whole(asked, MODEL)))
    streamed = read_chat_stream(of_stream(*said.chunks(asked, MODEL)))
    assert whole.failure is None
    assert whole.warnings == ()
    assert dataclasses.replace(whole, exchange=streamed.exchange, raw=None) == streamed


def test_whole_calls_need_no_index_and_no_id_of_their_own() -> None:
    said = Chat(calls=(Call("f", "{}", ""), Call("f", "{}", ""), Call("g", "{}", "x"), Call("g", "{}", "x")))
    found = read_chat(of_json(said.whole({}, MODEL)))
    assert [call.name for call in found.tool_calls] == ["f", "f", "g", "g"]
    assert (found.tool_calls[0].call_id, found.warnings) == (None, ())


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (b"", "malformed_body"),
        (b"<html>", "malformed_body"),
        (b"\xff\xfe", "malformed_body"),
        (b"[]", "malformed_body"),
        (b"{}", "malformed_body"),
        (b'{"choices": []}', "malformed_body"),
        (b'{"choices": [{"index": 1, "message": {}}]}', "malformed_body"),
        (b'{"choices": [{"message": null, "finish_reason": "stop"}]}', "malformed_body"),
        (b'{"choices": [{"message": {"content": ["parts"]}, "finish_reason": "stop"}]}', "malformed_body"),
        (b'{"choices": [{"message": {"content": "x"}, "finish_reason": null}]}', "unexpected_finish_reason"),
        (b'{"choices": [{"message": {"content": "x"}, "finish_reason": ""}]}', "unexpected_finish_reason"),
        (b'{"error": {"message": "m"}}', "error_in_stream"),
        (b'{"object": "error", "message": "m"}', "error_in_stream"),
        (b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}]}', None),
        (b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "error": null}', None),
        (b'{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "error": false}', None),
    ],
)
def test_whole_bodies(body: bytes, failure: FailureClass | None) -> None:
    assert read_chat(exchange_of(Reply(body))).failure == failure


def test_a_refusal_is_noted() -> None:
    said = Chat(message={"refusal": "I cannot"}).whole({}, MODEL)
    assert read_chat(of_json(said)).warnings == ("refusal",)


@pytest.mark.parametrize(
    ("changed", "expected", "warnings"),
    [
        ({"completion_tokens": 0, "total_tokens": 11}, Usage(11, None, 11), ("usage_completion_zero",)),
        ({"completion_tokens": True}, Usage(11, None, 16), ("usage_malformed",)),
        ({"completion_tokens": 2**60}, Usage(11, None, 16), ("usage_malformed",)),
        ({"completion_tokens": None}, Usage(11, None, 16), ()),
        ({"total_tokens": None}, Usage(11, 5), ()),
        ({"reasoning_tokens": 6}, Usage(11, 5, 16, 6), ("usage_reasoning_exceeds_completion",)),
        (
            {"reasoning_tokens": 0, "completion_tokens_details": {"reasoning_tokens": 2}},
            Usage(11, 5, 16, 2),
            ("usage_reasoning_differs",),
        ),
        ({"prompt_tokens_details": {"cached_tokens": 4}}, Usage(11, 5, 16, cached_tokens=4), ()),
        ({"prompt_tokens_details": None, "completion_tokens_details": 3}, COUNTS, ()),
    ],
)
def test_counts(changed: dict[str, Any], expected: Usage, warnings: tuple[str, ...]) -> None:
    found = read_chat(of_json(Chat("four", usage={**USAGE, **changed}).whole({}, MODEL)))
    assert (found.usage, found.warnings) == (expected, warnings)


def test_no_tokens_for_no_output_is_a_count() -> None:
    told = Chat(usage={**USAGE, "completion_tokens": 0, "total_tokens": 11}).whole({}, MODEL)
    found = read_chat(of_json(told))
    assert (found.usage, found.warnings) == (Usage(11, 0, 11), ())


def test_usage_that_is_no_object() -> None:
    told = {**Chat("four").whole({}, MODEL), "usage": [1]}
    assert read_chat(of_json(told)).warnings == ("usage_malformed", "usage_absent")
