"""A server that knows when it really wrote: `python -m anvil.collectors.load.truth CHUNKS FIRST_NS GAP_NS [tls]`.

1. It answers every POST with an event stream of CHUNKS tokens, the first FIRST_NS after the request was
   seen, the next each GAP_NS later. How well it keeps this schedule matters little: it notes the moment
   before each write, and what a client measures is compared with these notes.
   The moment after it is noted too: when the machine held the server up in between, nobody knows when
   the bytes went out.
2. A request arrived when the kernel received its last byte, which is noted too: the time to the first
   token that really passed is the first write less this.
3. It prints its port, serves until its standard input ends, and then prints its notes: NDJSON, one line
   for each request, with the number that stood in the request as `seed`. Moments are nanoseconds of the
   monotonic clock, which every process of a machine shares.
4. With `tls` it presents a certificate that it made for itself, and prints that too, as one JSON text. A
   request arrived with the read that completed it; a token is written from before it is encrypted on.

It is a process of its own, so that client and server do not wait for each other, and uses one core when
it is busy.
"""

from __future__ import annotations

import heapq
import json
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from selectors import EVENT_READ, DefaultSelector

from anvil.collectors.load.clocks import Clocks
from anvil.collectors.load.stamps import ANCILLARY_SIZE, ask_for_stamps, stamp_of, stamping
from anvil.ledger.errors import CollectorError

MODEL = "truth"
TRUTH = (sys.executable, "-m", "anvil.collectors.load.truth")
"""How the server is started."""

_SEED = re.compile(rb'"seed":(\d+)')
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_LOOK_NS = 200_000
_SLEEP_NS = 150_000
_START_S = 30.0

ADDRESS = "127.0.0.1"
"""Where it listens."""


@dataclass(frozen=True)
class Note:
    """What really happened to a request: when it had arrived, and the moments before and after each write."""

    seed: int
    received_ns: int
    writes_ns: list[int]
    written_ns: list[int]


@dataclass(frozen=True)
class Schedule:
    """What the server does with each request."""

    chunks: int
    first_ns: int
    gap_ns: int


@dataclass
class _Stream:
    connection: socket.socket
    asked: bytearray = field(default_factory=bytearray)
    seed: int = 0
    received_ns: int = 0
    writes: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    tls: ssl.SSLObject | None = None
    incoming: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)
    outgoing: ssl.MemoryBIO = field(default_factory=ssl.MemoryBIO)

    def secured(self, context: ssl.SSLContext | None) -> _Stream:
        """Speak TLS where there is a certificate to present."""
        if context is not None:
            self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        return self

    def send(self, message: bytes) -> None:
        """Send some bytes."""
        if self.tls is not None:
            self.tls.write(message)
            message = self.outgoing.read()
        self.connection.send(message)

    def plain(self, piece: bytes) -> bytes:
        """Return what of the request a read completes.

        Raises:
            ssl.SSLError: it is no TLS.
        """
        if self.tls is None or not piece:
            return piece
        self.incoming.write(piece)
        found = b""
        with suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
            while more := self.tls.read(1 << 16):
                found += more
        if answer := self.outgoing.read():
            self.connection.send(answer)
        return found


