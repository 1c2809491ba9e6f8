"""`anvil decide`, `waive`, `note` and `retract`: what is recorded, what is shown, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.campaigns import Scene, record
from support.command import Anvil

from anvil.ledger.checks.keys import CONTROL_FAMILIES
from anvil.ledger.citations import ABOUT_THE_LOG
from anvil.ledger.events import CATALOGUE, KeyRevoked
from anvil.ledger.recording import Ledger

WORDS = ("--status", "operator-observed-incomplete", "--subject", "campaign=mine")
FINISH, IDENTITY = 6, 5
"""Indices of a failed check and of one that passed, in the run below."""


@pytest.fixture
def run(ledger: Anvil) -> Anvil:
    """A ledger with a run: one check passed, one failed, one is missing."""
    scene = Scene()
    scene.declared(checks=("identity", "finish", "coding"))
    scene.launched()
    scene.checked("identity")
    scene.checked("finish", "failed", "wrong_value")
    scene.stopped()
    record(scene)
    return ledger


def done(anvil: Anvil, *arguments: object) -> int:
    ran = anvil(*arguments, "--json")
    assert ran.code == 0, ran.err
    index = ran.json["index"] if "index" in ran.json else ran.json["events"][0]["index"]
    assert isinstance(index, int)
    return index


def decided(anvil: Anvil, *more: object, rests_on: int = IDENTITY) -> int:
    return done(anvil, "decide", "current", "--rests-on", rests_on, "--reason", "It holds.", *more)


def mine(anvil: Anvil) -> dict[str, list[dict[str, object]]]:
    campaigns = anvil("status", "--json").json["campaigns"]
    return next(campaign for campaign in campaigns if campaign["name"] == "mine")


def test_a_decision_cites_by_hash_what_was_named_by_index(run: Anvil) -> None:
    index = decided(run, "--rests-on", FINISH)
    shown = run("show", index, "--json").json
    hashes = {run("show", cited, "--json").json["entry_hash"] for cited in (IDENTITY, FINISH)}
    assert set(shown["header"]["facts"]["rests_on"]) == hashes
    assert shown["header"]["subject"] == {"campaign": "mine", "candidate": "tiny", "attempt": "a1"}
    operator = next(k["key"] for k in run("key", "list", "--json").json["keys"] if k["role"] == "operator")
    assert shown["signed_by"] == [operator]
    (decision,) = mine(run)["decisions"]
    assert [cited["index"] for cited in decision["rests_on"]] == [IDENTITY, FINISH]  # type: ignore[attr-defined]
    assert (decision["stale"], decision["superseded_by"]) == ([], None)


def test_an_event_is_named_by_its_entry_hash_too(run: Anvil) -> None:
    name = run("show", IDENTITY, "--json").json["entry_hash"]
    index = done(run, "decide", "current", "--rests-on", name, "--rests-on", IDENTITY, "--reason", "x")
    assert run("show", index, "--json").json["header"]["facts"]["rests_on"] == [name]


def test_a_retracted_check_makes_every_decision_that_rested_on_it_stale_by_name(run: Anvil) -> None:
    first, second = decided(run), decided(run, rests_on=FINISH)
    third = decided(run, rests_on=first)
    gone = done(run, "retract", IDENTITY, "--reason", "It asked another engine.")
    stale = {d["index"]: [r["text"] for r in d["stale"]] for d in mine(run)["decisions"]}  # type: ignore[attr-defined]
    why = f"{IDENTITY} was retracted at index {gone}: It asked another engine."
    assert stale == {first: [why], second: [], third: [f"{first} is stale itself: {why}"]}
    out = run("status").out
    assert f"  decision {first}: current (STALE: rests on event {IDENTITY}, which was retracted)\n" in out
    assert f"  decision {second}: current\n" in out
    assert f"        stale: {why}\n" in out
    assert run("verify").code == 0


def test_a_redaction_makes_it_stale_and_a_new_decision_replaces_it(run: Anvil) -> None:
    said = done(run, "observe", "the customer is Acme", *WORDS)
    old = decided(run, rests_on=said)
    assert run("redact", said, "--reason", "It named a customer.").code == 0
    assert f"stale: {said} had text redacted at index" in run("status").out
    new = decided(run, "--supersedes", old, rests_on=said)
    by_index = {d["index"]: d for d in mine(run)["decisions"]}
    assert (by_index[old]["superseded_by"], by_index[new]["supersedes"]) == (new, old)
    assert (by_index[new]["stale"], by_index[new]["evidence_status"]) == ([], "artifact-missing")
    out = run("status").out
    assert f"  decision {old}: current (superseded by {new})\n" in out
    assert f"      supersedes decision {old}\n" in out


def test_no_run_decides_anything(run: Anvil) -> None:
    collector = {name for name, cls in CATALOGUE.items() if "collector" in cls.signed_by}
    assert not {name for name in collector if name.startswith(("decision.", "waiver.", "gap."))}
    assert mine(run)["decisions"] == []


def test_a_waiver_stands_beside_the_result_that_it_lets_pass(run: Anvil) -> None:
    arguments = ("--by", "release-lead", "--reason", "No client needs it.", "--until", "2999-12-31")
    index = done(run, "waive", FINISH, *arguments)
    (waiver,) = mine(run)["waivers"]
    assert (waiver["gate"], waiver["granted_by"]) == ("finish", "release-lead")
    assert (waiver["expires"], waiver["has_ended"]) == ("2999-12-31T23:59:59.999999Z", False)
    out = run("status").out
    assert f"  waiver {index}: finish, by release-lead, until 2999-12-31T23:59Z\n" in out
    assert f"      lets pass {FINISH}: tiny/a1: finish failed 0/1" in out
    assert "    failed       finish                   0/1  wrong_value\n" in out, "the result stays"
    done(run, "retract", FINISH, "--reason", "x")
    assert (
        f"  waiver {index}: finish, by release-lead, until 2999-12-31T23:59Z (STALE)\n" in run("status").out
    )


def test_a_gate_without_a_result_is_waived_by_its_name(run: Anvil) -> None:
    arguments = ("--by", "lead", "--reason", "x", "--until", "2999-01-01T12:00:00Z")
    index = done(run, "waive", "--gate", "coding", "--subject", "campaign=mine", *arguments)
    assert run("show", index, "--json").json["header"]["facts"]["about"] == []


def test_a_waiver_that_has_ended_says_so(run: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    from anvil.projections.commands import status

    arguments = ("--by", "lead", "--reason", "x", "--until", "2998-12-31")
    index = done(run, "waive", FINISH, *arguments)
    monkeypatch.setattr(status, "system_clock", lambda: datetime(2999, 1, 1, tzinfo=UTC))
    assert f"waiver {index}: finish, by lead, until 2998-12-31T23:59Z (ENDED)\n" in run("status").out


def test_caveats_and_gaps_from_words_a_file_and_standard_input(
    run: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("gap.txt").write_text("No prompt was longer than 100,000 tokens.\r\n")
    caveat = done(run, "note", "caveat", "The host was shared.", "--about", FINISH)
    done(run, "note", "gap", "--file", "gap.txt", "--subject", "campaign=mine")
    with Path("gap.txt").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        done(run, "note", "gap", "-", "--subject", "campaign=mine")
    shown = mine(run)
    assert [(c["index"], c["text"]) for c in shown["caveats"]] == [(caveat, "The host was shared.")]
    assert {gap["text"] for gap in shown["gaps"]} == {"No prompt was longer than 100,000 tokens."}
    assert (
        f"  caveat {caveat}: The host was shared.\n      about {FINISH}: tiny/a1: finish" in run("status").out
    )
    done(run, "retract", caveat, "--reason", "It was not.")
    assert mine(run)["caveats"] == []


def test_all_of_it_fits_80_columns(run: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "a rather long sentence that goes on and on " * 20
    label = "x" * 64
    about = ("--subject", "campaign=mine")
    said = done(run, "observe", long.strip(), "--public", *WORDS)
    done(run, "note", "caveat", long.strip(), "--about", said, *about)
    done(run, "note", "gap", "y" * 900, *about)
    until = ("--until", "2999-12-31", "--reason", long.strip())
    done(run, "waive", FINISH, "--gate", label, "--by", label, *until, *about)
    old = done(run, "decide", "rejected_tested_recipes", "no-promotion", "qualified-control", "--rests-on", said,
               "--reason", long.strip())  # fmt: skip
    decided(run, "--supersedes", old, rests_on=said)
    done(run, "retract", said, "--reason", long.strip())
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("status").out.splitlines()
    assert len(lines) > 60
    assert max(map(len, lines)) <= 80


REASON = ("--reason", "x")
UNTIL = ("--by", "lead", "--until", "2999-12-31", *REASON)
ABOUT = ("--subject", "campaign=mine")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["decide", "current", *REASON], 2, "--rests-on"),
        (["decide", "--rests-on", 5, *REASON], 2, "VERDICT"),
        (["decide", "promoted", "--rests-on", 5, *REASON], 2, "qualified-control"),
        (["decide", "current", "--rests-on", 5], 2, "--reason"),
        (["decide", "current", "--rests-on", 5, "--reason", "two\nlines"], 1, "one line"),
        (["decide", "current", "--rests-on", "five", *REASON], 2, "expected an index"),
        (["decide", "current", "--rests-on", 99, *REASON], 1, "there is no entry 99"),
        (["decide", "current", "--rests-on", "ab" * 32, *REASON], 1, "has the entry hash abab"),
        (["decide", "current", "--rests-on", 0, *REASON], 1, "about the ledger itself"),
        (["decide", "current", "--rests-on", 2, *REASON], 1, "stream.opened/1"),
        (["decide", "current", "--rests-on", 5, "--supersedes", 6, *REASON], 1, "only a decision"),
        (["decide", "current", "--rests-on", 5, "--subject", "attempt=a1", *REASON], 2, "campaign="),
        (["waive", 5, *UNTIL], 1, "nothing to waive"),
        (["waive", 3, *UNTIL], 1, "only a result can be waived"),
        (["waive", *UNTIL, *ABOUT], 1, "--gate"),
        (["waive", "--gate", "x", *UNTIL], 2, "campaign="),
        (["waive", 6, *UNTIL, "--until", "2001-01-01"], 1, "ended before it began"),
        (["waive", 6, *UNTIL, "--until", "tomorrow"], 2, "expected a day"),
        (["waive", 6, *UNTIL, "--until", "2999-02-30"], 2, "expected a day"),
        (["waive", 6, *UNTIL, "--until", "2999-01-01T00:00:00+02:00"], 2, "in UTC"),
        (["waive", 6, *UNTIL, "--by", "Jane Doe"], 1, "granted_by"),
        (["note", "gap"], 2, "one of them"),
        (["note", "gap", "x", "--file", "junk"], 2, "one of them"),
        (["note", "gap", "--file", "junk"], 2, "not UTF-8"),
        (["note", "gap", "--file", "nowhere"], 2, "cannot be read"),
        (["note", "gap", "--file", "large"], 2, "more than 65535 bytes"),
        (["note", "gap", " "], 2, "no words"),
        (["note", "caveat", "x", "--about", 99], 1, "there is no entry 99"),
        (["note", "missing", 99, *REASON], 1, "there is no entry 99"),
        (["note", "missing", 5, *REASON], 1, "has no artifacts"),
        (["note", "missing", 5, "--artifact", "log", *REASON], 1, "no artifact 'log'"),
        (["retract", 5], 2, "--reason"),
        (["retract", 99, *REASON], 1, "there is no entry 99"),
        (["retract", 1, *REASON], 1, "not taken back"),
    ],
)
def test_what_is_refused(run: Anvil, arguments: list[object], code: int, says: str) -> None:
    Path("junk").write_bytes(b"\xff\xfe")
    Path("large").write_bytes(b"x" * 65_536)
    before = run("log", "--json").json["size"]
    ran = run(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert run("log", "--json").json["size"] == before, "nothing was recorded"


def test_nothing_rests_on_what_was_retracted_and_it_is_not_retracted_twice(run: Anvil) -> None:
    gone = done(run, "retract", IDENTITY, "--reason", "Another engine.")
    for arguments in (
        ("decide", "current", "--rests-on", IDENTITY, *REASON),
        ("note", "caveat", "x", "--about", IDENTITY),
        ("retract", IDENTITY, *REASON),
        ("observe", "--to", IDENTITY, "--attach", "anvil-ledger/log.vkey"),
    ):
        ran = run(*arguments)
        assert ran.code == 1
        assert f"was retracted at index {gone}: Another engine." in ran.err
    before = run("log", "--json").json["size"]
    again = run("retract", IDENTITY, *REASON)
    assert "Nothing was recorded, and nothing is to be done" in again.err
    assert "Name what stands in its place" not in again.err
    assert run("log", "--json").json["size"] == before
    ran = run("retract", gone, *REASON)
    assert (ran.code, "event.retracted/1" in ran.err) == (1, True)
    assert "record again what it took back" in ran.err


def test_a_decision_is_superseded_once_and_in_its_own_campaign(run: Anvil) -> None:
    old = decided(run)
    ran = run("decide", "current", "--rests-on", old, "--supersedes", old, *REASON)
    assert (ran.code, "that rests on it" in ran.err) == (1, True)
    ran = run(
        "decide",
        "current",
        "--rests-on",
        IDENTITY,
        "--supersedes",
        old,
        "--subject",
        "campaign=other",
        *REASON,
    )
    assert (ran.code, "is about campaign mine, this one about other" in ran.err) == (1, True)
    new = decided(run, "--supersedes", old)
    for option in ("--supersedes", "--rests-on"):
        ran = run("decide", "current", "--rests-on", IDENTITY, option, old, *REASON)
        assert (ran.code, f"was superseded by decision {new}" in ran.err) == (1, True)
    done(run, "retract", new, *REASON)
    decided(run, "--supersedes", old)


def test_nothing_rests_on_what_a_thief_signed(run: Anvil) -> None:
    said = done(run, "observe", "by the thief", *WORDS)
    thiefs = decided(run)
    assert run("key", "new", "operator").code == 0
    operator = next(k["key"] for k in run("key", "list", "--json").json["keys"] if k["role"] == "operator")
    arguments = ("--cause", "compromised", "--last-good", said - 1)
    assert run("key", "revoke", operator, *arguments).code == 0
    ran = run("decide", "current", "--rests-on", said, *REASON)
    assert (ran.code, "it supports nothing" in ran.err) == (1, True)
    ran = run("decide", "current", "--rests-on", IDENTITY, "--supersedes", thiefs, *REASON)
    assert (ran.code, "it supports nothing" in ran.err) == (1, True)
    assert mine(run)["decisions"] == []
    assert "6 events of a revoked key: disowned, counting for nothing." in run("status").out
    with Ledger.open(Path("anvil-ledger")) as ledger:
        assert ledger.store.of_types([KeyRevoked.event_type])


def test_corrections_are_about_the_log() -> None:
    assert CONTROL_FAMILIES < ABOUT_THE_LOG
    assert {event_type.partition("/")[0] for event_type in CATALOGUE} >= ABOUT_THE_LOG


def test_events_that_a_restore_carried_over_are_cited_and_stay_judged(run: Anvil) -> None:
    old = decided(run)
    assert run("backup", "b.db").code == 0
    assert run("restore", "b.db", "again").code == 0
    listed = run("--ledger", "again", "log", "--json").json["events"]
    at = {e["entry_hash"]: e["index"] for e in listed}
    result = at[run("show", IDENTITY, "--json").json["entry_hash"]]
    carried = at[run("show", old, "--json").json["entry_hash"]]
    new = done(
        run, "--ledger", "again", "decide", "rollback", "--rests-on", result, "--supersedes", carried, *REASON
    )
    done(run, "--ledger", "again", "retract", result, *REASON)
    decisions = run("--ledger", "again", "status", "--json").json["campaigns"][0]["decisions"]
    assert [(d["index"], d["superseded_by"], bool(d["stale"])) for d in decisions] == [
        (carried, new, True),
        (new, None, True),
    ]
    assert run("--ledger", "again", "verify").code == 0


def test_an_event_of_another_ledger_is_not_cited(run: Anvil) -> None:
    assert run("--ledger", "other", "init", "--origin", "cli.test.invalid").code == 0
    theirs = run("--ledger", "other", "show", 0, "--json").json["entry_hash"]
    ran = run("decide", "current", "--rests-on", theirs, *REASON, *ABOUT)
    assert (ran.code, f"has the entry hash {theirs}" in ran.err) == (1, True)
