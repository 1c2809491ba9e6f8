"""Misbehaviours by name: what is sent, to the byte and the moment.

The numbers are those of the project's list of stream and usage cases. `Case.body` is what is sent of the
body before anything bad happens, for tests of readers that need no socket.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from support.endpoint.chat import Call, Chat, chunk
from support.endpoint.wire import CLOSE, HANG, RESET, Pause, Reply, Request, Step, events

USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
FIVE = ("one", " two", " three", " four", " five")
OSLO = '{"city": "Oslo"}'
MIB = 1 << 20
HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
ERROR = {"error": {"message": "CUDA error: an illegal memory access", "type": "internal", "code": 500}}


@dataclass(frozen=True)
class Case:
    """One misbehaviour. Called with a request it gives the reply; each call makes a new one."""

    about: str
    make: Callable[[], Reply]

    def __call__(self, request: Request) -> Reply:
        return self.make()

    @property
    def body(self) -> bytes:
        """The body's bytes until something bad happens."""
        return self.make().content()


CASES: dict[str, Case] = {}


def case(name: str) -> Case:
    """Look a misbehaviour up."""
    return CASES[name]


def _add(name: str, about: str, reply: Reply | Callable[[], Reply]) -> None:
    CASES[name] = Case(about, (lambda: reply) if isinstance(reply, Reply) else reply)


def _stream(name: str, about: str, *steps: Step, **more: Any) -> None:
    _add(name, about, Reply.of_events(steps, **more))


def _chunks(*chunks: Mapping[str, Any], done: bool = True) -> list[bytes]:
    return events(*chunks, done=done)


def usage(**changed: object) -> dict[str, Any]:
    """The chunk that only carries usage."""
    return {**chunk({}), "choices": [], "usage": {**USAGE, **changed}}


def words(*texts: str, key: str = "content") -> list[dict[str, Any]]:
    """One delta for each text."""
    return [chunk({key: text}) for text in texts]


ROLE = chunk({"role": "assistant", "content": ""})
STOP = chunk({}, finish="stop")
TOOLS = chunk({}, finish="tool_calls")
GOOD = [ROLE, *words(*FIVE), STOP, usage()]


def spell(payloads: Iterable[object], *, start: str = "data: ", end: str = "\n") -> bytes:
    """A whole event stream in another of the spellings that the grammar allows."""
    lines = [json.dumps(payload, ensure_ascii=False) for payload in payloads] + ["[DONE]"]
    return "".join(f"{start}{line}{end}{end}" for line in lines).encode()


def _over_lines(payload: object) -> str:
    """An event whose JSON is spread over several data lines."""
    return "".join(f"data: {line}\n" for line in json.dumps(payload, indent=1).split("\n")) + "\n"


def split(raw: bytes, *sizes: int) -> list[Step]:
    """Bytes in pieces, with a pause after each so that each comes in a read of its own."""
    steps: list[Step] = []
    for size in sizes:
        steps += [raw[:size], Pause(0.02)]
        raw = raw[size:]
    return [*steps, raw]


# --- streams that are as they should be, oddly spelled (1, 2, 3, 4, 10 to 15) ---------------------------

_stream("good", "a plain stream", *_chunks(*GOOD))
_stream(
    "role_first",
    "1: a role-only chunk long before the first token",
    _chunks(ROLE, done=False)[0],
    Pause(0.3),
    *_chunks(*GOOD[1:]),
)
for _key in ("reasoning_content", "reasoning"):
    _stream(
        _key, f"2: {_key} deltas, then content", *_chunks(ROLE, *words("let", " me", key=_key), *GOOD[1:])
    )
