"""How far a cell is, for people: requests, the present rate, and when it will be done. Nothing is recorded of it.

The rate counts events as tokens, which is about right; figures are made from what the endpoint reports.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from anvil.collectors.load.loop import Progress
from anvil.collectors.protocols import Cell

_SECOND_NS = 1_000_000_000


@dataclass
class Pace:
    """The pace of one cell. `before` are the requests of the runs that have ended."""

    cell: Cell
    before: int = 0
    _started_ns: int = field(default_factory=time.monotonic_ns)
    _last: Progress = field(default_factory=lambda: Progress(0, 0, 0))

    @property
    def planned(self) -> int:
        """How many requests the cell has, warm-up included."""
        return self.cell.warmup_requests + self.cell.requests * self.cell.runs

    def began(self) -> None:
        """A run begins."""
        self._last = Progress(0, 0, 0)

    def ended(self, requests: int) -> None:
        """A run has ended."""
        self.before += requests

    def line(self, progress: Progress, expected: int) -> str:
        """Return what is shown of a run of `expected` requests."""
        since, self._last = self._last, progress
        lasted_ns = max(1, progress.since_ns - since.since_ns)
        rate = (progress.events - since.events) * _SECOND_NS / lasted_ns
        told = [f"{progress.ended}/{expected} requests", f"about {rate:.0f} tokens/s"]
        if (left_s := self.left_s(progress.ended)) is not None:
            told.append(f"cell done in about {spell_s(left_s)}")
        return ", ".join(told)

    def left_s(self, ended: int) -> float | None:
        """Return how many seconds the cell will take from now; null before any request has ended."""
        done = self.before + ended
        if not done:
            return None
        return (time.monotonic_ns() - self._started_ns) / _SECOND_NS / done * (self.planned - done)


def spell_s(seconds: float) -> str:
    """Return a time as people say it."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
    )
