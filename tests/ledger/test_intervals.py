"""Intervals over runs: the table against the distribution itself, and how often they hold what they promise."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.intervals import mean_interval, ratio_interval, smallest_effect, student
from anvil.ledger.statistics import mean, nearest_rank

DEGREES = (*range(1, 31), 40, 60, 120)


def student_cdf(t: float, degrees: int) -> float:
    """The closed form for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine, term, total = math.cos(angle), 1.0, 1.0
    if degrees % 2:
        term = total = cosine if degrees > 1 else 0.0
    for k in range(3 if degrees % 2 else 2, degrees - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if degrees % 2 else math.sin(angle) * total
    return 0.5 + inside / 2


@pytest.mark.parametrize("degrees", DEGREES)
def test_table_is_the_distribution_to_its_last_digit(degrees: int) -> None:
    for quantile, wanted in zip(student(degrees), (0.975, 0.8), strict=True):
        half = 0.00005
        assert student_cdf(float(quantile) - half, degrees) < wanted
        assert student_cdf(float(quantile) + half, degrees) > wanted


@given(st.fractions(min_value=1, max_value=100_000, max_denominator=1000))
def test_between_rows_of_the_table_no_more_is_claimed_than_is_true(degrees: Fraction) -> None:
    # the distribution of the next whole degrees of freedom lies inside
    quantile, _ = student(degrees)
    assert student_cdf(float(quantile) + 0.00006, math.ceil(degrees)) > 0.975
    assert student(degrees + 1)[0] <= quantile <= student(max(1, degrees - 1))[0]


def test_there_is_no_distribution_without_degrees_of_freedom() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        student(0)


def test_mean_by_hand() -> None:
    # s = 1, so the half width is t(0.975, 2) / sqrt(3)
    found = mean_interval([9, 10, 11])
    assert found is not None
    assert float(found.high - 10) == pytest.approx(4.3027 / math.sqrt(3))
    assert found.high - 10 == 10 - found.low


def test_ratio_by_hand_with_a_control_that_is_known_exactly() -> None:
    found = ratio_interval([10, 10, 10], [9, 10, 11])
    assert found is not None
    # Welch's degrees of freedom are then the treatment's alone
    assert float(found.high) == pytest.approx(1 + 4.3027 / math.sqrt(3) / 10)
    assert float(found.low) == pytest.approx(1 - 4.3027 / math.sqrt(3) / 10)


def test_fieller_is_not_symmetric_about_the_ratio() -> None:
    found = ratio_interval([8, 10, 12], [19, 20, 21])
    assert found is not None
    assert found.high - 2 > 2 - found.low > 0


def test_nothing_is_said_of_one_run_or_of_a_control_that_may_be_nothing() -> None:
    assert mean_interval([]) is None
    assert mean_interval([5]) is None
    assert ratio_interval([5], [1, 2]) is None
    assert ratio_interval([1, 2], [5]) is None
    assert ratio_interval([0, 0], [1, 2]) is None
    assert ratio_interval([-10, 11], [1, 2]) is None
    assert smallest_effect([1], [1, 2]) is None
    assert smallest_effect([-1, 1], [1, 2]) is None


def test_equal_runs_are_certain() -> None:
    assert mean_interval([7, 7]) == (7, 7)
    assert ratio_interval([5, 5], [10, 10]) == (2, 2)
    assert smallest_effect([5, 5], [10, 10]) == 0


numbers = st.fractions(min_value=1, max_value=1000, max_denominator=100)


@given(st.lists(numbers, min_size=2, max_size=8), st.lists(numbers, min_size=2, max_size=8))
def test_bounds_hold_the_estimate_and_scale_with_the_unit(
    control: list[Fraction], treatment: list[Fraction]
) -> None:
    middle, other = mean(control), mean(treatment)
    assert middle is not None
    assert other is not None
    own = mean_interval(control)
    assert own is not None
    assert own.low <= middle <= own.high
    ratio = ratio_interval(control, treatment)
    if ratio is not None:
        assert ratio.low <= other / middle <= ratio.high
        larger = ratio_interval([value * 1000 for value in control], [value * 1000 for value in treatment])
        assert larger is not None
        assert float(larger.low) == pytest.approx(float(ratio.low), abs=1e-9)
        assert float(larger.high) == pytest.approx(float(ratio.high), abs=1e-9)


def runs_of(draw: random.Random, centre: float, between: float, within: float) -> list[int]:
    """Five runs of ten requests: each run is faster or slower as a whole. The run's nearest-rank p50, in ns."""
    found = []
    for _ in range(5):
        level = centre * (1 + draw.gauss(0, between))
        p50 = nearest_rank([round(level * (1 + draw.gauss(0, within))) for _ in range(10)], 50)
        assert isinstance(p50, int)
        found.append(p50)
    return found


@pytest.mark.parametrize("between", [0.0, 0.005, 0.01, 0.02, 0.05])
def test_nominal_95_percent_holds_the_truth_93_to_97_times_in_100(between: float) -> None:
    draw, trials, within = random.Random(20261130), 3000, 0.03
    # the truth: what the p50 of a run of ten comes to on the long average, since nearest rank leans low
    lean = sum(sorted(draw.gauss(0, within) for _ in range(10))[4] for _ in range(60_000)) / 60_000
    slow, fast = 554_300_000, 429_300_000
    mean_hit = ratio_hit = 0
    for _ in range(trials):
        control, treatment = (runs_of(draw, centre, between, within) for centre in (slow, fast))
        own, ratio = mean_interval(control), ratio_interval(control, treatment)
        assert own is not None
        assert ratio is not None
        mean_hit += own.low <= slow * (1 + lean) <= own.high
        ratio_hit += ratio.low <= Fraction(fast, slow) <= ratio.high
    assert 0.93 <= mean_hit / trials <= 0.97
    assert 0.93 <= ratio_hit / trials <= 0.97


def test_smallest_effect_is_found_four_times_in_five() -> None:
    draw, trials, found = random.Random(7), 1500, 0
    spread = 0.02
    # what the runs below have for a smallest effect, were their spread known: (t(8) + t80(8)) * sqrt(2/5) * 2 %
    effect = (2.3060 + 0.8889) * math.sqrt(2 / 5) * spread
    for _ in range(trials):
        control = [round(10**9 * (1 + draw.gauss(0, spread))) for _ in range(5)]
        treatment = [round(10**9 * (1 + effect) * (1 + draw.gauss(0, spread))) for _ in range(5)]
        ratio = ratio_interval(control, treatment)
        assert ratio is not None
        found += not ratio.low <= 1 <= ratio.high
    assert 0.75 <= found / trials <= 0.87
