"""Statistics by their names: the cases in which people got another number are the tests."""

from __future__ import annotations

import statistics as standard
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.statistics import (
    NoNumber,
    Number,
    delta_percent,
    exact,
    is_supported,
    linear,
    mean,
    mean_of_run_p50,
    median_interpolated,
    median_of_run_p50,
    named,
    nearest_rank,
    needed,
    percentile_of,
    rounded,
    sum_over_wall,
)

EXACT = st.one_of(st.integers(-(10**12), 10**12), st.fractions(max_denominator=10**6))
MANY = st.lists(EXACT, min_size=1, max_size=40)


@pytest.mark.parametrize("wrong", [1.5, True, "1", None, Decimal(1)])
def test_what_is_not_exact_is_refused(wrong: Any) -> None:
    for make in (lambda: nearest_rank([1, wrong], 50), lambda: mean([wrong]), lambda: rounded(wrong, 1)):
        with pytest.raises(NoNumber):
            make()


@pytest.mark.parametrize(
    "text", ["", "NaN", "inf", "1_000", " 1", "1 ", "0x10", "1,5", "01", ".5", "5.", "9" * 500]
)
def test_what_is_no_decimal_is_refused(text: str) -> None:
    with pytest.raises(NoNumber):
        exact(text)


def test_over_nothing_there_is_no_statistic() -> None:
    assert [nearest_rank([], 50), median_interpolated([]), linear([], 95), mean([])] == [None] * 4
    assert [mean_of_run_p50([]), median_of_run_p50([]), sum_over_wall([], 5)] == [None] * 3


def test_a_run_without_values_does_not_drop_out_in_silence() -> None:
    for statistic in (mean_of_run_p50, median_of_run_p50):
        with pytest.raises(NoNumber, match="left out"):
            statistic([[1, 2], []])


def test_three_rules_under_one_word_give_three_numbers() -> None:
    values = [10, 20, 30, 41]
    assert nearest_rank(values, 50) == 20
    assert median_interpolated(values) == 25
    assert linear(values, 95) == Fraction("39.35")
    assert nearest_rank(values, 95) == 41


@pytest.mark.parametrize(
    ("q", "rank"), [(1, 1), (10, 1), (11, 2), (50, 5), (51, 6), (90, 9), (91, 10), (100, 10)]
)
def test_the_nearest_rank_is_the_ceiling(q: int, rank: int) -> None:
    assert nearest_rank(range(10, 0, -1), q) == rank


@pytest.mark.parametrize("q", [0, -1, 101])
def test_what_is_no_percentage_is_refused(q: int) -> None:
    with pytest.raises(NoNumber):
        nearest_rank([1], q)


def test_rounding_once_gives_what_rounding_twice_does_not() -> None:
    value = exact("862.3496")  # printed as 862.35 first, then as 862.4 by hand, or cut to 862.3
    assert rounded(value, 1) == "862.3"
    assert rounded(exact(rounded(value, 2)), 1) == "862.4"
    assert rounded(exact("35.64999"), 1) == "35.6"


def test_the_modes_differ_on_a_tie_and_only_there() -> None:
    assert (rounded(exact("52.145"), 2), rounded(exact("52.145"), 2, "half_even")) == ("52.15", "52.14")
    assert (rounded(exact("-0.5"), 0), rounded(exact("-0.5"), 0, "half_even")) == ("-1", "0")
    assert rounded(exact("-0.04"), 1) == "0.0", "there is no minus zero"
    assert rounded(48, 1) == "48.0", "48.0 is not 48"


def test_deltas_are_derived_from_unrounded_operands() -> None:
    control, treatment = exact("554.34"), exact("429.26")
    assert rounded(delta_percent(control, treatment) or 0, 1) == "-22.6"
    assert delta_percent(0, 5) is None


