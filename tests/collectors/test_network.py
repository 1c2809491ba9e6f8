"""A plain connection: what arrived comes out, whatever becomes of the connection, and nothing piles up."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress

import httpcore
import pytest

from anvil.collectors import network
from anvil.collectors.network import PlainNetwork

RST = struct.pack("ii", 1, 0)
Talk = Callable[[httpcore.AsyncNetworkStream, socket.socket], Awaitable[None]]


def talk(with_peer: Talk) -> None:
    """Connect to a socket that is ours at the other end too."""

    async def both() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            stream = await PlainNetwork().connect_tcp(*listening.getsockname())
            peer, _ = listening.accept()
        with peer:
            try:
                await with_peer(stream, peer)
            finally:
                await stream.aclose()

    asyncio.run(both())


async def settled() -> None:
    """Let the event loop look at its sockets, often enough for everything that is under way on this machine."""
    for _ in range(20):
        await asyncio.sleep(0.001)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
    with pytest.raises(httpcore.ConnectError) as found:
        asyncio.run(PlainNetwork().connect_tcp(host, port))
    assert isinstance(found.value.__cause__, ConnectionRefusedError)


def test_what_arrived_before_a_reset_comes_out_first() -> None:
    async def reset(stream: httpcore.AsyncNetworkStream, peer: socket.socket) -> None:
        peer.sendall(b"half an answer")
        await settled()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
        peer.close()
        await settled()
        assert await stream.read(4) == b"half"
        assert await stream.read(100) == b" an answer"
        with pytest.raises(httpcore.ReadError) as found:
            await stream.read(100)
        assert isinstance(found.value.__cause__, ConnectionResetError)
        with pytest.raises(httpcore.WriteError):
            await stream.write(b"more")

    talk(reset)


def test_the_end_is_nothing_and_the_other_way_stays_open() -> None:
    async def half_closed(stream: httpcore.AsyncNetworkStream, peer: socket.socket) -> None:
        peer.sendall(b"all")
        peer.shutdown(socket.SHUT_WR)
        assert [await stream.read(100) for _ in range(3)] == [b"all", b"", b""]
        await stream.write(b"still heard")
        assert peer.recv(100) == b"still heard"

    talk(half_closed)


def test_what_nobody_reads_stays_with_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_ENOUGH", 1000)
    sent = 0

    async def flooded(stream: httpcore.AsyncNetworkStream, peer: socket.socket) -> None:
        nonlocal sent
        peer.setblocking(False)
        for _ in range(5):
            with suppress(BlockingIOError):
                while True:
                    sent += peer.send(bytes(1 << 16))
            await settled()
        assert stream._waiting < sent  # type: ignore[attr-defined]
        peer.shutdown(socket.SHUT_WR)
        got = 0
        while piece := await stream.read(1 << 16):
            got += len(piece)
        assert got == sent

    talk(flooded)


def test_a_peer_that_takes_nothing_holds_up_a_write_and_no_close() -> None:
    async def stuck(stream: httpcore.AsyncNetworkStream, peer: socket.socket) -> None:
        writing = asyncio.create_task(stream.write(bytes(64 << 20)))
        await settled()
        assert not writing.done()
        await stream.aclose()
        with pytest.raises(httpcore.WriteError):
            await writing

    talk(stuck)
