"""What a page says where something failed, is not there, or was never measured: the truth, in words."""

from __future__ import annotations

import re

import pytest
from support.fine import events as of
from support.fine.loads import failed_row, load, row
from support.fine.side_by_side import side_by_side
from support.fine.stage import Stage
from support.fine.summaries import NAME, started

from anvil.ledger.events import CaveatNoted
from anvil.projections.pages import page
from anvil.projections.provenance import State

LANES = "qwen38-27b-qualification-summary.v1"
STATE = State("x.test.invalid", 9, "0" * 64)
FORMS = pytest.mark.parametrize("form", ["md", "html"])
WORDLESS = re.compile(r">none<|\| none [^ ]|: none [^i]")


def pictured(stage: Stage, form: str, name: str = NAME) -> str:
    return page(stage.drawn(name), STATE, stage.played()[0], form)


def failing() -> Stage:
    """Return a campaign as the quickstart leaves one: some checks failed, nobody noted a caveat."""
    stage = started(checks=("coding", "tools-batch", "retrieval"))
    for name, failure in (("coding", "wrong_value"), ("tools-batch", "no_call")):
        failed = of.check(name, of.request("r1", "failed", failure))
        stage.tell(failed, "tiny", "a1", artifacts={"r1.response": b"{}"})
    stage.tell(of.suite("session", {"only": (1, 3)}), "tiny", "a1", artifacts={"r1.response": b"{}"})
    return stage


@FORMS
@pytest.mark.parametrize("name", [NAME, LANES])
def test_what_failed_stands_where_a_reader_asks_why(name: str, form: str) -> None:
    made = pictured(failing(), form, name).replace("\\", "")
    why = made[made.index("What was not tested") : made.index("How strong is the evidence?")]
    for said in ("coding failed (wrong_value)", "tools-batch failed (no_call)", "1/3, failed (wrong_value)"):
        assert said in why
        assert made.count(said) <= 2  # here, and in the document's own words where it has some
    assert "Selected, and without a result, of tiny (attempt a1): retrieval." in why


@FORMS
def test_without_a_caveat_only_that_is_said(form: str) -> None:
    made = pictured(failing(), form)
    assert "nothing was found" not in made
    plain = re.sub(r"<[^>]*>", "", made)
    assert "Failures and caveats that people noted" in plain
    assert "none is recorded" in plain
    quiet = pictured(started(checks=("coding",)), form)
    assert "What failed, or has no result" in quiet  # what was selected has no result
    passed = started(checks=())
    assert "What failed, or has no result" not in pictured(passed, form)


@FORMS
def test_a_caveat_that_is_printed_is_not_quoted_again(form: str) -> None:
    stage = failing()
    stage.tell(CaveatNoted(text="The room was hot.", about=()), role="operator")
    assert pictured(stage, form).count("The room was hot.") == 1
    assert "The room was hot." in stage.drawn(NAME).limit.text()


@FORMS
@pytest.mark.parametrize("name", [NAME, LANES])
def test_every_null_says_why(name: str, form: str) -> None:
    stage = failing()
    rows = [row(at, 10**8, 10**9, 20, started_ns=at * 10**9) for at in range(2)]
    load(stage, "tiny", "a1", [*rows, failed_row(2)], resolution_ns=None)
    made = pictured(stage, form, name)
    assert not WORDLESS.search(made)
    assert "not stated by recipe.declared/1" in re.sub(r"[`\\]", "", made)


@FORMS
def test_a_figure_that_could_not_be_computed_says_why(form: str) -> None:
    stage = started()
    load(stage, "tiny", "a1", [failed_row(0), failed_row(1)])
    made = pictured(stage, form)
    cells = stage.drawn(NAME).rendered.document["capacity_4k_c1"]["tiny"]
    assert cells["ttft_p50_ms"] is None
    rule = stage.drawn(NAME).rendered.leaf("/capacity_4k_c1/tiny/ttft_p50_ms")
    assert rule is not None
    reason = rule.rule.rpartition("; null: ")[2]
    assert reason
    assert made.count(reason) > 4


@FORMS
def test_nothing_known_of_the_hardware_is_said_once(form: str) -> None:
    head = pictured(started(), form).partition("What was decided?")[0]
    assert re.sub(r"<[^>]*>", "", head).count("no event says what it ran on") <= 1


def test_a_comparison_of_nobody_has_no_table() -> None:
    made = pictured(failing(), "html")
    assert 'aria-label="near_limit_context"' not in made


@FORMS
@pytest.mark.parametrize("name", [NAME, LANES])
def test_a_document_without_an_outcome_says_so_in_place_of_a_table(name: str, form: str) -> None:
    made = pictured(started(checks=()), form, name)
    assert made.count("The document has no outcome of a check or a suite.") == 1
    assert "Check or suite" not in made


@FORMS
def test_how_strong_the_speeds_are_stands_beside_them_in_a_word(form: str) -> None:
    made = re.sub(r"<[^>]*>", "", page(side_by_side().drawn(NAME), STATE, side_by_side().played()[0], form))
    assert "Evidence of these figures: ● complete." in made
