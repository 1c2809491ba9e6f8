"""What a measurement says, and how two things are timed against each other on a noisy machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

LONG = 200_000
"""Events from which on a verification takes so long that it is measured once or twice only."""


@dataclass(frozen=True)
class Setting:
    """How the measures run: where ledgers are built, and how large the large one is."""

    folder: Path
    cache: Path
    events: int


@dataclass(frozen=True)
class Row:
    """One measured value beside its floor, which was measured in the same run.

    `limit` is what `ratio` may be: at most, or at least when `at_least`. A row without a floor has
    its limit for the value itself.
    """

    name: str
    value: float
    unit: str
    limit: float
    floor: float | None = None
    floor_name: str | None = None
    at_least: bool = False

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


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
