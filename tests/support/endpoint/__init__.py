"""A small HTTP server of ours on a real socket: an oracle that answers as told, and an endpoint that misbehaves.

As an oracle, a chat handler takes the request's JSON and says what a model would; whether it is sent
whole or streamed is the request's affair (`stream`), and so is the Responses API:

    def chat(payload):
        return Chat(content="4")              # or Chat(calls=(Call("get_weather", '{"city": "Oslo"}'),))

    with Server(chat=chat) as server:
        ...Endpoint(server.base_url, server.model)...
        assert server.requests[0].json["temperature"] == 0

A handler may also return a text (the visible answer), a dict (a 200 with that JSON, whatever was
asked for) or a `Reply`, which is any bytes at any moment. `on` registers a handler for a path; it takes
the `Request` and returns the same. A handler that raises is answered with a 500, and leaving the `with`
raises the same again, so that an assertion in a handler fails its test.

As a misbehaving endpoint, `Server(every=case("no_done"))` answers every POST with one of `CASES`, and
`python -m support.endpoint no_done` (from tests/) does so by hand until it is interrupted. What a load client must make of each case stands in
`rows.json`, for clients of others too; docs/load.md says what its members mean.
"""

from support.endpoint.cases import CASES, Case, case
from support.endpoint.chat import Call, Chat, prompt_tokens
from support.endpoint.server import Server
from support.endpoint.wire import CLOSE, HANG, RESET, Pause, Reply, Request, events

__all__ = [
    "CASES",
    "CLOSE",
    "HANG",
    "RESET",
    "Call",
    "Case",
    "Chat",
    "Pause",
    "Reply",
    "Request",
    "Server",
    "case",
    "events",
    "prompt_tokens",
]