_both = chunk({"reasoning": "hm", "reasoning_content": "hm"})
_stream("reasoning_in_both_keys", "2: both keys in one chunk", *_chunks(ROLE, _both, *GOOD[1:]))
_late = usage(completion_tokens=905, total_tokens=916, completion_tokens_details={"reasoning_tokens": 900})
_stream(
    "reasoning_in_one_late_chunk",
    "3: all reasoning in one chunk, 900 tokens in usage",
    *_chunks(ROLE, *words("hm " * 900, key="reasoning_content"), *GOOD[1:7], _late),
)
_stream(
    "three_tokens_a_chunk",
    "4: speculative decoding",
    *_chunks(ROLE, *words("one two three", " four five"), STOP, usage()),
)
_running = [
    {**delta, "usage": {"prompt_tokens": 11, "completion_tokens": n, "total_tokens": 11 + n}}
    for n, delta in enumerate(words(*FIVE), 1)
]
_stream("continuous_usage", "4: usage in every chunk", *_chunks(ROLE, *_running, STOP, usage()))
_stream(
    "usage_late",
    "10: usage 300 ms after the last token",
    *_chunks(*GOOD[:-1], done=False),
    Pause(0.3),
    *_chunks(usage()),
)
_stream("crlf", "11: lines end in CR LF", spell(GOOD, end="\r\n"))
_stream("lone_cr", "11: lines end in CR", spell(GOOD, end="\r"))
_stream("no_space", "11: data: without a space", spell(GOOD, start="data:"))
_stream(
    "multi_line_data",
    "11: one event's JSON over several data lines",
    "".join(map(_over_lines, GOOD)).encode(),
    b"data: [DONE]\n\n",
)
_stream(
    "unicode_line_ends",
    "11: U+2028, U+2029 and U+0085 inside the JSON",
    *_chunks(ROLE, *words("a\u2028b", "\u0085c\u2029"), STOP, usage()),
)
_stream("byte_order_mark", "11: a leading BOM", b"\xef\xbb\xbf" + spell(GOOD))
_stream(
    "keepalives",
    "12: comments and empty events during prefill",
    *[step for _ in range(5) for step in (b": ping\n\n", b"data:\n\n", b'data: ""\n\n', Pause(0.01))],
    *_chunks(*GOOD),
)
_stream(
    "split_emoji",
    "13: a four-byte character over three reads",
    *split(
        spell([ROLE, *words("\U0001f600"), STOP, usage()]),
        spell([ROLE, *words("\U0001f600")]).index(b"\xf0") + 1,
        2,
    ),
)
_stream(
    "split_border",
    "13: the empty line after an event over two reads",
    *split(spell(GOOD), spell(GOOD).index(b"\n\n") + 1),
)
_stream(
    "ten_events_in_one_read",
    "14: all events at once",
    b"".join(_chunks(ROLE, *words(*"abcdefg"), STOP, usage())),
)
_stream(
    "content_on_finish_chunk",
    "15: the last words come with the finish reason",
    *_chunks(ROLE, *words(*FIVE[:4]), chunk({"content": " five"}, finish="stop"), usage()),
)
_stream("finish_null", "15: the finish reason stays null", *_chunks(*GOOD[:6], chunk({}), usage()))

# --- ends that are none (5, 6, 7) ------------------------------------------------------------------------

