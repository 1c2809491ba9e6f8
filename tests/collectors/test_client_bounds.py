"""The client under bodies without end and bytes without sense."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.asking import SHORT, ask
from support.endpoint import CASES, CLOSE, HANG, Reply, Server, case, events
from support.mangle import mangled

from anvil.collectors import client
from anvil.collectors.completion import read_chat_stream
from anvil.collectors.interface import Exchange

MIB = 1 << 20

# --- sizes ---------------------------------------------------------------------------------------------------------

MEASURED = """
import asyncio, resource, sys
from anvil.collectors.client import Client
from anvil.collectors.completion import read_chat_stream
from anvil.collectors.interface import Endpoint

async def run():
    async with Client(Endpoint(sys.argv[1], "m"), body_limit=int(sys.argv[2])) as client:
        await client.exchange("GET", "/health")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        exchange = await client.exchange("POST", "/v1/chat/completions", {}, stream=True)
        found = read_chat_stream(exchange)
        print(found.failure, len(exchange.body), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)

asyncio.run(run())
"""


@pytest.mark.parametrize(
    ("name", "limit", "grown_mib"),
    [("body_200_mb", 32, 120), ("million_events", 4, 30), ("gzip_bomb", 32, 120)],
)
def test_memory_stays_flat(name: str, limit: int, grown_mib: int) -> None:
    with Server(every=case(name)) as server:
        argv = [sys.executable, "-c", MEASURED, server.base_url, str(limit * MIB)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    failure, kept, grown_kib = done.stdout.split()
    assert failure == "body_too_large"
    assert int(kept) == (len(CASES[name].body) if name == "gzip_bomb" else limit * MIB)
    assert int(grown_kib) < grown_mib * 1024


def test_reads_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "READS_LIMIT", 3)
    with Server(every=case("drip_for_ever")) as server:
        exchange = ask(server)[0]
    assert (exchange.failure, exchange.message) == ("body_too_large", "more than 3 reads")
    assert len(exchange.reads) == 4


# --- any bytes ------------------------------------------------------------------------------------------------------

RESPONSES = [
    b"".join(step for step in Reply.of_events(events({"choices": []})).steps() if isinstance(step, bytes)),
    b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\nabc",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nuntil the end",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 999 ?\r\ncontent-length: 0\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nname: \xff\xfe\r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 30_000,
    b"\x00" * 200,
    b"\r\n\r\n",
    b"",
]  # fmt: skip


@pytest.fixture(scope="module")
def answered() -> Any:
    """Send bytes as a response and return what the client says."""
    replies: list[Reply] = []
    with Server(every=lambda request: replies[-1]) as server:

        def answer(raw: bytes) -> Exchange:
            replies.append(Reply([raw, CLOSE], raw=True))
            exchange = ask(server, deadlines=SHORT)[0]
            read_chat_stream(exchange)
            return exchange

        yield answer


@pytest.mark.parametrize("raw", RESPONSES, ids=lambda raw: repr(raw[:40]))
def test_odd_responses(raw: bytes, answered: Callable[[bytes], Exchange]) -> None:
    exchange = answered(raw)
    assert exchange.failure in (None, "connection_reset", "malformed_body", "http_error")
    assert (exchange.failure is None) == (not exchange.message)


@given(raw=st.one_of(st.binary(max_size=60), *(mangled(raw) for raw in RESPONSES[:4])))
def test_no_bytes_raise(raw: bytes, answered: Callable[[bytes], Exchange]) -> None:
    assert isinstance(answered(raw), Exchange)


def test_a_head_that_hangs_is_waited_for_no_longer_than_said(answered: Callable[[bytes], Exchange]) -> None:
    with Server(
        every=lambda request: Reply([b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, HANG], raw=True)
    ) as server:
        assert ask(server, deadlines=SHORT)[0].failure == "timeout"
