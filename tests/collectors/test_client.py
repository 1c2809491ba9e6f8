"""The client on real sockets: what arrived is kept, every wait ends, nothing an endpoint does raises."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest
from support.asking import CHAT, PATIENT, SHORT, ask
from support.endpoint import CASES, Chat, Pause, Reply, Request, Server, case, events

from anvil.collectors.client import Client
from anvil.collectors.interface import Deadlines, Endpoint, Exchange
from anvil.ledger.events.checks import FailureClass

KEY = "sk-not-a-real-key-0123456789"


def ask_case(name: str, **more: Any) -> Exchange:
    with Server(every=case(name)) as server:
        return ask(server, **more)[0]


# --- what came is kept, whatever became of it ---------------------------------------------------------

WHOLE = [
    "good",
    "crlf",
    "keepalives",
    "split_emoji",
    "cut_cleanly",
    "error_json_200",
    "html_200",
    "empty_200",
    "gzip_body",
    "gzip_cut",
    "coding_unknown",
]
FAILED: dict[str, tuple[FailureClass, int | None, str]] = {
    "reset_mid_stream": ("connection_reset", 200, "ConnectionResetError: [Errno 104]"),
    "closed_mid_stream": ("connection_reset", 200, "incomplete chunked read"),
    "hang_mid_stream": ("timeout", 200, "more of the body did not come within 0.4 s"),
    "short_body": ("connection_reset", 200, "received 2 bytes, expected 100"),
    "close_at_once": ("connection_reset", None, "Server disconnected"),
    "reset_at_once": ("connection_reset", None, "ConnectionResetError: [Errno 104]"),
    "hang_at_once": ("timeout", None, "the first byte of a body did not come within 0.6 s"),
    "hang_in_headers": ("timeout", None, "the first byte of a body did not come within 0.6 s"),
    "drip_for_ever": ("timeout", 200, "more of the body did not come before the deadline over all"),
    "not_http": ("malformed_body", None, "illegal status line"),
    "bad_chunk_size": ("malformed_body", 200, "illegal chunk header"),
    "error_html_500": ("http_error", 500, "HTTP 500 X"),
    "error_json_500": ("http_error", 500, "HTTP 500 X"),
    "error_500_cut": ("connection_reset", 500, "HTTP 500 X"),
    "too_many_requests": ("http_error", 429, "HTTP 429 X"),
    "loading": ("http_error", 503, "HTTP 503 X"),
    "redirect": ("redirected", 307, "Location: http://elsewhere.test.invalid/"),
    "not_found": ("http_error", 404, "HTTP 404 X"),
}
BODY_IS_IN_THE_FRAMING = {"short_body": b"{}", "drip_for_ever": None, "bad_chunk_size": b""}


@pytest.mark.parametrize("name", WHOLE)
def test_a_body_is_kept_as_it_came(name: str) -> None:
    exchange = ask_case(name, stream=True)
    assert (exchange.failure, exchange.message, exchange.status) == (None, "", 200)
    assert exchange.body == CASES[name].body


@pytest.mark.parametrize("name", FAILED)
def test_failure(name: str) -> None:
    failure, status, message = FAILED[name]
    exchange = ask_case(name, stream=True, deadlines=SHORT if failure == "timeout" else PATIENT)
    assert (exchange.failure, exchange.status) == (failure, status)
    assert message in exchange.message
    if status is not None:
        kept = BODY_IS_IN_THE_FRAMING[name] if name in BODY_IS_IN_THE_FRAMING else CASES[name].body
        assert exchange.body == kept or kept is None
    assert exchange.latency_ns < 3e9


def test_of_several_failures_the_first_class_stands_and_all_are_told() -> None:
    with Server(every=lambda request: Reply([b"x" * 100], 500)) as server:
        exchange = ask(server, body_limit=10)[0]
    assert exchange.failure == "http_error"
    assert exchange.message.splitlines() == [
        "HTTP 500 X",
        "more than 10 bytes; what follows them was not read",
    ]
    assert exchange.body == b"x" * 10


def test_a_body_at_its_limit_is_whole_and_one_byte_more_is_not() -> None:
    with Server(every=lambda request: Reply(b"x" * 1000)) as server:
        assert ask(server, body_limit=1000)[0].failure is None
        exchange = ask(server, body_limit=999)[0]
    assert (exchange.failure, len(exchange.body)) == ("body_too_large", 999)
    assert exchange.reads[-1][0] == 999


# --- moments -----------------------------------------------------------------------------------------------


def test_reads_say_how_much_had_come_and_when() -> None:
    with Server(every=case("role_first")) as server:
        exchange = ask(server, stream=True)[0]
        request, written = server.requests[0], server.writes[0]
    offsets = [offset for offset, _ in exchange.reads]
    assert offsets == sorted(set(offsets))
    assert offsets[-1] == len(exchange.body)
    moments = [exchange.started_ns, *(moment for _, moment in exchange.reads), exchange.ended_ns]
    assert moments == sorted(moments)
    role = exchange.body.index(b"\n\n") + 2
    assert exchange.reads[0][0] == role
    assert exchange.reads[1][1] - exchange.reads[0][1] > 200_000_000
    # The server is in this process, so its clock is ours: nothing is early, nothing much late.
    assert exchange.started_ns <= request.at_ns
    assert 0 <= exchange.reads[0][1] - written[1][0] < 500_000_000


def test_chunks_that_come_together_are_one_read() -> None:
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(event), event) for event in events(*[{"n": n} for n in range(10)])
    )
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    steps = [head, Pause(0.25), chunks, Pause(0.25), chunks + b"0\r\n\r\n"]
    with Server(every=lambda request: Reply(steps, raw=True)) as server:
        exchange = ask(server)[0]
    half = len(exchange.body) // 2
    assert [offset for offset, _ in exchange.reads] == [half, half * 2]


def full_listener(stack: ExitStack) -> socket.socket:
    """A socket whose queue of connections is full, so that the next one waits for an answer to its SYN."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
    with ExitStack() as waiting:
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        time.sleep(0.1)
    # They went away, but their places in the queue are taken until somebody accepts.
    return listener


