"""How far a cell is, for people: requests, the present rate, and when it will be done. Nothing is recorded of it.

1. The rate counts events as tokens, which is about right; figures are made from what the endpoint reports.
2. While nothing comes since prompts are being read, there is no rate: it is said how long the one that has waited
   longest waits for its first token.
3. When a cell will be done is told from its first request on that has ended, by what those that ended took. The
   client's calibration between warm-up and runs is not counted.
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
    _spent_ns: int = 0
    _began_ns: int = 0
    _last: Progress = field(default_factory=lambda: Progress(0, 0, 0))

    @property
    def planned(self) -> int:
        """How many requests the cell has, warm-up included."""
        return self.cell.warmup_requests + self.cell.requests * self.cell.runs

    def began(self) -> None:
        """A run begins."""
        self._began_ns = time.monotonic_ns()
        self._last = Progress(0, 0, 0)

    def ended(self, requests: int) -> None:
        """A run has ended."""
        self.before += requests
        self._spent_ns += time.monotonic_ns() - self._began_ns
        self._began_ns = time.monotonic_ns()

    def line(self, progress: Progress, expected: int) -> str:
        """Return what is shown of a run of `expected` requests: what matters most comes first."""
        since, self._last = self._last, progress
        told = [f"{progress.ended}/{expected} done"]
        if (
            left_s := self.left_s(progress.ended)
        ) is not None and self.before + progress.ended < self.planned:
            told.append(f"{spell_s(left_s)} left")
        events = progress.events - since.events
        if events > 0:
            lasted_ns = max(1, progress.since_ns - since.since_ns)
            told.append(f"{events * _SECOND_NS / lasted_ns:.0f} tokens/s")
        elif progress.reading:
            told.append(f"prefill for {spell_s(progress.waits_ns / _SECOND_NS)}")
        return ", ".join(told)

    def left_s(self, ended: int) -> float | None:
        """Return how many seconds the cell will take from now; null before any request has ended."""
        done = self.before + ended
        if not done:
            return None
        spent_ns = self._spent_ns + time.monotonic_ns() - self._began_ns
        return spent_ns / _SECOND_NS / done * (self.planned - done)


def spell_s(seconds: float) -> str:
    """Return a time as people say it."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return (
        f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
    )
