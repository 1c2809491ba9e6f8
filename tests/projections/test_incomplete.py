"""What came to no verdict is incomplete, wherever it is shown or counted: no failure, and no pass.

1. A suite and a corpus are counts; how much of them is incomplete is said by the rule of the count.
2. Checks of a candidate failure are counted by those that were carried out.
3. A matrix, a plot, a legend and a sentence each have a mark or a word of their own for it.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from support.fine import events as of
from support.fine.loads import load, row
from support.fine.stage import Stage
from support.story_imports import LOAD

from anvil.projections.importedresults import ImportedResult
from anvil.projections.pages import page
from anvil.projections.pages.matrix import mark_of
from anvil.projections.plots import Point, Rung, ladder
from anvil.projections.provenance import State

FAILURE, LANES, SUMMARY = (
    "candidate-failure.v1",
    "qwen38-27b-qualification-summary.v1",
    "sanitized-qualification-summary.v1",
)
STATE = State("x.test.invalid", 9, "0" * 64)
BROKEN: dict[str, Any] = {"outcome": "incomplete", "failure": "engine_exited", "passed": 0}


def stage(*suites: Any, checks: tuple[Any, ...] = (), selected: tuple[str, ...] = ()) -> Stage:
    made = Stage("mine")
    attempt = of.attempt("a", "tiny", suites=selected)
    made.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], [attempt]))
    made.tell(of.launched(None), "tiny", "a")
    for event in (*checks, *suites):
        made.tell(event, "tiny", "a", artifacts={"body": b"an answer"})
    load(made, "tiny", "a", [row(at, 10**8, 10**9, 20, started_ns=at * 10**9) for at in range(5)])
    return made


def pages(made: Stage, name: str) -> tuple[str, str]:
    record = made.played()[0]
    drawn = made.drawn(name)
    return page(drawn, STATE, record, "md"), page(drawn, STATE, record, "html")


def line(text: str, begins: str) -> str:
    return next(one for one in text.splitlines() if one.startswith(begins))


NOTHING = of.suite("session", {"one": (0, 3, 3)})
HALF = of.suite("session", {"one": (1, 3, 1), "two": (3, 3)})
SHORT = of.suite("session", {"one": (2, 3, 1)})


# --- 1. suites and corpora ------------------------------------------------------------------------------------------


def test_an_incomplete_suite_has_a_mark_of_its_own() -> None:
    assert (NOTHING.outcome, HALF.outcome, SHORT.outcome) == ("incomplete", "failed", "incomplete")
    md, html = pages(stage(NOTHING), SUMMARY)
    assert "… 0/3" in line(md, "| suite session")
    assert "3 incomplete" in line(md, "| suite session")
    assert "✗" not in line(md, "| suite session")
    (cell,) = re.findall(r'suite session</bdi></th><td class="(\w+)">(.*?)</td>', html)
    assert cell[0] == "incomplete"
    assert "3 incomplete" in cell[1]


def test_one_that_failed_stays_failed_and_says_what_is_incomplete_of_it() -> None:
    md, _ = pages(stage(HALF), SUMMARY)
    assert re.search(r"✗ 4/6 \S+, 1 incomplete", line(md, "| suite session"))


def test_the_counts_of_the_document_stay_and_what_is_incomplete_is_no_failure() -> None:
    for event, result, failures in ((NOTHING, "0/3", 0), (HALF, "4/6", 1), (SHORT, "2/3", 0)):
        found = stage(event).drawn(SUMMARY).rendered.document["bounded_quality"]["tiny"]
        assert found == {"session": result, "failures": failures}


def test_a_suite_of_which_only_bytes_are_left_is_incomplete() -> None:
    event = of.suite("session", {}, outcome="incomplete", failure=None, required_rate=None)
    md, _ = pages(stage(event), SUMMARY)
    assert re.search(r"… 0/0 \S+, incomplete", line(md, "| suite session"))


def test_a_modality_of_a_corpus_is_incomplete() -> None:
    event = of.suite(
        "multimodal",
        {"seen": (2, 2), "unseen": (0, 2, 2)},
        modalities={"seen": "image", "unseen": "video"},
        digest="sha256:" + "ab" * 32,
    )
    md, _ = pages(stage(event), LANES)
    assert "✓ 2/2" in line(md, "| multimodal image")
    assert re.search(r"… 0/2 \S+, 2 incomplete", line(md, "| multimodal video"))


# --- 2. a candidate failure -----------------------------------------------------------------------------------------

CODING = of.check("coding")
BROKEN_OFF = of.check("ocr", **BROKEN)


def test_checks_of_which_one_is_incomplete_did_not_all_pass() -> None:
    md, html = pages(stage(checks=(CODING, BROKEN_OFF)), FAILURE)
    assert "… 1/1; ocr incomplete (engine_exited)" in line(md, "| 1 ")
    assert "✓ 1/1" not in md
    assert '<td data-name="Checks, thinking off" class="incomplete">' in html


def test_checks_of_which_none_was_carried_out_did_not_fail() -> None:
    md, _ = pages(stage(checks=(BROKEN_OFF,)), FAILURE)
    assert "… 0/0; ocr incomplete" in md
    assert "✗" not in line(md, "| 1 ")


def test_one_that_failed_beside_it_is_a_failure() -> None:
    failed = of.check("responses", of.request("r1", "failed", "wrong_value"))
    md, _ = pages(stage(checks=(CODING, failed, BROKEN_OFF)), FAILURE)
    assert "✗ 1/2; responses failed" in line(md, "| 1 ")


def test_the_limit_names_checks_and_suites_without_a_verdict_as_status_does() -> None:
    made = stage(NOTHING, checks=(CODING, BROKEN_OFF), selected=("session", "tool"))
    notes = made.drawn(FAILURE).limit.notes
    assert "Incomplete, of attempt 1: ocr (engine_exited); suite session 0/3 (wrong_value)." in notes
    assert "Selected, and without a result, of attempt 1: suite tool." in notes
    assert made.drawn(FAILURE).rendered.document["attempts"][0]["failure"] is None


def test_a_page_names_what_has_no_verdict_under_what_was_not_tested_and_only_there() -> None:
    made = stage(NOTHING, checks=(CODING, BROKEN_OFF), selected=("session", "tool"))
    for text, ends in zip(pages(made, FAILURE), ("## How strong", "How strong is"), strict=True):
        untested = text.partition("What was not tested?")[2].partition(ends)[0]
        for sentence in (
            "Incomplete, of attempt 1: ocr (engine_exited); suite session 0/3 (wrong_value).",
            "Selected, and without a result, of attempt 1: suite tool.",
        ):
            plain = text.replace("\\", "").count(sentence)
            assert (untested.replace("\\", "").count(sentence), plain) == (1, 1)


def test_a_page_of_checks_that_all_came_to_a_verdict_names_none_as_untested() -> None:
    for text in pages(stage(checks=(CODING,)), FAILURE):
        assert "Incomplete, of" not in text.replace("\\", "")


# --- 3. marks and words ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("incomplete", "incomplete"),
        ("failed", "failed"),
        ("passed", "passed"),
        ("3/3", "passed"),
        ("2/3", "failed"),
        ("0/0", "said"),
    ],
)
def test_the_mark_of_a_text(text: str, mark: str) -> None:
    assert mark_of(text) == mark


def test_a_summary_names_what_is_incomplete_apart_from_what_did_not_pass() -> None:
    failed = of.check("responses", of.request("r1", "failed", "wrong_value"))
    drawn = stage(checks=(CODING, failed, BROKEN_OFF)).drawn(SUMMARY)
    assert "Not passed by tiny (attempt a): responses failed (wrong_value)." in drawn.limit.failed
    assert "Incomplete, of tiny (attempt a): ocr (engine_exited)." in drawn.limit.failed


def test_the_legend_says_what_the_mark_means() -> None:
    md, html = pages(stage(NOTHING), SUMMARY)
    assert "… incomplete: it came to no verdict, which is neither passed nor failed" in md
    assert '<span class="outcome incomplete">…</span> incomplete' in html


def test_an_incomplete_rung_is_hollow_and_not_crossed_out() -> None:
    def drawn(outcome: str, *, is_incomplete: bool) -> str:
        point = Point(0, "tiny", Fraction(2), "2", "s", "retained-complete", "complete", 1, "/x")
        return str(ladder("t", "tokens", [Rung(point, Fraction(1000), outcome, False, is_incomplete)]))

    assert 'class="cross"' in drawn("failed", is_incomplete=False)
    assert 'class="cross"' not in drawn("incomplete", is_incomplete=True)
    assert 'hollow" />' in drawn("incomplete", is_incomplete=True)


@pytest.mark.parametrize(
    ("expected", "completed", "failed", "outcome"),
    [
        (10, 10, 0, "passed"),
        (10, 8, 2, "failed"),
        (10, 8, 0, "incomplete"),
        (10, 8, None, "incomplete"),
        (None, 8, 0, "incomplete"),
        (None, 8, 2, "failed"),
    ],
)
def test_a_load_of_another_tool_that_fell_short_without_a_failure_is_incomplete(
    expected: int | None, completed: int, failed: int | None, outcome: str
) -> None:
    counts = {"expected": expected, "completed": completed, "failed": failed}
    assert ImportedResult.of(LOAD.model_copy(update=counts), 1).outcome == outcome
