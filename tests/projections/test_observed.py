"""What people saw, in the two summaries: shown where it may be, counted where it may not, never stronger than it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.campaigns import Scene
from support.fine.stage import Stage
from support.fine.summaries import NAME, started
from support.importing import imported, rendered
from support.published import DOCUMENTS, spelled

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import EventRetracted, EvidenceAttached, ObservationNoted
from anvil.ledger.events.observations import Claims, NotKept, ObservedCheck
from anvil.ledger.header import Subject
from anvil.projections.pages import page
from anvil.projections.provenance import State
from anvil.projections.rendering import Draft

LANES = "qwen38-27b-qualification-summary.v1"
BOTH = pytest.mark.parametrize("name", [NAME, LANES])


def noted(words: str | None = "The fans were loud.", *, claims: Claims | None = None, **more: Any) -> Any:
    status = more.pop("status", "operator-observed-incomplete")
    text = None if words is not None else "Not for publication."
    return ObservationNoted(status=status, public_text=words, claims=claims, text=text)


CLAIMS = Claims(
    engine="llamacpp",
    version="b4719",
    hardware=None,
    settings=(),
    health="reached",
    http_status=200,
    checks=(
        ObservedCheck(
            check="tools-batch",
            thinking="disabled",
            outcome="failed",
            failure="no_call",
            expected=20,
            passed=3,
        ),
    ),
    not_kept=(NotKept(what="response-bodies", reason="container-recreated"),),
    supported=(),
)


def told(stage: Stage, event: Any, attempt: str | None = "a1", **more: Any) -> int:
    return stage.tell(event, "tiny" if attempt else None, attempt, role="operator", **more)


def shown(drawn: Draft) -> Any:
    return json.loads(drawn.rendered.text).get("observations")


@BOTH
def test_without_an_observation_the_document_has_no_key_of_them(name: str) -> None:
    assert shown(started().drawn(name)) is None


@BOTH
def test_words_for_publication_are_printed_with_their_evidence(name: str) -> None:
    stage = started()
    told(stage, noted())
    told(stage, noted("The rack was moved."), None)
    drawn = stage.drawn(name)
    status = "operator-observed-incomplete"
    assert shown(drawn) == [
        {"candidate": "tiny", "attempt": "a1", "statement": "The fans were loud.", "evidence_status": status},
        {"statement": "The rack was moved.", "evidence_status": status},
    ]
    leaf = drawn.rendered.leaf("/observations/0/statement")
    assert leaf is not None
    assert leaf.status == status
    assert not any("observed" in note for note in drawn.limit.notes)


@BOTH
def test_what_is_said_in_parts_is_put_in_words(name: str) -> None:
    stage = started()
    told(stage, noted(None, claims=CLAIMS))
    drawn = stage.drawn(name)
    ((found,),) = (shown(drawn),)
    assert found["seen"] == (
        "engine llamacpp b4719; health reached with status 200; tools-batch, thinking disabled: 3/20 failed (no_call); "
        "not kept: response bodies (container recreated)"
    )
    assert "statement" not in found
    assert "Shown without their words, which are not for publication: 1 observation." in drawn.limit.notes
    assert "Not for publication" not in drawn.rendered.text


@BOTH
def test_what_may_not_be_shown_is_counted(name: str) -> None:
    stage = started()
    told(stage, noted(None))
    drawn = stage.drawn(name)
    assert shown(drawn) is None
    said = "What people observed and did not write for publication is not shown: 1 observation."
    assert said in drawn.limit.notes


@BOTH
def test_one_that_was_retracted_is_none(name: str) -> None:
    stage = started()
    at = told(stage, noted())
    told(stage, lambda hashes: EventRetracted(target=hashes[at], reason="Not so."))
    assert shown(stage.drawn(name)) is None


@BOTH
def test_bytes_attached_later_raise_it(name: str) -> None:
    stage = started()
    at = told(stage, noted())
    told(
        stage,
        lambda hashes: EvidenceAttached(
            target=hashes[at],
            status="retained-complete",
            restores=(),
            supports=(),
            public_text=None,
            text=None,
        ),
        artifacts={"recording": b"noise"},
    )
    assert shown(stage.drawn(name))[0]["evidence_status"] == "retained-complete"


@BOTH
def test_a_weak_one_weakens_no_other(name: str) -> None:
    stage = started()
    told(stage, noted("It was loud.", status="retained-complete"), artifacts={"recording": b"noise"})
    told(stage, noted())
    drawn = stage.drawn(name)
    statuses = [drawn.rendered.leaf(f"/observations/{at}/statement") for at in (0, 1)]
    assert [leaf and leaf.status for leaf in statuses] == [
        "retained-complete",
        "operator-observed-incomplete",
    ]
    assert [one["evidence_status"] for one in shown(drawn)] == [leaf and leaf.status for leaf in statuses]


@BOTH
@pytest.mark.parametrize(
    "words",
    [
        "All of it is retained-complete.",
        "Retained-Complete, all of it.",
        "All of it is RETAINED_COMPLETE.",
        "All of it is retained\N{NON-BREAKING HYPHEN}complete.",
        "All of it is retained\N{EN DASH}complete.",
    ],
)
def test_words_that_claim_more_than_their_evidence_are_refused(name: str, words: str) -> None:
    stage = started()
    told(stage, noted(words))
    with pytest.raises(PublicationRefused, match="the words of an event claim retained-complete"):
        stage.drawn(name)


@BOTH
def test_beside_an_imported_document_they_stand_too(name: str) -> None:
    scene = Scene(imported(spelled(DOCUMENTS[name]()), "mine"))
    before = rendered(name, list(scene.seen))
    assert shown(before) is None
    scene.add(noted(), Subject("mine", "tiny_a"))
    drawn = rendered(name, scene.seen)
    assert shown(drawn) == [
        {
            "candidate": "tiny_a",
            "statement": "The fans were loud.",
            "evidence_status": "operator-observed-incomplete",
        }
    ]
    leaf = drawn.rendered.leaf("/observations/0/statement")
    assert leaf is not None
    assert leaf.status == "operator-observed-incomplete"  # the file is no part of it
    after = json.loads(drawn.rendered.text)
    del after["observations"]
    assert json.dumps(after) == json.dumps(json.loads(before.rendered.text))


@BOTH
@pytest.mark.parametrize("form", ["md", "html"])
def test_the_pages_have_them_once_with_their_mark(name: str, form: str) -> None:
    stage = started()
    told(stage, noted(claims=CLAIMS))
    told(stage, noted("The rack was moved."), None)
    drawn = stage.drawn(name)
    made = page(drawn, State("x.test.invalid", 9, "0" * 64), stage.played()[0], form)
    assert made.count("What people observed") == 1
    assert made.count("The fans were loud.") == made.count("The rack was moved.") == 1
    assert "3/20 failed" in made.replace("\\", "")
    quiet = page(started().drawn(name), State("x.test.invalid", 9, "0" * 64), started().played()[0], form)
    assert "What people observed" not in quiet
