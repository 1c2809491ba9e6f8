"""Streams that are as they should be, oddly spelled (cases 1, 2, 3, 4, 10 to 15)."""

from __future__ import annotations

import json

from support.endpoint.cases.table import FIVE, GOOD, ROLE, STOP, add_stream, spell, split, usage, words
from support.endpoint.chat import chunk
from support.endpoint.wire import Pause, events


def _over_lines(payload: object) -> str:
    """An event whose JSON is spread over several data lines."""
    return "".join(f"data: {line}\n" for line in json.dumps(payload, indent=1).split("\n")) + "\n"


add_stream("good", "a plain stream", *events(*GOOD))
add_stream(
    "role_first",
    "1: a role-only chunk long before the first token",
    events(ROLE, done=False)[0],
    Pause(0.3),
    *events(*GOOD[1:]),
)
for _key in ("reasoning_content", "reasoning"):
    add_stream(
        _key, f"2: {_key} deltas, then content", *events(ROLE, *words("let", " me", key=_key), *GOOD[1:])
    )
_both = chunk({"reasoning": "hm", "reasoning_content": "hm"})
add_stream("reasoning_in_both_keys", "2: both keys in one chunk", *events(ROLE, _both, *GOOD[1:]))
_late = usage(completion_tokens=905, total_tokens=916, completion_tokens_details={"reasoning_tokens": 900})
add_stream(
    "reasoning_in_one_late_chunk",
    "3: all reasoning in one chunk, 900 tokens in usage",
    *events(ROLE, *words("hm " * 900, key="reasoning_content"), *GOOD[1:7], _late),
)
add_stream(
    "three_tokens_a_chunk",
    "4: speculative decoding",
    *events(ROLE, *words("one two three", " four five"), STOP, usage()),
)
_running = [
    {**delta, "usage": {"prompt_tokens": 11, "completion_tokens": n, "total_tokens": 11 + n}}
    for n, delta in enumerate(words(*FIVE), 1)
]
add_stream("continuous_usage", "4: usage in every chunk", *events(ROLE, *_running, STOP, usage()))
add_stream(
    "usage_late",
    "10: usage 300 ms after the last token",
    *events(*GOOD[:-1], done=False),
    Pause(0.3),
    *events(usage()),
)
add_stream("crlf", "11: lines end in CR LF", spell(GOOD, end="\r\n"))
add_stream("lone_cr", "11: lines end in CR", spell(GOOD, end="\r"))
add_stream("no_space", "11: data: without a space", spell(GOOD, start="data:"))
add_stream(
    "multi_line_data",
    "11: one event's JSON over several data lines",
    "".join(map(_over_lines, GOOD)).encode(),
    b"data: [DONE]\n\n",
)
add_stream(
    "unicode_line_ends",
    "11: U+2028, U+2029 and U+0085 inside the JSON",
    *events(ROLE, *words("a\u2028b", "\u0085c\u2029"), STOP, usage()),
)
add_stream("byte_order_mark", "11: a leading BOM", b"\xef\xbb\xbf" + spell(GOOD))
add_stream(
    "keepalives",
    "12: comments and empty events during prefill",
    *[step for _ in range(5) for step in (b": ping\n\n", b"data:\n\n", b'data: ""\n\n', Pause(0.01))],
    *events(*GOOD),
)
add_stream(
    "split_emoji",
    "13: a four-byte character over three reads",
    *split(
        spell([ROLE, *words("\U0001f600"), STOP, usage()]),
        spell([ROLE, *words("\U0001f600")]).index(b"\xf0") + 1,
        2,
    ),
)
add_stream(
    "split_border",
    "13: the empty line after an event over two reads",
    *split(spell(GOOD), spell(GOOD).index(b"\n\n") + 1),
)
add_stream(
    "ten_events_in_one_read",
    "14: all events at once",
    b"".join(events(ROLE, *words(*"abcdefg"), STOP, usage())),
)
add_stream(
    "content_on_finish_chunk",
    "15: the last words come with the finish reason",
    *events(ROLE, *words(*FIVE[:4]), chunk({"content": " five"}, finish="stop"), usage()),
)
add_stream("finish_null", "15: the finish reason stays null", *events(*GOOD[:6], chunk({}), usage()))
