"""The limit of every document names the releases of it that were withdrawn, and of no other document."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.concluded import DOCUMENTS, retracted, stage
from support.fine.stage import Stage, Told

from anvil.ledger.events import PublicationReleased, PublicationWithdrawn
from anvil.ledger.events.base import Event
from anvil.ledger.events.keys import TreeState

DIGEST = "sha256:" + "ab" * 32
REASON = "It was measured on a shared host."


def released(document: str) -> PublicationReleased:
    return PublicationReleased(
        document=document,
        document_digest=DIGEST,
        manifest=DIGEST,
        fold=TreeState(origin="fine.test.invalid/log", size=3, root="ab" * 32),
        template=DIGEST,
        policy=DIGEST,
        keyring=DIGEST,
        attempts_shown=1,
        attempts_existing=1,
        exceptions=(),
        software="0.1.0",
    )


def withdrawn(number: int, reason: str = REASON) -> Callable[[Told], Event]:
    return lambda told: PublicationWithdrawn(publication=told[number], reason=reason)


def candidate(document: str) -> str | None:
    return "tiny" if document == DOCUMENTS[0] else None


def publish(made: Stage, document: str, of: str | None) -> int:
    return made.tell(released(document), of, role="operator")


def named(made: Stage, document: str) -> list[str]:
    return [note for note in made.drawn(document).limit.notes if "earlier release" in note]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_says_so_first_and_each_release_once(name: str) -> None:
    made = stage()
    first = publish(made, name, candidate(name))
    second = publish(made, name, candidate(name))
    assert named(made, name) == []
    made.tell(withdrawn(second), candidate(name), role="operator")
    made.tell(withdrawn(second, "said again"), candidate(name), role="operator")
    said = (
        f"An earlier release of this document (event {second + 1}, 2026-08-15) was withdrawn "
        f"(event {second + 2}, 2026-08-15): {REASON}"
    )
    assert named(made, name) == [said]
    assert made.drawn(name).limit.notes[0] == said
    made.tell(withdrawn(first), candidate(name), role="operator")
    assert len(named(made, name)) == 2


def test_of_another_document_candidate_or_campaign_nothing_is_said() -> None:
    made = stage()
    for document, of, campaign in (
        (DOCUMENTS[1], None, None),
        (DOCUMENTS[0], "another", None),
        (DOCUMENTS[0], "tiny", "elsewhere"),
    ):
        at = made.tell(released(document), of, role="operator", campaign=campaign)
        made.tell(withdrawn(at), of, role="operator", campaign=campaign)
    assert named(made, DOCUMENTS[0]) == []
    assert named(made, DOCUMENTS[2]) == []


def test_a_withdrawal_that_supports_nothing_is_none() -> None:
    """The command refuses this; another writer may not."""
    made = stage()
    at = publish(made, DOCUMENTS[0], "tiny")
    taken_back = made.tell(withdrawn(at), "tiny", role="operator")
    made.tell(retracted(taken_back), "tiny", role="operator")
    assert named(made, DOCUMENTS[0]) == []
