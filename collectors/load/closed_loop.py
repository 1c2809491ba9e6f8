"""The closed loop: N streams, each sending its next request when the one before has ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anvil.collectors.load.inflight import InFlight
from anvil.collectors.load.loop import TICK_NS, Loop
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.wire import Wire

_TICK_S = TICK_NS / 1_000_000_000


class ClosedLoop(Loop):
    """A run with `concurrency` streams. A slow endpoint gets fewer requests; none waits but for its stream."""

    def __init__(
        self, target: Target, requests: Iterable[PlannedRequest], *, concurrency: int, **more: Any
    ) -> None:
        super().__init__(target, requests, **more)
        self.concurrency = concurrency

    def _begin(self) -> None:
        for number in range(self.concurrency or 0):
            self._freed(number, None)

    def _come_due(self) -> float:
        return _TICK_S

    def _is_all_begun(self) -> bool:
        return True  # with no stream at work none will be free

    def _freed(self, number: int, kept: Wire | None) -> None:
        """Line up the stream's next request, for the connection it kept or for a new one."""
        request = next(self._requests, None)
        if request is not None:
            self._line_up(InFlight(request, number, self._clocks.now_ns()), kept)
        elif kept:
            kept.close()
