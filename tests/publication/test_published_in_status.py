"""`anvil status` says what was published of a campaign, whether it was withdrawn, and what of it no longer holds.

1. Each release stands by the index of its event, which `anvil withdraw` takes.
2. One that was withdrawn says so, when and why; copies of it are out.
3. What was taken back after the state that a publication is made of makes it stale: its reader could not know.
"""

from __future__ import annotations

import re

import pytest
from support.command import Anvil
from support.laguna import CAMPAIGN, CANDIDATE, Laguna
from support.published_folders import DOCUMENT

from anvil.ledger.drafts import Draft
from anvil.ledger.events import DecisionRecorded, GapNoted
from anvil.ledger.header import Subject
from anvil.ledger.store import Store


def released(anvil: Anvil, folder: str = "published", document: str = DOCUMENT) -> int:
    ran = anvil("release", document, "--out", folder, "--json")
    assert ran.code == 0, ran.err
    index: int = ran.json["index"]
    return index


def retracted(anvil: Anvil, target: int) -> int:
    ran = anvil("retract", target, "--reason", "It was another host.", "--json")
    assert ran.code == 0, ran.err
    index: int = ran.json["index"]
    return index


def told(anvil: Anvil) -> list[str]:
    """Return the lines about publications, those that belong to them included."""
    lines = anvil("status").out.splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("  publication "))
    return lines[first:]


def publications(anvil: Anvil) -> list[dict[str, object]]:
    (campaign,) = [c for c in anvil("status", "--json").json["campaigns"] if c["name"] == CAMPAIGN]
    found: list[dict[str, object]] = campaign["publications"]
    return found


@pytest.fixture(autouse=True)
def columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


# --- 1. what was released -------------------------------------------------------------------------------------------


def test_before_anything_was_released_nothing_is_said(anvil: Anvil) -> None:
    assert "publication" not in anvil("status").out
    assert publications(anvil) == []


def test_a_release_is_named_by_its_index(anvil: Anvil, made: Laguna) -> None:
    index = released(anvil)
    (line, state) = told(anvil)
    assert line == f"  publication {index}: {DOCUMENT} of {CANDIDATE}"
    assert re.fullmatch(rf" {{6}}released 20\d\d-\d\d-\d\d, made of the first {index - 1} events", state)
    (one,) = publications(anvil)
    assert {name: one[name] for name in ("index", "document", "candidate", "withdrawn", "stale")} == {
        "index": index,
        "document": DOCUMENT,
        "candidate": CANDIDATE,
        "withdrawn": None,
        "stale": [],
    }
    assert one["made_of"] == {"origin": Store.open_readonly(made.place.database).origin(), "size": index - 1}
    assert (one["attempts_shown"], one["attempts_existing"]) == (6, 6)
    assert (one["is_disowned"], str(one["released_at"])[10]) == (False, "T")
    assert len(str(one["entry_hash"])) == 64


def test_one_of_another_campaign_is_not_shown_with_it(anvil: Anvil, made: Laguna) -> None:
    released(anvil)
    made.add(Draft(GapNoted(text="It was hot."), Subject("elsewhere")))
    assert "publication" not in anvil("status", "--campaign", "elsewhere").out


# --- 2. what was withdrawn ------------------------------------------------------------------------------------------


def test_a_withdrawal_says_when_and_why(anvil: Anvil) -> None:
    index = released(anvil)
    reason = "The load was measured on a host that other people shared, and nobody had noted it."
    withdrawn = anvil("withdraw", index, "--reason", reason, "--json").json["index"]
    first, *rest = told(anvil)
    assert first.startswith(f"  publication {index} (WITHDRAWN): ")
    assert " ".join(rest).count("withdrawn at index") == 1
    words = " ".join(" ".join(rest).split())
    assert f"withdrawn at index {withdrawn} on 20" in words
    assert reason in words
    assert all(len(line) <= 80 for line in (first, *rest))
    (one,) = publications(anvil)
    taken_back = one["withdrawn"]
    assert isinstance(taken_back, dict)
    assert (taken_back["index"], taken_back["reason"]) == (withdrawn, reason)
    assert set(taken_back) == {"index", "entry_hash", "at", "reason"}


def test_each_release_stands_by_itself(anvil: Anvil) -> None:
    first = released(anvil)
    assert anvil("withdraw", first, "--reason", "It was wrong.").code == 0
    second = released(anvil, "again")
    assert [(one["index"], one["withdrawn"] is not None) for one in publications(anvil)] == [
        (first, True),
        (second, False),
    ]


