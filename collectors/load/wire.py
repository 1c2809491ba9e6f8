"""One connection: a plain socket that never blocks, with TLS in memory where the address asks for it.

1. Nothing waits here. Each call does what can be done now and says what it waits for; who has the
   selector waits.
2. A read is one ``recvmsg``, and its stamp the kernel's. With TLS the stamp is that of the read which
   completed the record: before it nobody could have read a byte of it.
3. Errors of the network are `OSError`, those of TLS among them (`ssl.SSLError` is one).
"""

from __future__ import annotations

import errno
import os
import socket
import ssl
from selectors import EVENT_READ, EVENT_WRITE

from anvil.collectors.load.requests import Target
from anvil.collectors.load.stamps import ANCILLARY_SIZE, ask_for_stamps, stamp_of

READ_SIZE = 1 << 16
"""How many bytes one read can give."""

_IN_PROGRESS = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK})


class Wire:
    """A connection. `has_stamps` says whether the kernel stamps what it receives."""

    def __init__(self, target: Target, number: int) -> None:
        """Begin to connect to the target's address of that number.

        Raises:
            OSError: it cannot even be begun.
        """
        family, address = target.addresses[number]
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._unsent = bytearray()
        self._tls: ssl.SSLObject | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._is_connected = False
        self.is_at_end = False
        self._how_ended: OSError | None = None
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.has_stamps = ask_for_stamps(self._socket)
            code = self._socket.connect_ex(address)
            if code not in _IN_PROGRESS:
                raise OSError(code, os.strerror(code))
            if target.tls is not None:
                self._tls = target.tls.wrap_bio(self._incoming, self._outgoing, server_hostname=target.host)
        except BaseException:
            self._socket.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor, for a selector."""
        return self._socket.fileno()

    def close(self) -> None:
        """Let go of the connection."""
        self._socket.close()

    def connect(self) -> int:
        """Go on connecting; return what to wait for, or 0 when the connection stands.

        Raises:
            OSError: it cannot be made.
        """
        if not self._is_connected:
            if code := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(code, os.strerror(code))
            self._is_connected = True
        return self._handshake(self._tls) if self._tls else 0

    def _handshake(self, tls: ssl.SSLObject) -> int:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            wanted = EVENT_READ
        else:
            wanted = 0
        if self._flush():
            return EVENT_WRITE | wanted
        if wanted and (piece := self._receive()) is not None:
            self._feed(piece)
            return self._handshake(tls)
        return wanted

    def _receive(self) -> bytes | None:
        try:
            return self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return None

    def _feed(self, cipher: bytes) -> None:
        if cipher:
            self._incoming.write(cipher)
        else:
            self._incoming.write_eof()

    def send(self, message: bytes) -> bool:
        """Send what can be sent now, and say whether all was. An empty message sends what is left.

        Raises:
            OSError: the connection is gone.
        """
        if self._tls and message:
            self._tls.write(message)  # a memory BIO takes all
        else:
            self._unsent += message
        return not self._flush()

    def _flush(self) -> bool:
        """Hand on what waits to be sent, and say whether something is left."""
        if self._tls:
            self._unsent += self._outgoing.read()
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            return True
        return False

    def read(self) -> tuple[bytes | None, int | None]:
        """Return what has come and its stamp: bytes, b"" at an orderly end, null when there is nothing yet.

        When `is_at_end`, another call says how it ended; the selector may not.

        Raises:
            OSError: the connection was reset, or its TLS is broken or cut.
        """
        if self._how_ended is not None:
            raise self._how_ended
        if self.is_at_end:
            return b"", None
        try:
            piece, ancillary, _, _ = self._socket.recvmsg(READ_SIZE, ANCILLARY_SIZE)
        except BlockingIOError:
            return None, None
        if self._tls is None:
            return piece, stamp_of(ancillary)
        return self._plain(self._tls, piece), stamp_of(ancillary)

    def _plain(self, tls: ssl.SSLObject, cipher: bytes) -> bytes | None:
        """Take a read of TLS and return the plain bytes that it completes; null when there are none."""
        self._feed(cipher)
        pieces: list[bytes] = []
        try:
            while piece := tls.read(READ_SIZE):
                pieces.append(piece)
            self.is_at_end = True
        except ssl.SSLWantReadError:
            return b"".join(pieces) or None
        except ssl.SSLZeroReturnError:
            self.is_at_end = True
        except ssl.SSLError as error:
            if not pieces:
                raise
            self.is_at_end, self._how_ended = True, error
        return b"".join(pieces)
