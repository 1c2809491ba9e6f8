"""The statistics that may be published, each under a name that says which one it is.

1. Operands are exact: integers, or the decimal text that somebody printed as the rational it is.
   Nothing here is a float.
2. A percentile is named by its rule, since the rules differ on the same rows. *Nearest rank* is ours:
   of n sorted values the ``ceil(q * n / 100)``-th. *Interpolated median* is the middle, or the mean
   of the middle two. *Linear* interpolates between the two values around ``q / 100 * (n - 1)``.
3. Rounding is one function, applied once, at the end, from unrounded operands, and its mode is named.
4. A percentile is supported by n samples when one of them lies at or above it with 95 % confidence:
   ``1 - (q / 100) ** n >= 0.95``. That is p90 from 29, p95 from 59, p99 from 299.
5. Over nothing there is no statistic: the result is None, never 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from anvil.ledger.errors import LedgerError

Number = int | Fraction
Rounding = Literal["half_up", "half_even"]

_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?")


class NoNumber(LedgerError):
    """A text is not a decimal number, or a value is not exact."""


def exact(text: str) -> Fraction:
    """Return the rational that a printed decimal is: ``"28.47"`` is 2847/100.

    Raises:
        NoNumber: the text is no decimal number.
    """
    if len(text) > 400 or not _DECIMAL.fullmatch(text):
        raise NoNumber(f"expected a decimal number, found {text[:60]!r}")
    return Fraction(text)


def nearest_rank(values: Sequence[Number], q: int) -> Number | None:
    """Return the value at the nearest rank for the `q`-th percentile, 1 to 100 (rule 2).

    Raises:
        NoNumber: `q` is no percentage, or a value is not exact.
    """
    ordered = _sorted(values)
    if not 1 <= q <= 100:
        raise NoNumber(f"a percentile is 1 to 100, found {q}")
    return ordered[-(-q * len(ordered) // 100) - 1] if ordered else None


def median_interpolated(values: Sequence[Number]) -> Number | None:
    """Return the middle value, or the mean of the middle two (rule 2)."""
    return linear(values, 50)


def linear(values: Sequence[Number], q: int) -> Number | None:
    """Return the `q`-th percentile by linear interpolation between neighbours, 0 to 100 (rule 2).

    Raises:
        NoNumber: `q` is no percentage, or a value is not exact.
    """
    ordered = _sorted(values)
    if not 0 <= q <= 100:
        raise NoNumber(f"a percentile is 0 to 100, found {q}")
    if not ordered:
        return None
    position = Fraction(q * (len(ordered) - 1), 100)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def mean(values: Sequence[Number]) -> Fraction | None:
    """Return the arithmetic mean."""
    ordered = _sorted(values)
    return Fraction(sum(ordered), len(ordered)) if ordered else None


def mean_of_run_p50(runs: Sequence[Sequence[Number]]) -> Fraction | None:
    """Return the mean over runs of each run's nearest-rank p50. A run without values is refused.

    Raises:
        NoNumber: a run has no values, so that it would drop out in silence.
    """
    return mean(_p50s(runs))


def median_of_run_p50(runs: Sequence[Sequence[Number]]) -> Number | None:
    """Return the interpolated median over runs of each run's nearest-rank p50.

    Raises:
        NoNumber: a run has no values, so that it would drop out in silence.
    """
    return median_interpolated(_p50s(runs))


def sum_over_wall(amounts: Sequence[Number], wall_ns: Number) -> Fraction | None:
    """Return amounts per second over a wall time in nanoseconds: the aggregate rate.

    Raises:
        NoNumber: the wall time is not positive.
    """
    if wall_ns <= 0:
        raise NoNumber(f"a wall time is positive, found {wall_ns} ns")
    ordered = _sorted(amounts)
    return Fraction(sum(ordered)) * 1_000_000_000 / wall_ns if ordered else None


def named(statistic: str, values: Sequence[Number]) -> Number | None:
    """Return the statistic of `values` that has this name: `nearest_rank_p95`, `mean`, `sum`.

    Raises:
        NoNumber: there is no such statistic over values alone, or a value is not exact.
    """
    rule, _, q = statistic.partition("_p")
    if q.isdecimal() and rule in ("nearest_rank", "linear"):
        return nearest_rank(values, int(q)) if rule == "nearest_rank" else linear(values, int(q))
    ordered = _sorted(values)
    match statistic:
        case "median_interpolated":
            return median_interpolated(ordered)
        case "mean":
            return mean(ordered)
        case "sum":
            return sum(ordered, Fraction()) if ordered else None
        case "minimum":
            return ordered[0] if ordered else None
        case "maximum":
            return ordered[-1] if ordered else None
        case _:
            raise NoNumber(f"there is no statistic {statistic[:60]!r} over values alone")


def percentile_of(statistic: str) -> int | None:
    """Return which percentile a statistic's name means; null when it means none."""
    if statistic == "median_interpolated":
        return 50
    _, found, q = statistic.partition("_p")
    return int(q) if found and q.isdecimal() else None


def delta_percent(control: Number, treatment: Number) -> Fraction | None:
    """Return by how many percent of `control` `treatment` differs from it; None when the control is 0."""
    if not control:
        return None
    return Fraction(treatment - control) * 100 / Fraction(control)


def is_supported(q: int, samples: int) -> bool:
    """Say whether `samples` values are enough to print the `q`-th percentile (rule 4)."""
    if q >= 100:
        return False
    return 1 - Fraction(q, 100) ** samples >= Fraction(95, 100)


def needed(q: int) -> int:
    """Return how many samples the `q`-th percentile needs (rule 4): 59 for p95.

    Raises:
        NoNumber: `q` is no percentile that any number of samples supports.
    """
    if not 1 <= q < 100:
        raise NoNumber(f"a percentile that samples can support is 1 to 99, found {q}")
    samples = 1
    while not is_supported(q, samples):
        samples += 1
    return samples


def rounded(value: Number, places: int, mode: Rounding = "half_up") -> str:
    """Return `value` with exactly `places` decimals as text: the one rounding (rule 3).

    Minus zero is printed as zero.

    Raises:
        NoNumber: `places` is negative, or the value is not exact.
    """
    if not 0 <= places <= 30 or isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise NoNumber(f"cannot round {value!r} to {places} places")
    scaled = Fraction(value) * 10**places
    whole, rest = divmod(abs(scaled.numerator), scaled.denominator)
    twice = 2 * rest - scaled.denominator
    if twice > 0 or (twice == 0 and (mode == "half_up" or whole % 2)):
        whole += 1
    digits = f"{whole:0{places + 1}d}"
    sign = "-" if scaled < 0 and whole else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def _p50s(runs: Sequence[Sequence[Number]]) -> list[Number]:
    medians = [nearest_rank(run, 50) for run in runs]
    if any(value is None for value in medians):
        raise NoNumber("a run without values has no median; say why it is left out instead")
    return [value for value in medians if value is not None]


def _sorted(values: Sequence[Number]) -> list[Number]:
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | Fraction):
            raise NoNumber(f"expected an exact number, found {value!r}")
    return sorted(values)