def test_words_of_a_reason_do_nothing_to_the_terminal(anvil: Anvil) -> None:
    index = released(anvil)
    assert anvil("withdraw", index, "--reason", "It was `wrong`, <b>all</b> of it.").code == 0
    assert "\x1b" not in anvil("status").out


# --- 3. what no longer holds ----------------------------------------------------------------------------------------


def test_what_is_retracted_afterwards_makes_it_and_its_decision_stale(anvil: Anvil, made: Laguna) -> None:
    index = released(anvil)
    target = made.observed[1].index
    at = retracted(anvil, target)
    first, _, *rest = told(anvil)
    assert first.startswith(f"  publication {index} (STALE): ")
    why = f"event {target} was retracted at index {at}: It was another host."
    (stale,) = publications(anvil)[0]["stale"]  # type: ignore[misc]
    assert (stale["decision"], stale["text"]) == (decision(anvil), why)  # type: ignore[index]
    assert " ".join(" ".join(rest).split()) == f"since then, decision {decision(anvil)} is stale: {why}"
    again = released(anvil, "again")
    assert [one["stale"] == [] for one in publications(anvil)] == [False, True], "a new one tells it itself"
    assert told(anvil)[-2].startswith(f"  publication {again}: ")


def decision(anvil: Anvil) -> int:
    (campaign,) = [c for c in anvil("status", "--json").json["campaigns"] if c["name"] == CAMPAIGN]
    index: int = campaign["decisions"][-1]["index"]
    return index


def test_what_no_decision_rests_on_is_told_by_itself(anvil: Anvil, made: Laguna) -> None:
    note = made.add(Draft(GapNoted(text="Nobody asked for tools."), Subject(CAMPAIGN)))[-1].index
    released(anvil)
    at = retracted(anvil, note)
    (stale,) = publications(anvil)[0]["stale"]  # type: ignore[misc]
    assert stale["decision"] is None  # type: ignore[index]
    assert (
        f"since then, event {note} was retracted at index {at}: It was another host." in anvil("status").out
    )


def test_a_decision_in_whose_place_another_stands_is_told(anvil: Anvil, made: Laguna) -> None:
    released(anvil)
    (old,) = anvil("status", "--json").json["campaigns"][0]["decisions"]
    event = DecisionRecorded(
        verdicts=("current",),
        sentence="It is taken after all.",
        rests_on=(made.observed[0].entry_hash,),
        supersedes=old["entry_hash"],
    )
    new = made.add(Draft(event, Subject(CAMPAIGN, CANDIDATE)))[-1].index
    assert f"since then, event {old['index']} was superseded at index {new}" in anvil("status").out


def test_what_is_of_another_candidate_or_campaign_changes_nothing(anvil: Anvil, made: Laguna) -> None:
    others = [
        made.add(Draft(GapNoted(text="It was hot."), subject))[-1].index
        for subject in (Subject("elsewhere"), Subject(CAMPAIGN, "another"))
    ]
    released(anvil)
    for index in others:
        retracted(anvil, index)
    assert publications(anvil)[0]["stale"] == []


def test_a_decision_that_rests_on_another_campaign_is_told_since_no_document_can(
    anvil: Anvil, made: Laguna
) -> None:
    other = made.add(Draft(GapNoted(text="It was hot."), Subject("elsewhere")))[-1]
    event = DecisionRecorded(
        verdicts=("no-promotion",), sentence="It failed.", rests_on=(other.entry_hash,), supersedes=None
    )
    decided = made.add(Draft(event, Subject(CAMPAIGN, CANDIDATE)))[-1].index
    released(anvil)
    retracted(anvil, other.index)
    (stale,) = publications(anvil)[0]["stale"]  # type: ignore[misc]
    assert stale["decision"] == decided  # type: ignore[index]


def test_a_key_that_is_revoked_from_before_it_on_makes_it_stale(anvil: Anvil, made: Laguna) -> None:
    released(anvil)
    keys = {key["role"]: key["key"] for key in anvil("key", "list", "--json").json["keys"]}
    ran = anvil(
        "key", "revoke", keys["operator"], "--cause", "compromised", "--last-good", made.observed[2].index
    )
    assert ran.code == 0, ran.err
    (one,) = publications(anvil)
    assert one["is_disowned"] is True
    assert "count for nothing" in str(one["stale"])
