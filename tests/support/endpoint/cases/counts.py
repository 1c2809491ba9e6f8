"""Usage, and where reasoning shows (cases 9, 20)."""

from __future__ import annotations

from support.endpoint.cases.table import GOOD, ROLE, STOP, add_stream, usage, words
from support.endpoint.chat import chunk
from support.endpoint.wire import events

add_stream("usage_absent", "9: no usage at all", *events(*GOOD[:-1]))
add_stream(
    "usage_null", "9: usage null in every chunk", *events(*[{**made, "usage": None} for made in GOOD[:-1]])
)
add_stream(
    "usage_prompt_zero",
    "9: usage of 0 prompt tokens",
    *events(*GOOD[:-1], usage(prompt_tokens=0, total_tokens=5)),
)
add_stream("usage_total_differs", "9: the total is not the sum", *events(*GOOD[:-1], usage(total_tokens=99)))
add_stream(
    "usage_odd_types",
    "usage of strings, floats and negatives",
    *events(*GOOD[:-1], usage(prompt_tokens="11", completion_tokens=5.5, total_tokens=-1)),
)
add_stream(
    "usage_cached_exceeds_prompt",
    "more cached than prompt tokens",
    *events(*GOOD[:-1], usage(prompt_tokens_details={"cached_tokens": 12})),
)
add_stream(
    "reasoning_only_in_usage",
    "20: reasoning tokens only in usage.reasoning_tokens",
    *events(*GOOD[:-1], usage(reasoning_tokens=3)),
)
add_stream(
    "reasoning_only_in_details",
    "20: reasoning tokens only in the details",
    *events(*GOOD[:-1], usage(completion_tokens_details={"reasoning_tokens": 3})),
)
add_stream(
    "reasoning_zero_and_null",
    "20: zero and null are no reasoning",
    *events(
        ROLE,
        chunk({"reasoning": None, "reasoning_content": ""}),
        *GOOD[1:-1],
        usage(reasoning_tokens=0, completion_tokens_details={"reasoning_tokens": None}),
    ),
)
add_stream(
    "think_tags",
    "20: <think> in visible content, split over chunks",
    *events(ROLE, *words("<th", "ink>hm</thi", "nk>four"), STOP, usage()),
)
