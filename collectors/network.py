"""What carries bytes for a request that has a plain connection of its own: asyncio's transport, for httpcore.

1. A piece comes out as the network gave it. What had arrived before a connection broke is given out first,
   and only then the error.
2. What nobody reads stays with the peer: past a limit reading pauses.
3. No deadline is kept here: the client has one clock for all that it awaits.
4. Errors are httpcore's, with the system's as their cause.

httpcore's own network goes through anyio, which serves any event loop and keeps deadlines of its own. Of both
nothing is needed here, and they took a third of a request's time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import cast

import httpcore

_ENOUGH = 1 << 20
"""How many bytes wait to be read before reading pauses."""


class PlainNetwork(httpcore.AsyncNetworkBackend):
    """Makes TCP connections without TLS."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - rule 3
        local_address: str | None = None,  # noqa: ARG002 - nobody asks for one
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - nor for these
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that answers.

        Raises:
            ConnectError: none does.
        """
        try:
            loop = asyncio.get_running_loop()
            return (await loop.create_connection(_Connection, host, port, happy_eyeballs_delay=0.25))[1]
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error


class _Connection(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """One connection. It is read or written by one task at a time."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._has_ended = False
        self._error: Exception | None = None
        self._may_write = True
        self._news: asyncio.Future[None] | None = None

    # --- what httpcore asks for -------------------------------------------------------------------

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - rule 3
        """Return the next piece, up to `max_bytes` of it; nothing at the end.

        Raises:
            ReadError: the connection broke.
        """
        while not self._pieces:
            if self._error is not None:
                raise httpcore.ReadError(str(self._error)) from self._error
            if self._has_ended:
                return b""
            await self._next()
        piece = self._pieces.popleft()
        if len(piece) > max_bytes:
            self._pieces.appendleft(piece[max_bytes:])
            piece = piece[:max_bytes]
        self._waiting -= len(piece)
        if not self._pieces:
            self._transport.resume_reading()
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - rule 3
        """Write everything.

        Raises:
            WriteError: the connection broke.
        """
        self._require_whole()
        self._transport.write(buffer)
        while not self._may_write:
            await self._next()
            self._require_whole()

    async def aclose(self) -> None:
        """Close the connection, without waiting for a peer that takes nothing."""
        self._transport.close()
        await asyncio.sleep(0)
        self._transport.abort()

    def _require_whole(self) -> None:
        if self._error is not None or self._transport.is_closing():
            raise httpcore.WriteError(str(self._error or "the connection is closed")) from self._error

    async def _next(self) -> None:
        """Wait until something has happened."""
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    # --- what the event loop tells ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._waiting += len(data)
        if self._waiting > _ENOUGH:
            self._transport.pause_reading()
        self._tell()

    def eof_received(self) -> bool:
        self._has_ended = True
        self._tell()
        return True  # the peer may still read what is being written

    def connection_lost(self, error: Exception | None) -> None:
        self._has_ended, self._error = True, error
        self._tell()

    def pause_writing(self) -> None:
        self._may_write = False

    def resume_writing(self) -> None:
        self._may_write = True
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)
