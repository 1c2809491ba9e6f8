"""Scales: from a value to a place, exactly, always from 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.statistics import rounded

STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Scale:
    """An axis from 0 to `top` over `length` units of a plot, with a mark at each multiple of `step`."""

    top: Fraction
    step: Fraction
    length: int

    def at(self, value: Fraction) -> Fraction:
        """Return how far from 0 a value stands."""
        return value / self.top * self.length

    def ticks(self) -> list[Fraction]:
        """Return the values that are marked, 0 first."""
        return [self.step * count for count in range(int(self.top / self.step) + 1)]


def up_to(values: Iterable[Fraction], length: int) -> Scale:
    """Return the scale that ends at the largest value; it has no marks but its ends."""
    top = max(values, default=Fraction(0)) or Fraction(1)
    return Scale(top, top, length)


def rounded_up(values: Iterable[Fraction], length: int, marks: int) -> Scale:
    """Return the scale that ends at the first round number at or above the largest value.

    It has at most `marks` marks above 0, at multiples of 1, 2 or 5 times a power of ten.
    """
    top = max(values, default=Fraction(0)) or Fraction(1)
    power = Fraction(1)
    while power * 10 < top / marks:
        power *= 10
    while power > top / marks:
        power /= 10
    step = next(power * times for times in (*STEPS, 10) if power * times * marks >= top)
    return Scale(-(-top // step) * step, step, length)


def spelled(value: Fraction) -> str:
    """Return a mark of an axis as text, digits in groups of three; marks are short decimals."""
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    return rounded(value, places) if places else f"{int(value):,}".replace(",", "\u2009")
