"""What closed and open loops share: many requests in flight on one core, their bytes and stamps kept.

`ClosedLoop` and `OpenLoop` say when a request is sent, and nothing else.

1. Bytes and stamps come first. While the loop runs nothing is parsed but the framing that ends a
   response; the collector of garbage rests.
2. A stream connects before its request and outside the timer. The request's clock starts just before its
   first byte is written.
3. Every wait has a deadline: to connect, to the first byte of the body, between two reads, and over all.
   They are looked at every 20 ms.
4. Nothing is sent twice, with one exception: a kept connection that the endpoint had closed before any
   byte of a response came is `connection_stale`, is recorded, and its request is sent once more on a
   fresh one.
5. What went wrong is noted with its class and the run goes on. A run that is stopped, by `stop` or from
   the keyboard, keeps what was under way as it was. An interrupt waits for the loop, so that it cannot
   come between a read and its being kept. When the client may open no more files the run is aborted: that is
   no failure of the endpoint's.
6. The difference of the clocks is watched all the time (`anvil.collectors.load.clocks`).
7. Whoever asks for it is given the record of a request that has ended while others go on, at most one at each
   look, and is told how far the run is, the last time when all is done. What was given is not held any longer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from errno import EMFILE, ENFILE
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from threading import Event

from anvil.collectors.interface import Deadlines
from anvil.collectors.load.clocks import Clocks
from anvil.collectors.load.inflight import InFlight
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.stamps import stamping
from anvil.collectors.load.undisturbed import interrupts_to, no_collection
from anvil.collectors.load.wire import Wire
from anvil.collectors.withholding import clean_text
from anvil.ledger.events.checks import FailureClass
from anvil.ledger.wording import counted

TICK_NS = 20_000_000
"""How often deadlines are looked at."""
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Progress:
    """How far a run is: requests that ended, and events that came, which are about as many as tokens.

    `reading` requests were sent and no event has come of them yet; the one that waits longest does so for `waits_ns`.
    Nothing is recorded of it.
    """

    ended: int
    events: int
    since_ns: int
    reading: int = 0
    waits_ns: int = 0


Keep = Callable[[RequestRecord], None]
Told = Callable[[Progress], None]


class Slot:
    """One of the concurrent streams. `due_ns` is when its present wait has lasted too long."""

    def __init__(self, flight: InFlight) -> None:
        self.flight = flight
        self.wire: Wire | None = None
        self.address = 0
        self.began_ns = 0
        self.is_written = False
        self.due_ns = 0
        self.waits_for = ""
        self.limit_s = 0.0


class Loop(ABC):
    """One run. `run` carries it out, once. Who extends it says what is lined up, and when."""

    concurrency: int | None = None
    """How many requests are in flight at most; null without a limit."""

    def __init__(
        self,
        target: Target,
        requests: Iterable[PlannedRequest],
        *,
        deadlines: Deadlines | None = None,
        stop: Event | None = None,
        clocks: Clocks | None = None,
        keep: Keep | None = None,
        told: Told | None = None,
    ) -> None:
        self._target = target
        self._requests = iter(requests)
        self._limits = deadlines or Deadlines()
        self._idle_ns = int(self._limits.idle_s * _SECOND_NS)
        self._stop = stop or Event()
        self._clocks = clocks or Clocks()
        self._selector = DefaultSelector()
        self._active: dict[int, Slot] = {}
        self._waiting: deque[tuple[InFlight, Wire | None]] = deque()
        self._ended: deque[tuple[InFlight, int]] = deque()
        self._keep = keep
        self._told = told
        self._count = self._events = 0
        self._is_short_of_files = False

    def run(self) -> tuple[RunRecord, tuple[RequestRecord, ...]]:
        """Send every request and return the record of the run; without the requests that `keep` was given.

        Raises:
            Nothing for what an endpoint does, and nothing for an interrupt: the record says `aborted`.
        """
        with self._selector, stamping(), no_collection(), interrupts_to(self._stop):
            self._begin()
            self._go_round()
            aborted = self._give_up() or self._is_short_of_files
        run = self.so_far(aborted=aborted)
        if not aborted:
            self._tell()  # the last look was before the last request ended
        while self._keep is not None and self._ended:
            self._keep_one()
        return run, tuple(flight.record(self._clocks, ended_ns) for flight, ended_ns in self._ended)

    def so_far(self, *, aborted: bool = True) -> RunRecord:
        """Return the record of the run as it would be if it ended now."""
        clocks = self._clocks
        offset = clocks.watch()
        return RunRecord(
            base_realtime_ns=str(clocks.base_realtime_ns),
            offset_low_ns=offset.low_ns,
            offset_high_ns=offset.high_ns,
            stepped=offset.is_stepped,
            aborted=aborted,
            concurrency=self.concurrency,
            served_model=self._target.served_model,
            ended_ns=clocks.now_ns(),
        )

    def _go_round(self) -> None:
        now, select, serve = self._clocks.now_ns, self._selector.select, self._serve
        next_look = now() + TICK_NS
        while not self._stop.is_set():
            wait_s = self._come_due()
            self._begin_waiting()
            if not self._active and self._is_all_begun():
                return
            for key, mask in select(wait_s):
                serve(key.data, mask)
            if now() >= next_look:
                self._clocks.watch()
                self._look_at_deadlines()
                self._keep_one()
                self._tell()
                next_look = now() + TICK_NS

    def _give_up(self) -> bool:
        """End what is still under way, and say whether there was anything left to do."""
        left = list(self._active.values())
        for slot in left:
            slot.flight.is_stopped = True
            self._leave(slot, keep=False)
        for _, kept in self._waiting:
            if kept:
                kept.close()
        return bool(left or self._waiting) or next(self._requests, None) is not None

    # --- what is told while it goes on (rule 7) -----------------------------------------------------------

    def _keep_one(self) -> None:
        if self._keep is not None and self._ended:
            flight, ended_ns = self._ended.popleft()
            self._keep(flight.record(self._clocks, ended_ns))

    def _tell(self) -> None:
        if self._told is not None:
            flights = [slot.flight for slot in self._active.values()]
            self._events += sum(flight.events_since() for flight in flights)
            now = self._clocks.now_ns()
            waits = [now - one.started_ns for one in flights if one.started_ns is not None and not one.events]
            self._told(Progress(self._count, self._events, now, len(waits), max(waits, default=0)))

    # --- what a loop of one kind says ---------------------------------------------------------------------

    @abstractmethod
    def _begin(self) -> None:
        """Line up what is sent at the beginning."""

    @abstractmethod
    def _come_due(self) -> float:
        """Line up what is due now, and return for how many seconds nothing else will be."""

    @abstractmethod
    def _is_all_begun(self) -> bool:
        """Say whether nothing is lined up any more, nor will be."""

    def _connected(self, slot: Slot) -> None:
        """A new connection can be written to."""
        self._send(slot)

    @abstractmethod
    def _freed(self, number: int, kept: Wire | None) -> None:
        """A slot's request has ended; its connection is given when it can be used again."""

    # --- a slot's way through a request ---------------------------------------------------------------

    def _line_up(self, flight: InFlight, kept: Wire | None = None) -> None:
        self._waiting.append((flight, kept))

    def _begin_waiting(self) -> None:
        """Begin what was lined up; of what fails at once the next is begun at once."""
        while self._waiting:
            flight, kept = self._waiting.popleft()
            slot = self._active[flight.slot] = Slot(flight)
            slot.began_ns = self._clocks.now_ns()
            if kept:
                flight.is_fresh = False
                slot.wire = kept
                self._selector.register(kept, EVENT_READ, slot)
                self._send(slot)
            else:
                self._connect(slot)

    def _connect(self, slot: Slot) -> None:
        self._expect(slot, "a connection", self._limits.connect_s)
        try:
            slot.wire = Wire(self._target, slot.address)
        except OSError as error:
            if error.errno in (EMFILE, ENFILE):
                self._is_short_of_files = True
                self._stop.set()
            self._lost(slot, error)
            return
        self._selector.register(slot.wire, EVENT_WRITE, slot)

    def _serve(self, slot: Slot, mask: int) -> None:
        """Do what can be done on a connection that is ready."""
        wire, flight = slot.wire, slot.flight
        if wire is None:
            return  # it ended while others of the same round were served
        try:
            if flight.started_ns is None:
                self._go_on_connecting(slot, wire)
                return
            # What has come is taken first: a refusal may be followed by a reset that the next write would meet.
            if mask & EVENT_READ:
                self._read(slot, wire)
            if not slot.is_written and mask & EVENT_WRITE and slot.wire is wire:
                self._written(slot, all_is=wire.send(b""))
        except OSError as error:
            self._lost(slot, error)

    def _read(self, slot: Slot, wire: Wire) -> None:
        flight = slot.flight
        piece, stamp = wire.read()
        now = self._clocks.now_ns()
        if piece:
            if flight.take(piece, stamp, now):
                self._finish(slot)
            elif flight.framing.has_body:
                slot.due_ns = now + self._idle_ns
                slot.waits_for, slot.limit_s = "more of the body", self._limits.idle_s
            if slot.wire is wire and wire.is_at_end:
                self._read(slot, wire)
        elif piece is not None:
            self._closed(slot)

    def _go_on_connecting(self, slot: Slot, wire: Wire) -> None:
        if wanted := wire.connect():
            self._selector.modify(wire, wanted, slot)
            return
        slot.flight.connect_ns = self._clocks.now_ns() - slot.began_ns
        self._selector.modify(wire, EVENT_READ, slot)
        self._connected(slot)

    def _send(self, slot: Slot) -> None:
        wire, flight = slot.wire, slot.flight
        if wire is None:
            return
        message = self._target.message(flight.request)
        flight.started_ns = self._clocks.now_ns()
        try:
            all_is = wire.send(message)
        except OSError as error:
            self._lost(slot, error)
            return
        self._expect(slot, "the first byte of a body", self._limits.first_byte_s)
        self._written(slot, all_is=all_is)

    def _written(self, slot: Slot, *, all_is: bool) -> None:
        if all_is:
            slot.is_written = True
            slot.flight.written_ns = self._clocks.now_ns()
        if slot.wire:
            self._selector.modify(slot.wire, EVENT_READ if all_is else EVENT_READ | EVENT_WRITE, slot)

    # --- how a request ends -----------------------------------------------------------------------------

    def _finish(self, slot: Slot) -> None:
        keep = self._target.reuse and slot.flight.framing.can_reuse and slot.is_written
        self._freed(slot.flight.slot, self._leave(slot, keep=keep))

    def _closed(self, slot: Slot) -> None:
        """The endpoint ended the connection in order. Whether that ends the response is for the parser to say."""
        flight = slot.flight
        if flight.is_fresh or flight.pieces:
            flight.is_closed = True
            self._finish(slot)
        else:
            self._fail(slot, "connection_stale", "the kept connection was closed before a response came")

    def _lost(self, slot: Slot, error: OSError) -> None:
        flight = slot.flight
        words = f"{type(error).__name__}: {error}"
        if flight.started_ns is None:
            slot.address += 1
            if slot.address < len(self._target.addresses):
                self._drop(slot)
                self._connect(slot)
                return
            self._fail(slot, "connection_failed", words)
        elif flight.is_fresh or flight.pieces:
            self._fail(slot, "connection_reset", words)
        else:
            self._fail(slot, "connection_stale", words)

    def _fail(self, slot: Slot, failure: FailureClass, words: str) -> None:
        flight = slot.flight
        flight.fail(failure, clean_text(words, self._target.secrets))
        self._leave(slot, keep=False)
        if flight.is_stale and flight.attempt == 1:
            self._count -= 1  # rule 4: it goes on
            self._line_up(InFlight(flight.request, flight.slot, self._clocks.now_ns(), attempt=2))
        else:
            self._freed(flight.slot, None)

    def _leave(self, slot: Slot, *, keep: bool) -> Wire | None:
        """Take a request out of the loop and return the connection, if it is kept."""
        del self._active[slot.flight.slot]
        self._ended.append((slot.flight, self._clocks.now_ns()))
        self._count += 1
        if self._told is not None:
            self._events += slot.flight.events_since()
        return self._drop(slot, keep=keep)

    def _drop(self, slot: Slot, *, keep: bool = False) -> Wire | None:
        wire, slot.wire = slot.wire, None
        if wire is None:
            return None
        self._selector.unregister(wire)
        if keep:
            return wire
        wire.close()
        return None

    # --- deadlines ----------------------------------------------------------------------------------------

    def _expect(self, slot: Slot, what: str, seconds: float) -> None:
        slot.waits_for, slot.limit_s = what, seconds
        slot.due_ns = self._clocks.now_ns() + int(seconds * _SECOND_NS)

    def _look_at_deadlines(self) -> None:
        now = self._clocks.now_ns()
        total = int(self._limits.total_s * _SECOND_NS)
        for slot in list(self._active.values()):
            since = slot.flight.started_ns
            if now >= slot.due_ns:
                self._fail(
                    slot, "timeout", _told(slot, f"{slot.waits_for} did not come within {slot.limit_s:g} s")
                )
            elif since is not None and now >= since + total:
                self._fail(
                    slot,
                    "timeout",
                    _told(slot, f"the response did not end within {self._limits.total_s:g} s"),
                )


def _told(slot: Slot, what: str) -> str:
    return f"{what}; {counted(slot.flight.size, 'byte')} of a response had come"
