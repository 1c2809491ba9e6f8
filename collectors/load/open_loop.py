"""The open loop: requests are sent at moments that were fixed before, whatever became of those before them.

1. The schedule (`anvil.collectors.load.arrivals`) begins when the run does. A slow endpoint cannot slow it: as
   many requests are in flight as have not ended.
2. A request connects 50 ms before its moment, outside the timer, and is held until then. Whatever makes it late (a
   connection that takes longer, a client that is held up) is seen in its row: `intended_ns` is the moment of the
   schedule, `started_ns` when the first byte was written. Latency is told from both.
3. Connections are not used again: which request would get one depends on the endpoint.
4. Close to a moment the loop does not sleep, since a sleep ends up to a millisecond late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from selectors import EVENT_READ
from typing import Any

from anvil.collectors.load.inflight import InFlight
from anvil.collectors.load.loop import TICK_NS, Loop, Slot
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.wire import Wire

LEAD_NS = 50_000_000
"""How long before its moment a request begins to connect."""

_AWAKE_NS = 2_000_000
_SECOND_NS = 1_000_000_000
_NEVER_NS = 2**62


class OpenLoop(Loop):
    """A run of `requests` at the moments of `schedule`, in nanoseconds since its beginning, in order."""

    def __init__(
        self, target: Target, requests: Sequence[PlannedRequest], *, schedule: Sequence[int], **more: Any
    ) -> None:
        """Raises ValueError when there are not as many moments as requests."""
        super().__init__(target, requests, **more)
        self._planned = deque(zip(requests, schedule, strict=True))
        self._held: list[tuple[int, int, Slot]] = []
        self._free: list[int] = []
        self._slots = 0
        self._origin_ns = 0

    def _begin(self) -> None:
        self._origin_ns = self._clocks.now_ns() + LEAD_NS

    def _come_due(self) -> float:
        now = self._clocks.now_ns()
        while self._held and self._held[0][0] <= now:
            self._let_go(heappop(self._held)[2])
        while self._planned and self._origin_ns + self._planned[0][1] - LEAD_NS <= now:
            request, moment = self._planned.popleft()
            next(self._requests)
            self._line_up(InFlight(request, self._slot_number(), self._origin_ns + moment))
        return self._until_next()

    def _until_next(self) -> float:
        """Return for how long nothing is due: nothing at all when it is close (rule 4)."""
        moments = [self._held[0][0]] if self._held else []
        if self._planned:
            moments.append(self._origin_ns + self._planned[0][1] - LEAD_NS)
        if self._waiting or not moments:
            return 0.0 if self._waiting else TICK_NS / _SECOND_NS
        left = min(moments) - self._clocks.now_ns() - _AWAKE_NS
        return max(0, min(left, TICK_NS)) / _SECOND_NS

    def _is_all_begun(self) -> bool:
        return not (self._planned or self._held)

    def _connected(self, slot: Slot) -> None:
        if self._clocks.now_ns() >= slot.flight.intended_ns or slot.wire is None:
            self._send(slot)
            return
        self._selector.unregister(slot.wire)
        slot.due_ns = _NEVER_NS
        heappush(self._held, (slot.flight.intended_ns, slot.flight.request.index, slot))

    def _let_go(self, slot: Slot) -> None:
        if slot.wire is not None:
            self._selector.register(slot.wire, EVENT_READ, slot)
            self._send(slot)

    def _give_up(self) -> bool:
        for _, _, slot in self._held:
            if slot.wire is not None:
                self._selector.register(slot.wire, EVENT_READ, slot)
        self._held.clear()
        return super()._give_up()

    def _freed(self, number: int, kept: Wire | None) -> None:
        heappush(self._free, number)
        if kept:
            kept.close()

    def _slot_number(self) -> int:
        """Return the smallest number that no request in flight has."""
        if self._free:
            return heappop(self._free)
        self._slots += 1
        return self._slots - 1
