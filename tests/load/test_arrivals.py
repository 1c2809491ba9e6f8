"""A Poisson schedule: the same on every machine, and distributed as it says."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.collectors.load.arrivals import poisson
from anvil.ledger.statistics import NoNumber

GOLDEN = (652123470, 1162061161, 2027406829)


def test_the_same_on_every_machine() -> None:
    assert poisson(1, "2.5", 3) == GOLDEN
    assert poisson(1, "2.5", 100)[:3] == GOLDEN


@given(st.integers(0, 2**53 - 1), st.integers(1, 50))
def test_in_order_and_after_the_beginning(seed: int, count: int) -> None:
    moments = poisson(seed, "100", count)
    assert len(moments) == count
    assert moments[0] >= 0
    assert list(moments) == sorted(moments)


def test_gaps_are_exponential() -> None:
    """Kolmogorov and Smirnov's distance from the distribution, at 1 in 1000."""
    moments = (0, *poisson(20261130, "50", 5000))
    gaps = sorted((after - before) * 50 / 1e9 for before, after in pairwise(moments))
    distance = max(
        max(abs((number + 1) / 5000 - (1 - math.exp(-gap))), abs(number / 5000 - (1 - math.exp(-gap))))
        for number, gap in enumerate(gaps)
    )
    assert distance < 1.95 / math.sqrt(5000)


def test_twice_the_rate_is_half_the_time() -> None:
    slow, fast = poisson(7, "4", 20), poisson(7, "8", 20)
    assert all(abs(2 * after - before) <= 2 for before, after in zip(slow, fast, strict=True))


@pytest.mark.parametrize(("rate", "error"), [("0", ValueError), ("-1", ValueError), ("fast", NoNumber)])
def test_a_rate_is_a_number_above_0(rate: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        poisson(1, rate, 1)
