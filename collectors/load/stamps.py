"""The kernel's receive stamp: when bytes reached this machine, however late the client looks.

1. On Linux a socket with ``SO_TIMESTAMPNS`` gives a stamp with each read (``socket(7)``). Elsewhere, or
   where it is refused, there is none, and the client's own clock has to do.
2. Of a TCP read it is the stamp of the last byte that was read: earlier bytes of the read came no later.
3. A stamp is of the realtime clock (`anvil.collectors.load.clocks`). The end of a connection has none.
4. The kernel begins to stamp a moment after somebody first asks for it (``net_enable_timestamp`` leaves the
   work to a queue) and ends with the last who does. So a run keeps a pair of sockets of its own, asks on
   them, and waits until a stamp has really come.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

_SO_TIMESTAMPNS = 35  # SO_TIMESTAMPNS_OLD; the same on every architecture that Python has wheels for
_WAIT_S = 0.5
_TIMESPEC = struct.Struct("@qq")

ANCILLARY_SIZE = socket.CMSG_SPACE(_TIMESPEC.size)
"""How many bytes of ancillary data a read must have room for."""

Ancillary = list[tuple[int, int, bytes]]


def ask_for_stamps(connection: socket.socket) -> bool:
    """Ask for stamps, before anything can arrive, and say whether they will come (rule 1)."""
    if not sys.platform.startswith("linux") or struct.calcsize("P") != 8:
        return False
    try:
        connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def stamp_of(ancillary: Ancillary) -> int | None:
    """Return a read's stamp in nanoseconds of the realtime clock; null when it has none."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) == _TIMESPEC.size:
            seconds, rest = _TIMESPEC.unpack(data)
            return int(seconds * 1_000_000_000 + rest)
    return None


@contextmanager
def stamping() -> Iterator[None]:
    """Keep the kernel stamping; when this begins, it does, or will not (rule 4)."""
    with ExitStack() as open_sockets:
        with suppress(OSError):
            listener = open_sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
            sender = open_sockets.enter_context(socket.create_connection(listener.getsockname(), _WAIT_S))
            receiver = open_sockets.enter_context(listener.accept()[0])
            if ask_for_stamps(receiver):
                _wait_for_stamp(sender, receiver)
        yield


def _wait_for_stamp(sender: socket.socket, receiver: socket.socket) -> None:
    receiver.settimeout(_WAIT_S)
    end = time.monotonic() + _WAIT_S
    while time.monotonic() < end:
        sender.send(b"?")
        if stamp_of(receiver.recvmsg(1, ANCILLARY_SIZE)[1]) is not None:
            return
        time.sleep(0.001)