def test_the_time_to_connect_is_not_the_answers() -> None:
    def accept(listener: socket.socket) -> None:
        time.sleep(0.3)
        while True:
            connection, _ = listener.accept()
            stack.enter_context(connection)
            if connection.recv(1000):
                connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                return

    with ExitStack() as stack:
        listener = full_listener(stack)
        threading.Thread(target=accept, args=[listener], daemon=True).start()
        started = time.monotonic_ns()
        exchange = ask(f"http://127.0.0.1:{listener.getsockname()[1]}")[0]
    assert exchange.failure is None
    # The kernel asks again after a second.
    assert exchange.started_ns - started > 900_000_000
    assert exchange.latency_ns < 900_000_000


def test_a_deadline_of_the_caller_comes_first() -> None:
    started = time.monotonic()
    with Server(every=case("drip_for_ever")) as server:
        exchange = ask(server, deadline_ns=time.monotonic_ns() + 400_000_000)[0]
        past = ask(server, deadline_ns=time.monotonic_ns() - 1)[0]
    assert exchange.failure == past.failure == "timeout"
    assert exchange.body.startswith(b": still here\n\n")
    assert time.monotonic() - started < 3


def test_a_connection_that_is_not_accepted_times_out() -> None:
    with ExitStack() as stack:
        url = f"http://127.0.0.1:{full_listener(stack).getsockname()[1]}"
        exchange = ask(url, deadlines=Deadlines(connect_s=0.4))[0]
    assert exchange.failure == "timeout"
    assert exchange.message.startswith("a connection did not come within 0.4 s")


# --- connections ---------------------------------------------------------------------------------------------


def test_each_request_has_a_fresh_connection() -> None:
    with Server() as server:
        ask(server, 3)
        assert [request.connection for request in server.requests] == [0, 1, 2]


def test_a_kept_connection_is_taken_where_the_caller_says_so() -> None:
    with Server() as server:
        ask(server, 3, reuse=True)
        assert [request.connection for request in server.requests] == [0, 0, 0]


@pytest.mark.parametrize("ending", ["close_at_once", "reset_at_once"])
def test_a_kept_connection_that_ends_without_an_answer_is_stale(ending: str) -> None:
    def chat(request: Request) -> Reply | str:
        return "ok" if len(server.requests) == 1 else case(ending)(request)

    with Server() as server:
        server.on(CHAT, chat)
        good, stale = ask(server, 2, reuse=True)
        assert (good.failure, stale.failure) == (None, "connection_stale")
        assert ask(server)[0].failure == "connection_reset"


def test_nobody_there() -> None:
    with Server() as server:
        server.refuse_connections()
        exchange = ask(server)[0]
    assert (exchange.failure, exchange.status, exchange.body) == ("connection_failed", None, b"")
    assert "ConnectionRefusedError" in exchange.message