_stream("cut_cleanly", "5: five tokens, then a clean end", *_chunks(*GOOD[:6], done=False))
_stream("no_done", "6: all but [DONE]", *_chunks(*GOOD, done=False))
_stream(
    "reset_mid_stream", "7: a reset after five tokens", *_chunks(*GOOD[:6], done=False), Pause(0.05), RESET
)
_stream("closed_mid_stream", "7: a FIN inside the chunked body", *_chunks(*GOOD[:6], done=False), CLOSE)
_stream("hang_mid_stream", "7: silence after five tokens", *_chunks(*GOOD[:6], done=False), HANG)
_stream(
    "last_border_missing",
    "the finish chunk lacks its empty line",
    *_chunks(*GOOD[:6], done=False),
    _chunks(STOP, done=False)[0].strip(),
)
_add("hang_at_once", "no byte of a response", Reply([HANG], raw=True))
_add("close_at_once", "a FIN instead of a response", Reply([CLOSE], raw=True))
_add("reset_at_once", "an RST instead of a response", Reply([RESET], raw=True))
_add("hang_in_headers", "a status line and silence", Reply([b"HTTP/1.1 200 OK\r\ncontent-", HANG], raw=True))
_add(
    "short_body",
    "fewer bytes than Content-Length says",
    Reply([b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}", CLOSE], raw=True),
)
_add("not_http", "bytes that are no HTTP", Reply(b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n", raw=True))
_add(
    "bad_chunk_size",
    "a chunk size that is no number",
    Reply(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", raw=True),
)


def _dripping() -> Iterator[Step]:
    while True:
        yield b": still here\n\n"
        yield Pause(0.02)


_add("drip_for_ever", "a comment every 20 ms and nothing else", lambda: Reply.of_events(_dripping()))

# --- errors after and instead of a 200 (8, 22, 24) --------------------------------------------------------

_stream("error_event_data", "8: an error object in the stream", *_chunks(*GOOD[:3], ERROR))
_stream(
    "error_event_type",
    "8: an event of type error",
    *_chunks(*GOOD[:3], done=False),
    b'event: error\ndata: "out of memory"\n\n',
)
_add("error_json_200", "8: 200 and a JSON error, no stream", lambda: Reply.of_json(ERROR))
_add("error_html_500", "8: 500 with HTML", Reply(HTML, 500, "text/html"))
_add("error_json_500", "500 with a JSON error", lambda: Reply.of_json(ERROR, 500))
_add("error_500_cut", "500 whose body is cut", Reply([b"<html>", CLOSE], 500, "text/html"))
_add(
    "too_many_requests",
    "24: 429 with Retry-After",
    Reply(json.dumps(ERROR).encode(), 429, headers={"retry-after": "1"}),
)
_add("loading", "24: 503 while loading", lambda: Reply.of_json({"error": {"message": "Loading model"}}, 503))
_add(
    "redirect",
    "a redirect to elsewhere",
    Reply(b"", 307, headers={"location": "http://elsewhere.test.invalid/"}),
)
_add("not_found", "no such route", lambda: Reply.of_json({"detail": "Not Found"}, 404))
_add("html_200", "200 with HTML", Reply(HTML, 200, "text/html"))
_add("empty_200", "200 without a body", Reply(b""))
_stream(
    "malformed_event",
    "an event that is no JSON",
    *_chunks(*GOOD[:3], done=False),
    b"data: {oops\n\n",
    *_chunks(*GOOD[3:]),
)
_add(
    "whole_instead_of_stream",
    "a whole completion where a stream was asked for",
    lambda: Reply.of_json(Chat("one two three four five", usage=USAGE).whole({}, "test-model")),
)
_stream(
    "bangs",
    "22: 200 and !!!!",
    *_chunks(
        ROLE, *words(*["!!!!"] * 50), chunk({}, finish="length"), usage(completion_tokens=50, total_tokens=61)
    ),
)

# --- usage (9, 17, 18, 20) -----------------------------------------------------------------------------------

_stream("usage_absent", "9: no usage at all", *_chunks(*GOOD[:-1]))
_stream(
    "usage_null", "9: usage null in every chunk", *_chunks(*[{**made, "usage": None} for made in GOOD[:-1]])
)
_stream(
    "usage_prompt_zero",
    "9: usage of 0 prompt tokens",
    *_chunks(*GOOD[:-1], usage(prompt_tokens=0, total_tokens=5)),
)
_stream("usage_total_differs", "9: the total is not the sum", *_chunks(*GOOD[:-1], usage(total_tokens=99)))
_stream(
    "usage_odd_types",
    "usage of strings, floats and negatives",
    *_chunks(*GOOD[:-1], usage(prompt_tokens="11", completion_tokens=5.5, total_tokens=-1)),
)
_stream(
    "usage_cached_exceeds_prompt",
    "more cached than prompt tokens",
    *_chunks(*GOOD[:-1], usage(prompt_tokens_details={"cached_tokens": 12})),
)
_stream(
    "reasoning_only_in_usage",
    "20: reasoning tokens only in usage.reasoning_tokens",
    *_chunks(*GOOD[:-1], usage(reasoning_tokens=3)),
)
_stream(
    "reasoning_only_in_details",
    "20: reasoning tokens only in the details",
    *_chunks(*GOOD[:-1], usage(completion_tokens_details={"reasoning_tokens": 3})),
)
_stream(
    "reasoning_zero_and_null",
    "20: zero and null are no reasoning",
    *_chunks(
        ROLE,
        chunk({"reasoning": None, "reasoning_content": ""}),
        *GOOD[1:-1],
        usage(reasoning_tokens=0, completion_tokens_details={"reasoning_tokens": None}),
    ),
)
_stream(
    "think_tags",
    "20: <think> in visible content, split over chunks",
    *_chunks(ROLE, *words("<th", "ink>hm</thi", "nk>four"), STOP, usage()),
)

# --- tool calls (16) -----------------------------------------------------------------------------------------


def _calls(*deltas: dict[str, Any]) -> list[bytes]:
    return _chunks(ROLE, *[chunk({"tool_calls": [delta]}) for delta in deltas], TOOLS, usage())


def _piece(arguments: str, index: int | None = 0, **more: Any) -> dict[str, Any]:
    return {**({} if index is None else {"index": index}), "function": {"arguments": arguments}, **more}


_oslo, _bergen = (
    Call("get_weather", OSLO, "call0oslo"),
    Call("get_weather", '{"city": "Bergen"}', "call1berg"),
)
_one, _two = list(_oslo.deltas(0, 1)), list(_bergen.deltas(1, 1))
_stream("tool_call_in_characters", "16: id and name first, arguments a character at a time", *_calls(*_one))
_stream(
    "tool_calls_interleaved",
    "16: two calls by turns",
    *_calls(*[d for pair in zip(_one, _two, strict=False) for d in pair], *_two[len(_one) :]),
)
_stream("tool_calls_out_of_order", "16: the second call before the first", *_calls(*_two, *_one))
_stream("tool_arguments_repeated", "16: the arguments twice", *_calls(*_one, _piece(OSLO)))
_stream(
    "tool_index_missing",
    "16: no index",
    *_calls(*[{k: v for k, v in d.items() if k != "index"} for d in [*_one, *_two]]),
)
_stream("tool_index_reused", "two calls with index 0", *_calls(*_one, *_bergen.deltas(0)))
_stream(
    "tool_arguments_not_json",
    "16: arguments that are not JSON",
    *_calls(*Call("get_weather", "city=Oslo").deltas(0)),
)
_stream(
    "tool_arguments_object",
    "arguments as an object",
    *_calls({"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}),
)
_stream(
    "tool_two_in_one_chunk",
    "two calls in one delta",
    *_chunks(
        ROLE,
        chunk({"tool_calls": [{"index": 1, **_bergen.whole()}, {"index": 0, **_oslo.whole()}]}),
        TOOLS,
        usage(),
    ),
)

# --- size and coding (25) --------------------------------------------------------------------------------------


def _long_line() -> Iterator[Step]:
    yield b"data: "
    for _ in range(200):
        yield b"x" * MIB


@cache
def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([packer.compress(bytes(MIB)) for _ in range(200)] + [packer.flush()])


def _million() -> Iterator[Step]:
    block = _chunks(*words("x"), done=False)[0] * 1000
    for _ in range(1000):
        yield block


_GZIP = {"content-encoding": "gzip"}
_add("body_200_mb", "25: 200 MiB of one line", lambda: Reply.of_events(_long_line()))
_add(
    "gzip_body",
    "25: gzip although identity was asked for",
    lambda: Reply.of_events([gzip.compress(spell(GOOD), mtime=0)], headers=_GZIP),
)
_add("gzip_bomb", "25: 200 MiB of zeros in 200 KiB of gzip", lambda: Reply(_bomb(), headers=_GZIP))
_add(
    "gzip_cut",
    "gzip that ends early",
    lambda: Reply(gzip.compress(spell(GOOD), mtime=0)[:-20], headers=_GZIP),
)
_add(
    "coding_unknown",
    "a content coding that nobody asked for",
    Reply(b"\x1b\x00", headers={"content-encoding": "br"}),
)
_add("million_events", "25: a million events", lambda: Reply.of_events(_million()))
