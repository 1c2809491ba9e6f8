"""A document that was withdrawn and is released again: whoever releases it is told, and so is whoever reads it.

1. The command says which earlier release was withdrawn, when and why, before anything is recorded, and in its answer.
2. The new document says it in its evidence limit, on events that go along: a stranger makes it again.
3. A state from before the withdrawal is not published for the first time after it: its reader could not know.
4. A release and its withdrawal are not retracted: what is out is withdrawn, and what was withdrawn stays so.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.command import Anvil
from support.laguna import CAMPAIGN, CANDIDATE, Laguna
from support.published_folders import DOCUMENT, vkey

from anvil.ledger.drafts import Draft
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import PublicationWithdrawn
from anvil.ledger.header import Subject
from anvil.ledger.publication import layout
from anvil.ledger.publication.verifying import verify_publication
from anvil.ledger.schema import TRIGGERS
from anvil.ledger.store import Store
from anvil.projections.recomputing import recompute
from anvil.projections.seen import read_events

SUMMARY = "sanitized-qualification-summary.v1"
REASON = "The load was measured on a shared host."


def withdrawn(anvil: Anvil, folder: str = "first", document: str = DOCUMENT) -> tuple[int, int]:
    """Release a document, withdraw it, and return the indices of both."""
    released = anvil("release", document, "--out", folder, "--json").json["index"]
    ran = anvil("withdraw", released, "--reason", REASON, "--json")
    assert ran.code == 0, ran.err
    return released, ran.json["index"]


def days(made: Laguna, *indices: int) -> list[str]:
    store = Store.open_readonly(made.place.database)
    try:
        return [seen.header.at[:10] for seen in read_events(store) if seen.index in indices]
    finally:
        store.close()


# --- 1. who releases it ---------------------------------------------------------------------------------------------


def test_who_releases_it_again_is_told(anvil: Anvil, made: Laguna) -> None:
    released, at = withdrawn(anvil)
    ran = anvil("release", DOCUMENT, "--out", "again")
    assert ran.code == 0, ran.err
    _, day = days(made, released, at)
    words = " ".join(ran.err.split())
    assert (
        f"This document was released before, at index {released}, and withdrawn at index {at} on {day}"
        in words
    )
    assert REASON in words
    assert "This release is a new one, and says so to its readers." in words
    assert "Released at index" in ran.out


def test_a_program_is_told(anvil: Anvil, made: Laguna) -> None:
    released, at = withdrawn(anvil)
    (found,) = anvil("release", DOCUMENT, "--out", "again", "--json").json["withdrawn_before"]
    assert (found["released"], found["withdrawn"], found["reason"]) == (released, at, REASON)
    assert found["withdrawn_at"][:10] == days(made, at)[0]


def test_without_a_withdrawal_nothing_is_said(anvil: Anvil) -> None:
    assert anvil("release", DOCUMENT, "--out", "first").code == 0
    ran = anvil("release", DOCUMENT, "--out", "second")
    assert "withdrawn" not in ran.err
    assert anvil("release", DOCUMENT, "--out", "third", "--json").json["withdrawn_before"] == []


def test_of_another_document_nothing_is_said(anvil: Anvil, made: Laguna) -> None:
    withdrawn(anvil)
    event = PublicationWithdrawn(publication="ab" * 32, reason="It is of nothing here.")
    made.add(Draft(event, Subject(CAMPAIGN, CANDIDATE)))
    found = anvil("release", DOCUMENT, "--out", "again", "--json").json["withdrawn_before"]
    assert [one["reason"] for one in found] == [REASON]


# --- 2. who reads it ------------------------------------------------------------------------------------------------


def test_the_new_document_says_so_and_a_stranger_makes_it_again(anvil: Anvil, made: Laguna) -> None:
    released, at = withdrawn(anvil)
    assert anvil("release", DOCUMENT, "--out", "again").code == 0
    first, second = days(made, released, at)
    said = (
        f"An earlier release of this document (event {released}, {first}) was withdrawn "
        f"(event {at}, {second}): {REASON}"
    )
    folder = Path("again")
    document = json.loads((folder / layout.DOCUMENT).read_bytes())
    assert document["evidence_limit"].startswith(said)
    assert said in (folder / "document.html").read_text()
    provenance = json.loads((folder / layout.PROVENANCE).read_bytes())
    assert provenance["evidence_limit"]["notes"][0] == said
    (leaf,) = [one for one in provenance["leaves"] if one["pointer"] == "/evidence_limit"]
    store = Store.open_readonly(made.place.database)
    hashes = {row.entry_index: row.leaf_hash.hex() for row in store.rows(0, store.size())}
    store.close()
    assert {hashes[released], hashes[at]} <= set(leaf["events"])
    report = verify_publication(folder, vkey(made.place), recompute)
    assert report.exit_code == 0, report.every_finding
    assert report.recomputed


def test_as_of_before_the_withdrawal_it_is_as_it_was(anvil: Anvil, made: Laguna) -> None:
    before = anvil("render", DOCUMENT).out
    released, at = withdrawn(anvil)
    assert anvil("render", DOCUMENT, "--as-of", released - 2).out == before
    assert anvil("render", DOCUMENT, "--as-of", at - 2).out == before
    assert anvil("render", DOCUMENT).out != before
    assert anvil("render", DOCUMENT).out == anvil("render", DOCUMENT, "--as-of", at).out


def test_a_release_that_was_not_withdrawn_is_not_mentioned(anvil: Anvil) -> None:
    before = anvil("render", DOCUMENT).out
    assert anvil("release", DOCUMENT, "--out", "first").code == 0
    assert anvil("render", DOCUMENT).out == before


# --- 3. earlier states ----------------------------------------------------------------------------------------------


def test_a_state_from_before_the_withdrawal_is_not_published_for_the_first_time(
    anvil: Anvil, made: Laguna
) -> None:
    state = made.observed[-1].index
    released, at = withdrawn(anvil)
    for earlier in (state, released):
        ran = anvil("release", DOCUMENT, "--out", "then", "--as-of", earlier)
        assert ran.code == 1
        assert f"withdrawn since, at index {at}" in " ".join(ran.err.split())
        assert not Path("then").exists()
    assert anvil("release", DOCUMENT, "--out", "then", "--as-of", at).code == 0


def test_what_was_released_before_and_stands_is_made_again_all_the_same(anvil: Anvil) -> None:
    first = anvil("release", DOCUMENT, "--out", "first", "--json").json["index"]
    withdrawn(anvil, "second")
    ran = anvil("release", DOCUMENT, "--out", "again", "--as-of", first - 2, "--json")
    assert (ran.code, ran.json["index"]) == (0, first)


# --- 4. what is not retracted ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("which", "says"), [(0, "anvil withdraw"), (1, "stays withdrawn")])
def test_neither_is_retracted(anvil: Anvil, which: int, says: str) -> None:
    index = withdrawn(anvil)[which]
    ran = anvil("retract", index, "--reason", "It was a mistake.")
    assert ran.code == 1
    assert says in " ".join(ran.err.split())


def test_a_withdrawal_that_somebody_altered_refuses_the_document(anvil: Anvil, made: Laguna) -> None:
    """No leaf of a summary rests on it, and its words stand in the limit all the same."""
    _, at = withdrawn(anvil, document=SUMMARY)
    assert REASON in anvil("render", SUMMARY, "--format", "md").out
    with closing(sqlite3.connect(made.place.database, isolation_level=None)) as db:
        for trigger in TRIGGERS:
            db.execute(f"DROP TRIGGER {trigger}")
        entry = db.execute("SELECT entry FROM entries WHERE [index] = ?", [at]).fetchone()[0]
        envelope = Envelope.parse(entry)
        forged = Envelope(envelope.header.replace(b"shared", b"proper"), envelope.signatures).encode()
        assert forged != entry
        db.execute("UPDATE entries SET entry = ? WHERE [index] = ?", [forged, at])
    ran = anvil("render", SUMMARY, "--format", "md")
    assert (ran.code, ran.out) == (1, "")
    assert f"the event at index {at} is not as it was signed" in " ".join(ran.err.split())
