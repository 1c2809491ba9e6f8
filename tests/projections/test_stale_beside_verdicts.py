"""That a decision is stale stands beside its words on a page, in short, and leads to where the limit says why."""

from __future__ import annotations

import re

import pytest
from support.concluded import CHECK, DOCUMENTS, OTHER, decided, lost, redacted, retracted, stage
from support.fine.stage import Stage

from anvil.ledger.events import DecisionRecorded
from anvil.projections.pages import page
from anvil.projections.provenance import State

STATE = State("x.test.invalid", 9, "0" * 64)
SHORT = "stale: rests on event 3, which was retracted"


def drawn(made: Stage, name: str, form: str) -> str:
    return page(made.drawn(name), STATE, made.played()[0], form)


def with_a_stale_decision() -> tuple[Stage, int]:
    made = stage()
    at = made.tell(decided(CHECK, OTHER), "tiny", role="operator") + 1
    made.tell(retracted(CHECK), "tiny", role="operator")
    return made, at


@pytest.mark.parametrize("name", DOCUMENTS)
def test_in_html_it_stands_beside_the_words_and_leads_to_the_reason(name: str) -> None:
    made, at = with_a_stale_decision()
    html = drawn(made, name, "html")
    assert re.search(
        rf'data-at="[^"]*">no-promotion</bdi><a class="mark[^>]*>.*?</a> <a class="stale" href="#stale-{at}">{SHORT}</a>',
        html,
    )
    assert html.count(f'id="stale-{at}"') == 1
    assert "<dt>stale</dt>" in html
    assert re.search(rf'<li id="stale-{at}"><bdi>Decision {at} \(no-promotion\) is stale: event 3', html)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_in_markdown_it_stands_there_and_names_the_limit(name: str) -> None:
    made, at = with_a_stale_decision()
    md = drawn(made, name, "md")
    (said, *_) = [line for line in md.splitlines() if SHORT in line]
    assert re.search(
        rf"no-promotion \S+ \(\*\*{SHORT}\*\*; see Decision {at} under “How strong is the evidence\?”\)",
        md,
    ), said


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("form", ["md", "html"])
def test_beside_what_stands_nothing_is_said(name: str, form: str) -> None:
    made = stage()
    made.tell(decided(OTHER), "tiny", role="operator")
    made.tell(retracted(CHECK), "tiny", role="operator")
    page_of_it = drawn(made, name, form)
    assert "rests on event" not in page_of_it
    assert 'class="stale"' not in page_of_it


def test_of_several_verdicts_it_is_said_once() -> None:
    made = stage()
    made.tell(
        lambda told: DecisionRecorded(
            verdicts=("challenger", "no-promotion"),
            sentence="It reads wrongly.",
            rests_on=(told[CHECK],),
            supersedes=None,
        ),
        "tiny",
        role="operator",
    )
    made.tell(retracted(CHECK), "tiny", role="operator")
    for form in ("md", "html"):
        text = drawn(made, DOCUMENTS[2], form)
        before_the_body = text.partition("How fast is it?")[0]
        assert before_the_body.count(SHORT) == 1
    assert '<a class="stale"' not in drawn(made, DOCUMENTS[0], "html").partition('id="attempts"')[2]


@pytest.mark.parametrize(
    ("gone", "how"),
    [(lost, "which lost body"), (redacted, "which had body redacted")],
)
def test_whatever_happened_is_said_in_short(gone: object, how: str) -> None:
    made = stage()
    made.tell(decided(CHECK), "tiny", role="operator")
    made.tell(gone(CHECK), "tiny", role="operator")  # type: ignore[operator]
    assert f">stale: rests on event 3, {how}</a>" in drawn(made, DOCUMENTS[0], "html")


def test_more_than_one_reason_is_counted() -> None:
    made, _ = with_a_stale_decision()
    made.tell(retracted(OTHER), "tiny", role="operator")
    assert f">{SHORT}, and on 1 more</a>" in drawn(made, DOCUMENTS[0], "html")
