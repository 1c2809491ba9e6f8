"""One request on its way: what was sent and when, and every byte that came, kept before it is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field

from anvil.collectors.load.clocks import Clocks
from anvil.collectors.load.framing import Framing
from anvil.collectors.load.record import RequestRecord
from anvil.collectors.load.requests import PlannedRequest
from anvil.ledger.events.checks import FailureClass

BYTES_LIMIT = 32 << 20
"""How many bytes of a response are kept."""

READS_LIMIT = 1 << 20
"""How many reads a response may take: each is remembered."""


@dataclass
class InFlight:
    """A request and what is known of it. Moments are of the run's monotonic clock; stamps are the kernel's."""

    request: PlannedRequest
    slot: int
    intended_ns: int
    attempt: int = 1
    is_fresh: bool = True
    connect_ns: int | None = None
    started_ns: int | None = None
    written_ns: int | None = None
    is_closed: bool = False
    is_stopped: bool = False
    failure: FailureClass | None = None
    message: str = ""
    pieces: list[bytes] = field(default_factory=list)
    stamps: list[int | None] = field(default_factory=list)
    client_ns: list[int] = field(default_factory=list)
    framing: Framing = field(default_factory=Framing)
    size: int = 0
    counted: int = 0
    """How many reads `events_since` has looked through."""
    events: int = 0
    """How many events it has found."""

    def take(self, piece: bytes, stamp: int | None, now_ns: int) -> bool:
        """Keep a read, and say whether there is nothing more to wait for."""
        self.pieces.append(piece)
        self.stamps.append(stamp)
        self.client_ns.append(now_ns)
        self.size += len(piece)
        if self.size > BYTES_LIMIT or len(self.pieces) >= READS_LIMIT:
            return self._cut()
        return self.framing.feed(piece)

    def _cut(self) -> bool:
        """Keep no more than the limits allow."""
        if self.size > BYTES_LIMIT:
            self.fail("body_too_large", f"more than {BYTES_LIMIT} bytes; what follows them was not read")
            self.pieces[-1] = self.pieces[-1][: len(self.pieces[-1]) - (self.size - BYTES_LIMIT)]
        else:
            self.fail("body_too_large", f"more than {READS_LIMIT} reads")
        return True

    def fail(self, failure: FailureClass, message: str) -> None:
        """Note what went wrong below HTTP."""
        self.failure, self.message = failure, message

    def events_since(self) -> int:
        """Return roughly how many events came since it was asked last: for a display, and for nothing else."""
        new = sum(piece.count(b"data:") for piece in self.pieces[self.counted :])
        self.counted = len(self.pieces)
        self.events += new
        return new

    @property
    def is_stale(self) -> bool:
        """Whether a kept connection was closed before any byte of a response came."""
        return self.failure == "connection_stale"

    def record(self, clocks: Clocks, ended_ns: int) -> RequestRecord:
        """Return what is to be kept."""
        base = clocks.base_realtime_ns
        kernel = tuple(stamp - base for stamp in self.stamps if stamp is not None)
        return RequestRecord(
            index=self.request.index,
            attempt=2 if self.attempt > 1 else 1,
            slot=self.slot,
            cap_tokens=self.request.cap_tokens,
            request=self.request.body,
            is_fresh=self.is_fresh,
            intended_ns=self.intended_ns,
            connect_ns=self.connect_ns,
            started_ns=self.started_ns,
            written_ns=self.written_ns,
            ended_ns=ended_ns,
            is_stopped=self.is_stopped,
            is_closed=self.is_closed,
            failure=self.failure,
            message=self.message,
            sizes=tuple(map(len, self.pieces)),
            kernel_ns=kernel if len(kernel) == len(self.pieces) else None,
            client_ns=tuple(self.client_ns),
            response=b"".join(self.pieces),
        )
