"""How sure a mean over runs is, and a difference between two: intervals at 95 % confidence.

1. The sample is the *run*, never the request: whatever made a run fast or slow made all its requests so, and
   to count them one by one would claim a certainty that nobody has. n is the number of runs.
2. The interval of a mean is Student's: ``mean +- t(0.975, n - 1) * s / sqrt(n)``.
3. The interval of a ratio of two means is Fieller's, since the control's mean is uncertain too: all ratios r
   for which ``treatment - r * control`` is within ``t`` standard errors of nothing. Variances may differ, so
   the degrees of freedom are Welch's. A control that cannot be told from nothing has no ratio.
4. The *smallest effect* that so many runs could have shown is the difference which a test at 5 % finds about
   four times in five: ``(t(0.975) + t(0.8)) * standard error``, as a share of the control. That a smaller one
   was not found proves nothing.
5. Numbers are exact: variances are rationals, quantiles are the decimals of the table, between its rows in a
   straight line over ``1 / degrees`` (which lies above the curve), a root is taken to 18 digits behind the
   point and rounded up. So everybody gets the same bounds.
6. One run says nothing of how runs differ: without two there is no interval, and the result is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

from anvil.ledger.statistics import Number, mean

_DIGITS = 10**18

_DEGREES = (*range(1, 31), 40, 60, 120, None)
"""Those of the table's columns; None is without end."""

_T975 = (
    "12.7062 4.3027 3.1824 2.7764 2.5706 2.4469 2.3646 2.3060 2.2622 2.2281 2.2010 2.1788 2.1604 2.1448 2.1314 "
    "2.1199 2.1098 2.1009 2.0930 2.0860 2.0796 2.0739 2.0687 2.0639 2.0595 2.0555 2.0518 2.0484 2.0452 2.0423 "
    "2.0211 2.0003 1.9799 1.9600"
)
_T80 = (
    "1.3764 1.0607 0.9785 0.9410 0.9195 0.9057 0.8960 0.8889 0.8834 0.8791 0.8755 0.8726 0.8702 0.8681 0.8662 "
    "0.8647 0.8633 0.8620 0.8610 0.8600 0.8591 0.8583 0.8575 0.8569 0.8562 0.8557 0.8551 0.8546 0.8542 0.8538 "
    "0.8507 0.8477 0.8446 0.8416"
)
_QUANTILES = tuple(
    (Fraction(1, degrees) if degrees else Fraction(0), Fraction(wide), Fraction(power))
    for degrees, wide, power in zip(_DEGREES, _T975.split(), _T80.split(), strict=True)
)


class Interval(NamedTuple):
    """From where to where, both included."""

    low: Fraction
    high: Fraction


def student(degrees: Number) -> tuple[Fraction, Fraction]:
    """Return the 97.5 % and the 80 % quantile of Student's distribution (rule 5).

    Raises:
        ValueError: there is no such distribution.
    """
    if degrees < 1:
        raise ValueError(f"degrees of freedom are 1 or more, found {degrees}")
    share = 1 / Fraction(degrees)
    for (before, *upper), (after, *lower) in pairwise(_QUANTILES):
        if share >= after:
            part = (before - share) / (before - after)
            wide, power = (high - part * (high - low) for high, low in zip(upper, lower, strict=True))
            return wide, power
    raise AssertionError("the table goes on without end")


def mean_interval(runs: Sequence[Number]) -> Interval | None:
    """Return the interval of the mean of one value a run (rule 2)."""
    middle, square = mean(runs), _square_error(runs)
    if middle is None or square is None:
        return None
    half = student(len(runs) - 1)[0] * _root(square)
    return Interval(middle - half, middle + half)


def ratio_interval(control: Sequence[Number], treatment: Sequence[Number]) -> Interval | None:
    """Return the interval of treatment's mean over control's (rule 3)."""
    below, above = mean(control), mean(treatment)
    below_square, above_square = _square_error(control), _square_error(treatment)
    if below is None or above is None or below_square is None or above_square is None or not below:
        return None
    ratio = above / below
    wide = student(_welch(above_square, len(treatment), ratio**2 * below_square, len(control)))[0] ** 2
    curve = below**2 - wide * below_square
    if curve <= 0:
        return None
    middle = below * above
    root = _root(max(Fraction(0), middle**2 - curve * (above**2 - wide * above_square)))
    return Interval((middle - root) / curve, (middle + root) / curve)


def smallest_effect(control: Sequence[Number], treatment: Sequence[Number]) -> Fraction | None:
    """Return the smallest difference that these runs could have shown, as a share of control's mean (rule 4)."""
    below = mean(control)
    below_square, above_square = _square_error(control), _square_error(treatment)
    if not below or below_square is None or above_square is None:
        return None
    wide, power = student(_welch(above_square, len(treatment), below_square, len(control)))
    return (wide + power) * _root(above_square + below_square) / abs(below)


def _square_error(runs: Sequence[Number]) -> Fraction | None:
    """Return the square of the mean's standard error; None without two runs (rule 6)."""
    n, middle = len(runs), mean(runs)
    if n < 2 or middle is None:
        return None
    return sum(((value - middle) ** 2 for value in runs), Fraction(0)) / (n - 1) / n


def _welch(one: Fraction, one_n: int, other: Fraction, other_n: int) -> Fraction:
    """Return Welch's degrees of freedom; as if the variances were equal where there are none."""
    if not one + other:
        return Fraction(one_n + other_n - 2)
    return (one + other) ** 2 / (one**2 / (one_n - 1) + other**2 / (other_n - 1))


def _root(square: Fraction) -> Fraction:
    """Return the square root, rounded up (rule 5)."""
    scaled = square * _DIGITS**2
    whole = -(-scaled.numerator // scaled.denominator)
    root = isqrt(whole)
    return Fraction(root + (root * root < whole), _DIGITS)
