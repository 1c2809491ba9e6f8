"""What people concluded and a reader must not overlook stands in the limit of every document.

1. A decision that rests on what does not hold any more is printed, and is said to be stale.
2. A gate that somebody let pass is named, with why and until when.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.concluded import CHECK, DOCUMENTS, OTHER, decided, lost, redacted, retracted, stage
from support.fine.stage import Stage, Told

from anvil.ledger.events import (
    EvidenceAttached,
    SealedRedacted,
    WaiverGranted,
)
from anvil.ledger.events.base import Event
from anvil.projections.pages import page
from anvil.projections.provenance import State


def unsaid(number: int) -> Callable[[Told], Event]:
    return lambda told: SealedRedacted(target=told[number], field="detail", reason="a host")


def found_again(number: int) -> Callable[[Told], Event]:
    return lambda told: EvidenceAttached(
        target=told[number],
        status="retained-complete",
        restores=("body",),
        supports=(),
        public_text=None,
        text=None,
    )


def told(*events: Callable[[Told], Event], name: str = DOCUMENTS[2]) -> list[str]:
    made = stage()
    for event in events:
        made.tell(event, "tiny", role="operator", artifacts={"body": b"coding"} if event is FOUND else None)
    return [note for note in made.drawn(name).limit.notes if "stale" in note]


FOUND = found_again(CHECK)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_says_so(name: str) -> None:
    at = len(stage().lines) + 1
    said = f"Decision {at} (no-promotion) is stale: event 3 was retracted at index {at + 1}: another engine."
    assert told(decided(CHECK, OTHER), retracted(CHECK), name=name) == [said]
    assert told(decided(OTHER), retracted(CHECK), name=name) == []


@pytest.mark.parametrize("form", ["md", "html"])
def test_the_pages_say_so(form: str) -> None:
    made = stage()
    made.tell(decided(CHECK), "tiny", role="operator")
    made.tell(retracted(CHECK), "tiny", role="operator")
    drawn = page(made.drawn(DOCUMENTS[0]), State("x.test.invalid", 9, "0" * 64), made.played()[0], form)
    assert "is stale: event 3 was retracted at index" in drawn


def test_what_was_gone_before_the_decision_was_known_to_who_decided() -> None:
    assert told(lost(CHECK), decided(CHECK)) == []
    assert told(redacted(CHECK), decided(CHECK)) == []


@pytest.mark.parametrize(
    ("gone", "how"),
    [
        (lost, "lost body, noted at index 7: the disk died"),
        (redacted, "had body redacted at index 7: a name"),
        (unsaid, "had detail redacted at index 7: a host"),
    ],
)
def test_what_went_afterwards_makes_it_stale(
    gone: Callable[[int], Callable[[Told], Event]], how: str
) -> None:
    (said,) = told(decided(CHECK), gone(CHECK))
    assert said == f"Decision 6 (no-promotion) is stale: event 3 {how}."


def test_bytes_that_came_back_do_not() -> None:
    assert told(decided(CHECK), lost(CHECK), FOUND) == []


def test_a_decision_in_whose_place_another_stands_is_not_named() -> None:
    first = len(stage().lines)
    assert told(decided(CHECK), retracted(CHECK), decided(OTHER, supersedes=first)) == []


def test_a_decision_that_rests_on_a_stale_one_is_stale_itself() -> None:
    first = len(stage().lines)
    said = told(decided(CHECK), decided(first), retracted(CHECK))
    assert [note.partition(" is stale")[0] for note in said] == [
        f"Decision {first + 1} (no-promotion)",
        f"Decision {first + 2} (no-promotion)",
    ]
    assert f"event {first + 1} is stale itself: 3 was retracted at index" in said[1]


# --- 2. waivers --------------------------------------------------------------------------------------


def waived(reason: str = "The card is on loan.") -> Callable[[Told], Event]:
    return lambda told: WaiverGranted(
        gate="coding",
        granted_by="operator",
        reason=reason,
        expires="2026-12-31T00:00:00.000000Z",
        about=(told[CHECK],),
    )


def named(made: Stage, name: str) -> list[str]:
    return [note for note in made.drawn(name).limit.notes if note.startswith("Waived")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_says_so_until_it_is_taken_back(name: str) -> None:
    made = stage()
    at = len(made.lines)
    made.tell(waived(), "tiny", role="operator")
    assert named(made, name) == [
        f"Waived (event {at + 1}): coding, by the operator, until 2026-12-31: The card is on loan."
    ]
    made.tell(retracted(at), "tiny", role="operator")
    assert named(made, name) == []


def test_a_waiver_of_what_does_not_hold_any_more_is_said_to_be_stale() -> None:
    assert told(waived(), retracted(CHECK)) == [
        "Waiver 6 is stale: event 3 was retracted at index 7: another engine."
    ]


def test_a_waiver_of_another_candidate_is_not_named_where_a_document_is_of_one() -> None:
    made = stage()
    made.tell(waived(), "another", role="operator")
    assert named(made, DOCUMENTS[0]) == []