def _event(payload: object) -> bytes:
    data = b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def _chunk(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
    head = {"id": "chatcmpl-truth", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
    return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_TOKEN = _event(_chunk({"content": " token"}))


def _tail(chunks: int) -> bytes:
    usage = {"prompt_tokens": 1, "completion_tokens": chunks, "total_tokens": chunks + 1}
    done = b"data: [DONE]\n\n"
    ended = _event(_chunk({}, "stop")) + _event({**_chunk({}), "choices": [], "usage": usage})
    return ended + b"%x\r\n%s\r\n0\r\n\r\n" % (len(done), done)


class _Server:
    def __init__(self, schedule: Schedule, context: ssl.SSLContext | None = None) -> None:
        self._schedule = schedule
        self._context = context
        self._tail = _tail(schedule.chunks)
        self._clocks = Clocks()
        self._selector = DefaultSelector()
        self._due: list[tuple[int, int, _Stream]] = []
        self._number = 0
        self.notes: list[Note] = []

    def serve(self, listener: socket.socket) -> None:
        """Serve until standard input ends."""
        listener.setblocking(False)
        self._selector.register(listener, EVENT_READ)
        self._selector.register(sys.stdin, EVENT_READ)
        due, looked = self._due, 0
        while True:
            now = time.monotonic_ns()
            while due and due[0][0] <= now:
                self._write(*heapq.heappop(due))
                now = time.monotonic_ns()
                if now - looked > _LOOK_NS:
                    break
            left = due[0][0] - now if due else 1_000_000_000
            if left > _LOOK_NS or now - looked > _LOOK_NS:
                # A selector waits whole milliseconds, so the last of them is slept.
                if not self._look(listener, max(0, left // 1_000_000 - 1) / 1000):
                    return
                looked = time.monotonic_ns()
                left = due[0][0] - looked if due else 0
            if left > _SLEEP_NS:
                time.sleep(min(left - _SLEEP_NS // 2, 1_000_000) / 1e9)

    def _look(self, listener: socket.socket, timeout_s: float) -> bool:
        """Take what came, and say whether to go on."""
        for key, _ in self._selector.select(timeout_s):
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ask_for_stamps(connection)
                self._selector.register(connection, EVENT_READ, _Stream(connection).secured(self._context))
            elif key.fileobj is sys.stdin:
                return False
            else:
                self._read(key.data)
        return True

    def _read(self, stream: _Stream) -> None:
        try:
            piece, ancillary, _, _ = stream.connection.recvmsg(1 << 16, ANCILLARY_SIZE)
            asked = stream.plain(piece)
        except OSError:
            piece = asked = b""
            ancillary = []
        if not piece:
            self._selector.unregister(stream.connection)
            stream.connection.close()
            return
        stream.asked += asked
        head, found, body = bytes(stream.asked).partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not found or (length and len(body) < int(length[1])):
            return
        stamp = stamp_of(ancillary)
        seed = _SEED.search(body)
        now = time.monotonic_ns()
        stream.seed = int(seed[1]) if seed else 0
        stream.received_ns = now if stamp is None else self._monotonic(stamp)
        self._selector.unregister(stream.connection)
        stream.send(_HEAD)
        self._queue(now + self._schedule.first_ns, stream)

    def _monotonic(self, stamp: int) -> int:
        clocks = self._clocks
        return stamp - clocks.base_realtime_ns - clocks.watch().middle_ns + clocks.base_ns

    def _queue(self, moment: int, stream: _Stream) -> None:
        self._number += 1
        heapq.heappush(self._due, (moment, self._number, stream))

    def _write(self, moment: int, _number: int, stream: _Stream) -> None:
        """Write the next token, or the end."""
        try:
            if len(stream.writes) < self._schedule.chunks:
                stream.writes.append(time.monotonic_ns())
                stream.send(_TOKEN)
                stream.written.append(time.monotonic_ns())
                self._queue(moment + self._schedule.gap_ns, stream)
                return
            stream.send(self._tail)
        except OSError:
            pass  # the client is gone, or does not read; it will say so itself
        stream.connection.close()
        self.notes.append(Note(stream.seed, stream.received_ns, stream.writes, stream.written))


@contextmanager
def truth_server(
    schedule: Schedule, program: tuple[str, ...] = TRUTH, *, is_tls: bool = False
) -> Iterator[TruthServer]:
    """Run the server in a process of its own, or another program that does the same.

    Raises:
        CollectorError: it does not start.
    """
    argv = [*program, *(str(value) for value in asdict(schedule).values()), *(["tls"] if is_tls else [])]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield TruthServer(process, is_tls=is_tls)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


class TruthServer:
    """The running server. `base_url` is where it answers, `trust` who believes it; null without TLS."""

    def __init__(self, process: subprocess.Popen[bytes], *, is_tls: bool = False) -> None:
        self._process = process
        port = process.stdout.readline().strip() if process.stdout else b""
        if not port.isdigit():
            raise CollectorError("the server that knows the truth did not start")
        self.base_url = f"{'https' if is_tls else 'http'}://{ADDRESS}:{int(port)}"
        self.trust: ssl.SSLContext | None = None
        if is_tls and process.stdout:
            self.trust = ssl.create_default_context(cadata=json.loads(process.stdout.readline()))

    def finish(self) -> dict[int, Note]:
        """End it and return its notes by seed."""
        raw, _ = self._process.communicate(timeout=_START_S)
        notes = [Note(**json.loads(line)) for line in raw.splitlines()]
        return {note.seed: note for note in notes}


def main(arguments: list[str]) -> None:
    """Serve until standard input ends, then print what really happened."""
    chunks, first_ns, gap_ns = map(int, arguments[:3])
    context, certificate = None, ""
    if arguments[3:] == ["tls"]:
        from anvil.collectors.load.presenting import (
            presenting,
        )  # whoever only reads notes needs no certificate

        context, certificate = presenting(ADDRESS)
    with stamping(), socket.create_server((ADDRESS, 0), backlog=1024) as listener:
        server = _Server(Schedule(chunks, first_ns, gap_ns), context)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        if context is not None:
            sys.stdout.write(json.dumps(certificate) + "\n")
        sys.stdout.flush()
        server.serve(listener)
    sys.stdout.writelines(json.dumps(asdict(note)) + "\n" for note in server.notes)


if __name__ == "__main__":
    main(sys.argv[1:])
