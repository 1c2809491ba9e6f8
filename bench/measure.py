"""What a measurement says, and how two things are timed against each other on a noisy machine."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

LONG = 200_000
"""Events from which on a verification takes so long that it is measured once or twice only."""


@dataclass(frozen=True)
class Setting:
    """How the measures run: where ledgers are built, and how large the large one is."""

    folder: Path
    cache: Path
    events: int


BY_CPU = "by processor time, user and system, of the process; `wall` is the same by the clock on the wall"
"""The note of a row whose value does not change with what else the machine does."""


class Spent(NamedTuple):
    """What something took, in seconds: by the clock on the wall, and of processor time."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Row:
    """One measured value beside its floor, which was measured in the same run.

    `limit` is what `ratio` may be: at most, or at least when `at_least`. A row without a floor has
    its limit for the value itself. `wall` stands beside a value that is of processor time; `note` says so.
    """

    name: str
    value: float
    unit: str
    limit: float
    floor: float | None = None
    floor_name: str | None = None
    at_least: bool = False
    wall: float | None = None
    note: str | None = None

    @property
    def ratio(self) -> float | None:
        """Value by floor."""
        return None if self.floor is None else self.value / self.floor

    @property
    def passed(self) -> bool:
        """Whether the limit is kept."""
        found = self.value if self.ratio is None else self.ratio
        return found >= self.limit if self.at_least else found <= self.limit

    def members(self) -> dict[str, Any]:
        """Return the row as it stands in bench.json, to four significant digits."""
        return {
            "name": self.name,
            "value": _rounded(self.value),
            "unit": self.unit,
            "floor": _rounded(self.floor),
            "floor_name": self.floor_name,
            "ratio": _rounded(self.ratio),
            "limit": self.limit,
            "limit_is": "at least" if self.at_least else "at most",
            "passed": self.passed,
            "wall": _rounded(self.wall),
            "note": self.note,
        }


def interleaved(rounds: int, first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float]:
    """Call both in turn, `rounds` times, and return the median of what each returned.

    Taking turns lets whatever else the machine does fall on both alike.
    """
    pairs = [(first(), second()) for _ in range(rounds)]
    return median(a for a, _ in pairs), median(b for _, b in pairs)


def seconds(action: Callable[[], object]) -> float:
    """Return how long `action` took."""
    start = perf_counter()
    action()
    return perf_counter() - start


def spent(action: Callable[[], object]) -> Spent:
    """Return what `action` took of this process, and of those that it started and that ended."""
    start, before = perf_counter(), _cpu()
    action()
    return Spent(perf_counter() - start, _cpu() - before)


def spent_in_turns(
    rounds: int, first: Callable[[], object], second: Callable[[], object]
) -> tuple[Spent, Spent]:
    """Call both in turn, `rounds` times, and return the median of what each took."""
    pairs = [(spent(first), spent(second)) for _ in range(rounds)]
    return middle(a for a, _ in pairs), middle(b for _, b in pairs)


def middle(found: Iterable[Spent]) -> Spent:
    """Return the median of each."""
    walls, cpus = zip(*found, strict=True)
    return Spent(median(walls), median(cpus))


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