@pytest.mark.parametrize(("q", "samples"), [(50, 5), (90, 29), (95, 59), (99, 299)])
def test_a_percentile_needs_its_number_of_samples(q: int, samples: int) -> None:
    assert is_supported(q, samples)
    assert not is_supported(q, samples - 1)
    assert not is_supported(100, 10**6)


def test_an_aggregate_is_amount_over_wall_time_and_no_median() -> None:
    assert sum_over_wall([256, 256], 8_000_000_000) == 64
    with pytest.raises(NoNumber):
        sum_over_wall([1], 0)


def test_across_runs_the_name_says_how() -> None:
    runs = [[1, 2, 3], [4, 5, 6], [7, 80, 900]]
    assert mean_of_run_p50(runs) == 29
    assert median_of_run_p50(runs) == 5


@given(MANY)
def test_median_and_mean_agree_with_the_standard_library(values: list[Fraction]) -> None:
    exactly = [Fraction(v) for v in values]
    assert median_interpolated(values) == standard.median(exactly)
    assert mean(values) == sum(exactly) / len(exactly)


@given(MANY, st.integers(1, 100))
def test_the_nearest_rank_has_enough_values_at_or_below_it(values: list[Fraction], q: int) -> None:
    found = nearest_rank(values, q)
    assert found in values
    at_or_below = sum(v <= found for v in values)
    assert at_or_below * 100 >= q * len(values)
    assert sum(v < found for v in values) * 100 < q * len(values)


@given(MANY, st.integers(0, 100))
def test_linear_lies_between_its_neighbours_and_hits_the_ends(values: list[Fraction], q: int) -> None:
    assert min(values) <= linear(values, q) <= max(values)
    assert (linear(values, 0), linear(values, 100)) == (min(values), max(values))


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**9), max_value=10**9),
    st.integers(0, 5),
)
def test_rounding_agrees_with_decimal_in_both_modes(value: Decimal, places: int) -> None:
    for mode, theirs in (("half_up", ROUND_HALF_UP), ("half_even", ROUND_HALF_EVEN)):
        with localcontext() as context:
            context.prec = 60
            expected = value.quantize(Decimal(1).scaleb(-places), rounding=theirs)
        ours = rounded(Fraction(value), places, mode)  # type: ignore[arg-type]
        assert Decimal(ours) == expected
        assert len(ours.partition(".")[2]) == places


@given(st.integers(-(10**9), 10**9), st.integers(0, 9))
def test_a_printed_decimal_is_read_as_what_it_is(whole: int, places: int) -> None:
    text = rounded(Fraction(whole, 10**places), places)
    assert exact(text) == Fraction(whole, 10**places)


# --- by their names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nearest_rank_p50", 2),
        ("nearest_rank_p95", 10),
        ("linear_p50", Fraction(5, 2)),
        ("median_interpolated", Fraction(5, 2)),
        ("mean", 4),
        ("sum", 16),
        ("minimum", 1),
        ("maximum", 10),
    ],
)
def test_a_statistic_is_found_by_its_name(name: str, value: Number) -> None:
    assert named(name, [10, 1, 2, 3]) == value
    assert named(name, []) is None


@pytest.mark.parametrize(
    "name", ["", "median", "p50", "nearest_rank_p", "nearest_rank_px", "sum_over_wall", "MEAN"]
)
def test_a_name_that_says_not_which_statistic_it_is_gives_none(name: str) -> None:
    with pytest.raises(NoNumber, match="no statistic"):
        named(name, [1])


def test_how_many_samples_a_percentile_needs() -> None:
    assert [needed(q) for q in (50, 90, 95, 99)] == [5, 29, 59, 299]
    assert all(is_supported(q, needed(q)) and not is_supported(q, needed(q) - 1) for q in range(2, 100))
    with pytest.raises(NoNumber):
        needed(100)


def test_which_percentile_a_name_means() -> None:
    names = ("nearest_rank_p95", "linear_p5", "median_interpolated", "mean", "sum_over_wall")
    assert [percentile_of(name) for name in names] == [95, 5, 50, None, None]
