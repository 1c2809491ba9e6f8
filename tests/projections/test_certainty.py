"""How sure a figure is stands beside it, for everybody to see: its interval, how many requests, and no more than that."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from support.fine.lanes import FP8_LANE, UNQUANTIZED, lanes
from support.fine.loads import load, row
from support.fine.side_by_side import side_by_side
from support.fine.stage import Stage
from support.fine.summaries import NAME, started
from support.importing import imported, rendered
from support.published import spelled, summary

from anvil.projections.pages import page
from anvil.projections.pages.certainty import certainty
from anvil.projections.pages.comparisons import UNSURE, compared
from anvil.projections.pages.view import view
from anvil.projections.provenance import State
from anvil.projections.record import fold

LANES = "qwen38-27b-qualification-summary.v1"
STATE = State("x.test.invalid", 9, "0" * 64)
FORMS = pytest.mark.parametrize("form", ["md", "html"])
COUNTS = "; 50 completed and 0 failed of 50 requests in 5 runs"
ONE = "mean_of_requests(ttft.visible/1) in s: mean over all requests; 1 completed and 0 failed of 1 request in 1 run"
DELTA = "delta_percent of mean_of_run_p50(e2e/1), unrounded: b against a; "


def read(made: str) -> str:
    """Return a page as text that a reader sees: no tag, no attribute, so no title either."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", made)).replace("\\", "").replace("&nbsp;", " ")


def pictured(stage: Stage, form: str, name: str) -> str:
    return read(page(stage.drawn(name), STATE, stage.played()[0], form))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (f"mean_of_runs(x) in tok/s: mean{COUNTS}; 95 % interval over runs: 16.10 to 16.26", "95 %: 16.10 to 16.26, n = 5 runs"),
        (ONE, "n = 1 request"),
        (ONE.replace("1 completed and 0 failed of 1 request", "4 completed and 1 failed of 5 requests"), "no interval, n = 4 requests in 1 run"),
        (f"{DELTA}95 % interval -23.0 to -22.1 %, n = 5 and 5 runs, 0.4 % would have been found", "95 %: -23.0 to -22.1 %, n = 5 and 5 runs"),
        (f"{DELTA}n = 1 and 1 runs, no interval", "no interval, n = 1 and 1 runs"),
    ],
)  # fmt: skip
def test_a_rule_says_how_sure_its_figure_is(rule: str, words: str) -> None:
    found = certainty(f"{rule}, rounded half up to 1 place")
    assert found is not None
    assert found.words == words


@pytest.mark.parametrize(
    "rule", ["how many runs count", "statement.imported/1 values.0.value", "", f"a label{COUNTS}"]
)
def test_a_rule_that_says_nothing_of_it_gives_nothing(rule: str) -> None:
    assert certainty(rule) is None


@pytest.mark.parametrize(
    ("low", "high", "is_shown"), [("-1.0", "0.3", False), ("0.0", "2.1", False), ("0.1", "2.1", True)]
)
def test_a_difference_whose_interval_has_0_in_it_is_not_shown(low: str, high: str, is_shown: bool) -> None:
    found = certainty(
        f"{DELTA}95 % interval {low} to {high} %, n = 3 and 3 runs, 1.0 % would have been found"
    )
    assert found is not None
    assert found.has_zero is not is_shown


@FORMS
def test_intervals_and_requests_are_read_without_a_pointer(form: str) -> None:
    made = pictured(side_by_side(), form, NAME)
    assert made.count("(95 %: -23.0 to -22.1 %, n = 5 and 5 runs)") >= 2  # in the answer, and in the table
    assert "(n = 1 request)" in made
    assert "this says nothing of how precise it is" in made
    rungs = pictured(lanes(), form, LANES)
    assert rungs.count("(n = 1 request)") >= 6
    assert "(95 %: 47.67 to 48.15, n = 5 runs)" in rungs


@FORMS
def test_a_sign_and_a_word_for_less_or_more_stand_at_each_difference(form: str) -> None:
    made = pictured(side_by_side(), form, NAME)
    assert re.search(r"-22\.6 % ?●.{0,30}, less time: faster", made)
    assert re.search(r"\+29\.1 % ?●.{0,30}, higher rate: faster", made)


@FORMS
def test_one_request_has_no_interval_and_says_so(form: str) -> None:
    stage = started()
    load(stage, "tiny", "a1", [row(0, 10**8, 10**9, 20)])
    made = pictured(stage, form, NAME)
    assert "(n = 1 request)" in made
    assert "95 %" not in made


@FORMS
def test_a_file_that_says_nothing_of_it_is_said_to(form: str) -> None:
    seen = imported(spelled(summary()))
    made = page(rendered(NAME, seen), STATE, fold(seen), form)
    assert UNSURE in made


def test_an_even_difference_and_one_that_is_not_shown_are_not_called_faster() -> None:
    stage = side_by_side()
    document = view(stage.drawn(NAME), STATE, stage.played()[0])["document"]
    cell = document["capacity_4k_c1"]
    against = next(key for key in cell if key.endswith("_delta_percent"))
    figure = cell[against]["ttft"]
    unsure = certainty(f"{DELTA}95 % interval -30.0 to 0.5 %, n = 2 and 2 runs, 40.0 % would have been found")

    def words(**changed: object) -> str:
        shown = type(figure)(**{**vars(figure), **changed})
        made = compared("c", {**cell, against: {"ttft": shown}})
        return next(one.words for row in made.rows for one in row.differences if one)

    assert words() == "less time: faster"
    assert words(sure=unsure) == "no difference is shown"
    assert words(number=Fraction(0), sure=None) == "equal"
    assert words(number=Fraction(3), sure=None) == "more time: slower"
    assert words(number=None, sure=None) == ""


@FORMS
def test_figures_whose_intervals_meet_are_not_told_apart(form: str) -> None:
    made = pictured(lanes(), form, LANES)
    start = made.index(f"Experiment {UNQUANTIZED.replace('_', ' ')}, against {FP8_LANE}:")
    assert "faster" not in made[start : made.index("What was not tested")]
