"""Errors after a 200 and instead of one, and other things that are no answer (cases 8, 22, 24)."""

from __future__ import annotations

import json

from support.endpoint.cases.table import ERROR, GOOD, HTML, ROLE, USAGE, add, add_stream, usage, words
from support.endpoint.chat import Chat, chunk
from support.endpoint.wire import CLOSE, Reply, events

add_stream("error_event_data", "8: an error object in the stream", *events(*GOOD[:3], ERROR))
add_stream(
    "error_event_type",
    "8: an event of type error",
    *events(*GOOD[:3], done=False),
    b'event: error\ndata: "out of memory"\n\n',
)
add("error_json_200", "8: 200 and a JSON error, no stream", lambda: Reply.of_json(ERROR))
add("error_html_500", "8: 500 with HTML", Reply(HTML, 500, "text/html"))
add("error_json_500", "500 with a JSON error", lambda: Reply.of_json(ERROR, 500))
add("error_500_cut", "500 whose body is cut", Reply([b"<html>", CLOSE], 500, "text/html"))
add(
    "too_many_requests",
    "24: 429 with Retry-After",
    Reply(json.dumps(ERROR).encode(), 429, headers={"retry-after": "1"}),
)
add("loading", "24: 503 while loading", lambda: Reply.of_json({"error": {"message": "Loading model"}}, 503))
add(
    "redirect",
    "a redirect to elsewhere",
    Reply(b"", 307, headers={"location": "http://elsewhere.test.invalid/"}),
)
add("not_found", "no such route", lambda: Reply.of_json({"detail": "Not Found"}, 404))
add("html_200", "200 with HTML", Reply(HTML, 200, "text/html"))
add("empty_200", "200 without a body", Reply(b""))
add_stream(
    "malformed_event",
    "an event that is no JSON",
    *events(*GOOD[:3], done=False),
    b"data: {oops\n\n",
    *events(*GOOD[3:]),
)
add(
    "whole_instead_of_stream",
    "a whole completion where a stream was asked for",
    lambda: Reply.of_json(Chat("one two three four five", usage=USAGE).whole({}, "test-model")),
)
add_stream(
    "other_model",
    "23: another model answers",
    *events(*[{**made, "model": "fallback"} for made in GOOD]),
)
add_stream(
    "bangs",
    "22: 200 and !!!!",
    *events(
        ROLE, *words(*["!!!!"] * 50), chunk({}, finish="length"), usage(completion_tokens=50, total_tokens=61)
    ),
)
