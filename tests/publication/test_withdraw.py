"""What a publication says afterwards: that it was withdrawn, what was withheld, which sentences were approved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.laguna import Laguna, about
from support.planted import PLANTED
from support.published_folders import DOCUMENT, size

from anvil.ledger.drafts import Draft
from anvil.ledger.events import ObservationNoted
from anvil.ledger.publication import layout

OUT = ("--out", "published")


# --- withdrawing --------------------------------------------------------------------------------------------------


def test_a_withdrawn_publication_says_so_and_still_verifies(anvil: Anvil, made: Laguna) -> None:
    index = anvil("release", DOCUMENT, *OUT, "--json").json["index"]
    reason = "It was <b>measured</b> on a shared host."
    ran = anvil("withdraw", index, "--reason", reason, "--folder", "published")
    assert ran.code == 0, ran.err
    html = (Path("published") / "document.html").read_text()
    assert "This publication was withdrawn" in html
    assert "<b>measured" not in html
    report = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey", "--json")
    assert report.code == 0, report.out
    assert report.json["withdrawn"] == reason
    assert "withdrawn" in [finding["code"] for finding in report.json["findings"]]
    told = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
    assert "Verified, and withdrawn" in told.out
    before = size(made)
    again = anvil("withdraw", index, "--reason", "again", "--folder", "published")
    assert again.code == 0
    assert again.out.startswith(f"Already withdrawn at index {before - 2}, on ")
    assert "Nothing was recorded, nor the reason given now" in again.err
    assert size(made) == before
    third = anvil("withdraw", index, "--reason", "x", "--folder", "published", "--json").json
    assert (third["reason"], third["recorded"]) == (reason, False)
    (Path("published") / "document.html").write_text("nothing to see")
    again = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
    assert again.code == 1
    assert "document.html is not the notice" in again.out


def test_a_second_withdrawal_is_refused_where_nothing_is_left_to_do(anvil: Anvil, made: Laguna) -> None:
    """Its reason would be lost without a word."""
    index = anvil("release", DOCUMENT, *OUT, "--json").json["index"]
    first = anvil("withdraw", index, "--reason", "It was wrong.", "--json").json
    assert first["recorded"]
    before = size(made)
    again = anvil("withdraw", index, "--reason", "It was another reason.")
    assert (again.code, again.out) == (1, "")
    assert f"was withdrawn already at index {first['index']}, on {first['at'][:10]}" in again.err
    assert "It was wrong." in again.err
    assert "Nothing was recorded" in again.err
    assert size(made) == before
    assert anvil("withdraw", index, "--reason", "x", "--folder", "published", "--json").json == {
        **first,
        "recorded": False,
    }
    assert "It was wrong." in (Path("published") / "document.html").read_text()


def test_a_withdrawal_taken_out_again_is_refused(anvil: Anvil) -> None:
    index = anvil("release", DOCUMENT, *OUT, "--json").json["index"]
    assert anvil("withdraw", index, "--reason", "It was wrong.", "--folder", "published").code == 0
    (Path("published") / "withdrawn" / "entries").unlink()
    ran = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
    assert ran.code == 1
    assert "withdrawn" in ran.out


@pytest.mark.parametrize("index", [0, 3, 999])
def test_only_a_release_is_withdrawn(anvil: Anvil, index: int) -> None:
    ran = anvil("withdraw", index, "--reason", "It was wrong.")
    assert ran.code == 1
    assert "releases nothing" in ran.err


def test_the_folder_must_be_that_of_the_release(anvil: Anvil) -> None:
    first = anvil("release", DOCUMENT, *OUT, "--json").json["index"]
    assert anvil("release", DOCUMENT, "--out", "second").code == 0
    ran = anvil("withdraw", first, "--reason", "It was wrong.", "--folder", "second")
    assert ran.code == 1
    assert "is not the publication" in ran.err


def test_the_reason_of_a_withdrawal_is_looked_at(anvil: Anvil) -> None:
    index = anvil("release", DOCUMENT, *OUT, "--json").json["index"]
    assert anvil("withdraw", index, "--reason", f"It showed {PLANTED['hf']}").code == 1


# --- what was withheld --------------------------------------------------------------------------------------------


def test_the_redaction_report_has_counts_and_no_values(anvil: Anvil, made: Laguna) -> None:
    secret = "the customer is called Umbrella"
    made.add(
        Draft(ObservationNoted(status="declared", public_text=None, claims=None, text=secret), about(2)),
    )
    assert anvil("release", DOCUMENT, *OUT).code == 0
    report: Any = json.loads((Path("published") / layout.REDACTIONS).read_text())
    assert set(report) == {"schema", "withheld", "in_all_events"}
    for item in (*report["withheld"], *report["in_all_events"]):
        assert set(item) <= {"pointers", "class", "rule", "count"}
    classes = {item["class"]: item["count"] for item in report["in_all_events"]}
    assert classes["sealed field text of observation.noted"] == 1
    assert classes["artifact of observation.noted"] == 2
    ran = anvil("redactions", "published")
    assert ran.code == 0
    assert "sealed field text of observation.noted (sealed by its type)" in ran.out
    assert "Umbrella" not in ran.out
    assert anvil("redactions", "published", "--json").json["in_all_events"] == report["in_all_events"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"withheld":[1],"in_all_events":[]}'])
def test_a_redaction_report_that_is_none_is_refused(anvil: Anvil, content: bytes) -> None:
    folder = Path("some")
    folder.mkdir()
    (folder / layout.REDACTIONS).write_bytes(content)
    assert anvil("redactions", "some").code == 1


# --- excerpts -----------------------------------------------------------------------------------------------------


def test_a_sealed_sentence_is_published_by_approving_it(anvil: Anvil, made: Laguna) -> None:
    text = "The answer was in another language. The customer is Umbrella."
    sealed = made.add(
        Draft(ObservationNoted(status="declared", public_text=None, claims=None, text=text), about(2))
    )[0]
    reason = ("--reason", "It shows the defect.")
    assert anvil("approve", sealed.index, "text", "The answer was in another language.", *reason).code == 0
    assert anvil("release", DOCUMENT, *OUT).code == 0
    assert b"Umbrella" not in b"".join(p.read_bytes() for p in Path("published").rglob("*") if p.is_file())
    for words in ("Words that nobody said.", "the answer was in another language."):
        ran = anvil("approve", sealed.index, "text", words, *reason)
        assert ran.code == 1
        assert "do not stand in" in ran.err


def test_a_whole_sealed_value_is_no_canary_once_it_is_approved(anvil: Anvil, made: Laguna) -> None:
    text = "The answer was in another language."
    sealed = made.add(
        Draft(ObservationNoted(status="declared", public_text=None, claims=None, text=text), about(2))
    )[0]
    assert anvil("observe", text, "--status", "declared", "--public").code == 1
    assert anvil("approve", sealed.index, "text", text, "--reason", "It shows the defect.").code == 0
    assert anvil("observe", text, "--status", "declared", "--public").code == 0
    assert anvil("release", DOCUMENT, *OUT).code == 0


@pytest.mark.parametrize("index", ["0", "999"])
def test_only_what_is_there_is_approved(anvil: Anvil, index: str) -> None:
    assert anvil("approve", index, "text", "words", "--reason", "It shows the defect.").code == 1


def test_an_excerpt_of_a_log_is_looked_at(anvil: Anvil, made: Laguna) -> None:
    index = made.observed[1].index
    reason = ("--reason", "It shows how far it came.")
    assert anvil("approve", index, "log", "capturing CUDA graphs", *reason).code == 0
    with_secret = made.add(
        Draft(
            ObservationNoted(status="declared", public_text=None, claims=None, text=f"x {PLANTED['hf']}"),
            about(2),
        )
    )[0]
    ran = anvil("approve", with_secret.index, "text", PLANTED["hf"], *reason)
    assert ran.code == 1
    assert "EXCERPT" in ran.err
