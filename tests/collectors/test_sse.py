"""The event stream grammar: exact events, whatever the cuts, and agreement with a naive second reading."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.endpoint import CASES

from anvil.collectors.sse import Parser, ServerSentEvent, parse

Told = tuple[str, str, str]


def told(events: list[ServerSentEvent] | tuple[ServerSentEvent, ...]) -> list[Told]:
    return [(event.event, event.data, event.last_event_id) for event in events]


def in_pieces(pieces: list[bytes]) -> tuple[list[ServerSentEvent], Parser]:
    parser = Parser()
    return [event for piece in pieces for event in parser.feed(piece)], parser


def naive(body: bytes) -> list[Told]:
    """The standard's own words, over a text that is decoded and split beforehand."""
    lines = re.split("\r\n|\n|\r", body.decode(errors="replace").removeprefix("\ufeff"))[:-1]
    events: list[Told] = []
    data, kind, last_id = "", "", ""
    for line in lines:
        if line == "":
            if data:
                events.append((kind or "message", data.removesuffix("\n"), last_id))
            data, kind = "", ""
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if name == "data":
                data += value + "\n"
            elif name == "event":
                kind = value
            elif name == "id" and "\0" not in value:
                last_id = value
    return events


EXACT: dict[str, tuple[bytes, list[Told]]] = {
    "lf": (b"data: a\n\n", [("message", "a", "")]),
    "crlf": (b"data: a\r\n\r\n", [("message", "a", "")]),
    "lone_cr": (b"data: a\r\rdata: b\r\r", [("message", "a", ""), ("message", "b", "")]),
    "mixed_line_ends": (b"data: a\r\ndata: b\n\rdata: c\r\n\n", [("message", "a\nb", ""), ("message", "c", "")]),
    "cr_cr_lf_is_a_border": (b"data: a\r\r\ndata: b\n\n", [("message", "a", ""), ("message", "b", "")]),
    "no_space": (b"data:a\n\n", [("message", "a", "")]),
    "one_space_is_dropped_only": (b"data:  a \n\n", [("message", " a ", "")]),
    "tab_is_content": (b"data:\ta\n\n", [("message", "\ta", "")]),
    "multi_line": (b"data: a\ndata\ndata:b\n\n", [("message", "a\n\nb", "")]),
    "empty_data": (b"data\n\ndata:\n\n", [("message", "", ""), ("message", "", "")]),
    "two_empty_data_lines": (b"data\ndata\n\n", [("message", "\n", "")]),
    "event_type": (b"event: error\ndata: x\n\ndata: y\n\n", [("error", "x", ""), ("message", "y", "")]),
    "event_without_data": (b"event: error\n\ndata: x\n\n", [("message", "x", "")]),
    "id_stays": (b"id: 1\ndata: x\n\ndata: y\n\nid\ndata: z\n\n", [("message", "x", "1"), ("message", "y", "1"), ("message", "z", "")]),
    "id_with_nul_is_ignored": (b"id: 1\nid: a\0b\ndata: x\n\n", [("message", "x", "1")]),
    "comments": (b": hello\n:\n\n:data: x\n\ndata: a\n:in between\ndata: b\n\n", [("message", "a\nb", "")]),
    "unknown_fields": (b"Data: x\n data: y\ndatax: z\ndata: a\n\n", [("message", "a", "")]),
    "byte_order_mark": (b"\xef\xbb\xbfdata: a\n\n", [("message", "a", "")]),
    "second_byte_order_mark": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", []),
    "half_a_byte_order_mark": (b"\xef\xbbdata: a\n\n", []),
    "other_line_ends_are_content": ("data: a\u2028b\u2029c\u0085d\x0be\x0cf\n\n".encode(), [("message", "a\u2028b\u2029c\u0085d\x0be\x0cf", "")]),
    "four_byte_character": ("data: \U0001f600\n\n".encode(), [("message", "\U0001f600", "")]),
    "not_utf8": (b"data: \xff\xf0\x9f\n\n", [("message", "\ufffd\ufffd", "")]),
    "colon_in_value": (b"data: a: b:\n\n", [("message", "a: b:", "")]),
    "border_missing": (b"data: a\n\ndata: b\n", [("message", "a", "")]),
    "line_end_missing": (b"data: a\n\ndata: b", [("message", "a", "")]),
    "only_borders": (b"\n\n\r\n\r", []),
    "nothing": (b"", []),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact_events(name: str) -> None:
    body, expected = EXACT[name]
    assert told(parse(body)) == expected
    assert naive(body) == expected


@pytest.mark.parametrize("name", EXACT)
def test_no_cut_changes_anything(name: str) -> None:
    body, _ = EXACT[name]
    whole = list(parse(body))
    for first in range(len(body) + 1):
        for second in range(first, len(body) + 1):
            assert in_pieces([body[:first], body[first:second], body[second:]])[0] == whole
    assert in_pieces([body[at : at + 1] for at in range(len(body))])[0] == whole


STREAMS = [
    "crlf",
    "lone_cr",
    "no_space",
    "multi_line_data",
    "byte_order_mark",
    "keepalives",
    "unicode_line_ends",
    "split_emoji",
]


@pytest.mark.parametrize("name", STREAMS)
def test_no_cut_changes_a_stream_of_an_endpoint(name: str) -> None:
    body = CASES[name].body
    whole = list(parse(body))
    assert told(whole) == naive(body)
    assert len(whole) >= 5
    for cut in range(len(body) + 1):
        assert in_pieces([body[:cut], body[cut:]])[0] == whole
    assert in_pieces([body[at : at + 1] for at in range(len(body))])[0] == whole


PARTS = st.sampled_from([
    b"data", b"event", b"id", b"retry", b":", b" ", b"\n", b"\r", b"\r\n", b"\n\n", b"x", b"1", b"\0",
    b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80", b"\xf0\x9f", b"\xe2\x80\xa8", b"\xc2\x85", b"\xff",
])  # fmt: skip
BODIES = st.one_of(st.lists(PARTS, max_size=60).map(b"".join), st.binary(max_size=80))


@given(BODIES, st.lists(st.integers(0, 80), max_size=12))
def test_any_bytes_in_any_pieces_are_read_as_the_standard_says(body: bytes, cuts: list[int]) -> None:
    borders = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    pieces = [body[start:end] for start, end in pairwise(borders)]
    events, _ = in_pieces(pieces)
    assert told(events) == naive(body)
    assert events == list(parse(body))
    # What the end of each event says: up to there the stream tells it, and a byte less does not.
    for number, event in enumerate(events, 1):
        assert len(parse(body[: event.end])) == number
        assert len(parse(body[: event.end - 1])) == number - 1


def test_what_is_not_an_event_is_counted() -> None:
    events, parser = in_pieces([b": ping\n\n" * 3, b"event: x\n\nretry: 1500\nretry: 1s\ndata: \xff\n\nda"])
    assert told(events) == [("message", "\ufffd", "")]
    assert (parser.comments, parser.dataless, parser.replaced, parser.retry) == (3, 1, 1, 1500)
    assert parser.pending


def test_an_event_is_given_as_soon_as_its_border_is_there() -> None:
    parser = Parser()
    assert parser.feed(b"data: a\r") == []
    assert told(parser.feed(b"\n\r")) == [("message", "a", "")]
    assert parser.feed(b"\n") == []
    assert not parser.pending


def test_a_line_of_a_mib_in_small_pieces_takes_no_square_of_time() -> None:
    parser = Parser()
    for _ in range(1 << 12):
        assert parser.feed(b"x" * 256) == []
    assert parser.pending


@pytest.mark.parametrize(
    ("rest", "pending"),
    [
        (b"", False),
        (b": ping\n", False),
        (b"data: b\n", True),
        (b"event: x\r", True),
        (b"da", True),
        (b":", True),
    ],
)
def test_what_follows_the_last_border_is_pending(rest: bytes, pending: bool) -> None:
    assert in_pieces([b"data: a\n\n", rest])[1].pending is pending
