"""One whole page of each document, HTML and Markdown, to the byte: from the fine-grained campaigns, under fixed salts.

A page that is meant to change is written anew by `PYTHONPATH=tests python tests/projections/test_golden_pages.py`; the
difference is then read like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from support.fine.lanes import lanes
from support.fine.side_by_side import side_by_side
from support.fine.stage import Stage
from support.laguna import CAMPAIGN, LOGS, about, decided, observations, recipe

from anvil.ledger import commitments
from anvil.projections.document import find
from anvil.projections.pages import page
from anvil.projections.provenance import State
from anvil.projections.rendering import draft

GOLDEN = Path(__file__).parent / "golden" / "pages"
STATE = State("fine.test.invalid/log", 999, "ab" * 32)
COMMAND = "PYTHONPATH=tests python tests/projections/test_golden_pages.py"


def attempts() -> Stage:
    """Return six attempts to serve one candidate, as a person watched them by hand."""
    stage = Stage(CAMPAIGN, day="2026-07-12")
    stage.tell(recipe())
    told = []
    for number, event in enumerate(observations()):
        of = about(number)
        logs = {"log": LOGS[number]} if number in LOGS else {}
        told.append(stage.tell(event, of.candidate, of.attempt, role="operator", artifacts=logs))
    candidate = about().candidate
    stage.tell(lambda hashes: decided(*(hashes[at] for at in told)), candidate, role="operator")
    return stage


STAGES: dict[str, Callable[[], Stage]] = {
    "candidate-failure.v1": attempts,
    "sanitized-qualification-summary.v1": side_by_side,
    "qwen38-27b-qualification-summary.v1": lanes,
}
PAGES = [f"{name}.{form}" for name in STAGES for form in ("html", "md")]


def _salts() -> Iterator[bytes]:
    yield from (hashlib.sha256(f"salt {number}".encode()).digest() for number in count())


@cache
def made(name: str) -> dict[str, str]:
    """Return the pages of a document, by form."""
    salts = _salts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commitments.secrets, "token_bytes", lambda _size: next(salts))
        record, artifacts = STAGES[name]().played()
    drawn = draft(record, artifacts, find(name))
    return {form: page(drawn, STATE, record, form) for form in ("html", "md")}


@pytest.mark.parametrize("called", PAGES)
def test_a_whole_page_is_the_golden_one_to_the_byte(called: str) -> None:
    name, _, form = called.rpartition(".")
    expected = (GOLDEN / called).read_bytes()
    assert made(name)[form].encode() == expected, f"if it is meant to change: {COMMAND}"


def test_no_golden_page_is_left_of_a_document_that_is_gone() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(PAGES)


if __name__ == "__main__":
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for called in PAGES:
        document, _, kind = called.rpartition(".")
        (GOLDEN / called).write_bytes(made(document)[kind].encode())