def test_not_an_address() -> None:
    for url in ("http://127.0.0.1:port", "http://", "ftp://127.0.0.1", "http://[", "nonsense", "http://a\nb"):
        assert ask(url)[0].failure == "connection_failed", url


def test_a_redirect_is_not_followed() -> None:
    with Server() as elsewhere:
        headers = {"location": f"{elsewhere.base_url}{CHAT}"}
        with Server(every=lambda request: Reply(b"", 302, headers=headers)) as server:
            assert ask(server)[0].failure == "redirected"
        assert elsewhere.requests == []


def test_twenty_side_by_side() -> None:
    async def run(url: str) -> list[Exchange]:
        async with Client(Endpoint(url, "m")) as client:
            return await asyncio.gather(*[client.exchange("POST", CHAT, {"n": n}) for n in range(20)])

    with Server(chat=lambda payload: Chat(str(payload["n"]))) as server:
        exchanges = asyncio.run(run(server.base_url))
    said = [json.loads(exchange.body)["choices"][0]["message"]["content"] for exchange in exchanges]
    assert said == [str(n) for n in range(20)]


def test_a_connection_is_let_go_before_the_client_is() -> None:
    async def run(server: Server) -> None:
        async with Client(Endpoint(server.base_url, "m"), body_limit=10) as client:
            assert (await client.exchange("POST", CHAT, {})).failure == "body_too_large"
            for _ in range(100):
                if server.open_connections == 0:
                    return
                await asyncio.sleep(0.02)
        pytest.fail("the connection is still there")

    with Server(every=case("drip_for_ever")) as server:
        asyncio.run(run(server))


def test_a_cancelled_request_is_cancelled_and_lets_go() -> None:
    async def run(url: str) -> None:
        async with Client(Endpoint(url, "m")) as client:
            task = asyncio.create_task(client.exchange("POST", CHAT, {}))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with Server(every=case("hang_mid_stream")) as server:
        asyncio.run(run(server.base_url))


# --- what is sent, and what must not leave ------------------------------------------------------------------------


def test_what_is_sent() -> None:
    with Server() as server:
        exchange = ask(
            server, payload={"city": "Århus"}, stream=True, headers={"Authorization": f"Bearer {KEY}"}
        )[0]
        request = server.requests[0]
        raw = ask(server, payload=b'{"as":  "it is"}')[0]
        assert server.requests[1].body == raw.request == b'{"as":  "it is"}'
    assert request.body == exchange.request == '{"city":"Århus"}'.encode()
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_the_prefix_of_an_address_stays() -> None:
    with Server() as server:
        server.on("/engine/v1/models", lambda request: {"data": []})
        assert ask(f"{server.base_url}/engine/", path="/v1/models")[0].status == 200


def test_a_key_goes_to_its_own_address_only() -> None:
    with Server() as server, Server() as elsewhere:
        headers = {"X-Key": KEY}
        ask(server, path=f"{elsewhere.base_url}/metrics", headers=headers)
        ask(server, path=f"{server.base_url}/metrics", headers=headers)
        # An address that only begins alike is another one.
        ask(server.base_url[:-1], path=f"{server.base_url}/metrics", headers=headers)
        assert "x-key" not in elsewhere.requests[0].headers
        assert ["x-key" in request.headers for request in server.requests] == [True, False]


def test_no_cookie_is_kept() -> None:
    with Server(every=lambda request: Reply(b"{}", headers={"set-cookie": "a=b; path=/"})) as server:
        exchanges = ask(server, 2)
        assert "cookie" not in server.requests[1].headers
    assert exchanges[0].headers["set-cookie"] == "a=b; path=/"


def test_a_header_that_comes_again_is_one_list() -> None:
    head = b"HTTP/1.1 200 OK\r\nVia: a\r\ncontent-length: 0\r\nvia: b\r\n\r\n"
    with Server(every=lambda request: Reply(head, raw=True)) as server:
        assert ask(server)[0].headers == {"via": "a, b", "content-length": "0"}


def test_no_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with Server() as proxy, Server() as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.base_url)
        assert ask(server)[0].status == 200
        assert proxy.requests == []


def test_a_key_is_in_no_message() -> None:
    headers = {"location": f"http://elsewhere.test.invalid/?key={KEY}"}
    with Server(every=lambda request: Reply(b"", 302, headers=headers)) as server:
        for header in (f"Bearer {KEY}", f"Bearer {KEY}\n", f"Bearer {KEY}\u00e9"):
            exchange = ask(server, headers={"Authorization": header})[0]
            assert exchange.failure in ("redirected", "connection_failed")
            assert KEY not in exchange.message
            assert exchange.message
