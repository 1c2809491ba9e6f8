"""How sure a figure is, in words: its interval, and how many runs or requests it is made of.

1. Nothing is computed here. What is said is what the figure's rule says; a rule that says nothing of it gives nothing.
2. A value over runs is as sure as its runs agree: it has an interval. One that has none is told by its requests.
3. A difference whose interval has 0 in it is not shown to be one. Two values are not told apart where their intervals meet.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.wording import counted

_MEASURED = re.compile(r"^(?:mean|median)_of_\w+\(")
_DIFFERENCE = re.compile(r"^delta_percent of (?:mean|median)_of_\w+\(")
_COUNTS = re.compile(r"; ([0-9]+) completed and [0-9]+ failed of [0-9]+ requests? in ([0-9]+) runs?\b")
_OVER_RUNS = re.compile(r"; 95 % interval over runs: (-?[0-9]+(?:\.[0-9]+)?) to (-?[0-9]+(?:\.[0-9]+)?)")
_OF_DIFFERENCE = re.compile(r"; 95 % interval (-?[0-9]+(?:\.[0-9]+)?) to (-?[0-9]+(?:\.[0-9]+)?) %, ")
_BOTH = re.compile(r"[;,] n = ([0-9]+) and ([0-9]+) runs\b")


@dataclass(frozen=True)
class Certainty:
    """What stands beside a figure, and the ends of its interval, where it has one."""

    words: str
    ends: tuple[Fraction, Fraction] | None = None

    @property
    def has_zero(self) -> bool:
        """Whether the interval has 0 in it (rule 3)."""
        return self.ends is not None and self.ends[0] <= 0 <= self.ends[1]

    def meets(self, other: Certainty) -> bool:
        """Say whether both have an interval, and these have a value in common (rule 3)."""
        if self.ends is None or other.ends is None:
            return False
        return self.ends[0] <= other.ends[1] and other.ends[0] <= self.ends[1]


def certainty(rule: str) -> Certainty | None:
    """Return how sure a figure with this rule is; None where the rule does not say it (rule 1)."""
    if _DIFFERENCE.match(rule):
        return _of_difference(rule)
    counts = _COUNTS.search(rule) if _MEASURED.match(rule) else None
    if counts is None:
        return None
    requests, runs = int(counts[1]), int(counts[2])
    found = _OVER_RUNS.search(rule)
    if found is not None:
        return Certainty(f"95 %: {found[1]} to {found[2]}, n = {counted(runs, 'run')}", _ends(found))
    within = f" in {counted(runs, 'run')}" if requests > 1 else ""
    return Certainty(f"{'no interval, ' if requests > 1 else ''}n = {counted(requests, 'request')}{within}")


def _of_difference(rule: str) -> Certainty | None:
    runs, found = _BOTH.search(rule), _OF_DIFFERENCE.search(rule)
    if runs is None:
        return None
    counts = f"n = {runs[1]} and {runs[2]} runs"
    if found is None:
        return Certainty(f"no interval, {counts}")
    return Certainty(f"95 %: {found[1]} to {found[2]} %, {counts}", _ends(found))


def _ends(found: re.Match[str]) -> tuple[Fraction, Fraction]:
    return Fraction(found[1]), Fraction(found[2])
