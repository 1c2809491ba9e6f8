"""A genuine key signs what its role may not sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import (
    ATTACKER,
    SIZE,
    Pretends,
    Small,
    attack,
    forge,
    push,
    refused,
    said,
    session,
    sign_head,
)

from anvil.ledger.drafts import Draft
from anvil.ledger.errors import NotPermitted
from anvil.ledger.events import (
    ArtifactMissing,
    ArtifactRedacted,
    DecisionRecorded,
    Event,
    EventRetracted,
    EvidenceAttached,
    GapNoted,
    KeyAdded,
    KeyRevoked,
    SealedRedacted,
    TreeState,
    WaiverGranted,
)
from anvil.ledger.public import Role
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record

CLI = Callable[..., tuple[int, dict[str, Any]]]


def decided(target: str) -> DecisionRecorded:
    return DecisionRecorded(verdicts=("current",), sentence="x", rests_on=(target,), supersedes=None)


def waived(target: str) -> WaiverGranted:
    return WaiverGranted(
        gate="x",
        granted_by="x",
        reason="x",
        expires="2027-01-31T00:00:00.000000Z",
        about=(target,),
    )


def events(small: Small) -> dict[str, tuple[Role, Event]]:
    target = small.leaf(3)
    good = TreeState(origin=small.origin, size=2, root="00" * 32)
    operator = small.key("operator").public_key
    return {
        "observation": ("collector", said("x")),
        "retraction": ("collector", EventRetracted(target=target, reason="x")),
        "redaction": ("collector", SealedRedacted(target=target, field="text", reason="x")),
        "artifact redaction": ("collector", ArtifactRedacted(target=target, artifact="log", reason="x")),
        "loss": ("collector", ArtifactMissing(target=target, artifact="log", reason="x")),
        "decision": ("collector", decided(target)),
        "decision by root": ("root", decided(target)),
        "waiver": ("collector", waived(target)),
        "gap": ("collector", GapNoted(text="x")),
        "late evidence": (
            "collector",
            EvidenceAttached(
                target=target,
                status="imported-artifact",
                restores=(),
                supports=(),
                public_text="x",
                text=None,
            ),
        ),
        "new key": ("operator", KeyAdded(role="operator", public_key=ATTACKER.public_key.raw.hex())),
        "new root key": ("operator", KeyAdded(role="root", public_key=ATTACKER.public_key.raw.hex())),
        "revocation": ("collector", KeyRevoked(key=operator.key_id, last_good=good, cause="compromised")),
        "observation by root": ("root", said("x")),
    }


@pytest.mark.parametrize(
    "name",
    [
        "observation",
        "retraction",
        "redaction",
        "artifact redaction",
        "loss",
        "decision",
        "decision by root",
        "waiver",
        "gap",
        "late evidence",
        "new key",
        "new root key",
        "revocation",
        "observation by root",
    ],
)
def test_an_event(small: Small, name: str) -> None:
    role, event = events(small)[name]
    cosigners = [ATTACKER] if isinstance(event, KeyAdded) else []
    with attack(small) as db:
        push(db, *session(small.origin, small.key(role), event, cosigners=cosigners))
    finding = refused(small.verify(), "not-permitted", SIZE + 1)
    assert f"this key is {role}" in finding.message


def test_the_ledger_key_records_nothing(small: Small, cli: CLI) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("ledger")))
    refused(small.verify(), "not-permitted", SIZE)
    code, report = cli(small.place.directory)
    assert (code, {f["code"] for f in report["findings"]}) == (1, {"not-permitted", "uncovered"})


@pytest.mark.parametrize("role", ["root", "operator", "collector"])
def test_another_key_signs_no_checkpoint(small: Small, role: Role) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator")))
        sign_head(db, small.origin, small.key(role))
    refused(small.verify(), "checkpoint-invalid", SIZE + 1)


@pytest.mark.parametrize("family", ["key.added", "key.rotated", "key.revoked", "ledger.created"])
@pytest.mark.parametrize("role", ["root", "collector"])
def test_a_key_event_of_a_version_that_is_not_known_here(small: Small, family: str, role: Role) -> None:
    # What it does to the keyring cannot be known, so nothing after it can be judged.
    with attack(small) as db:
        push(db, *session(small.origin, small.key(role), f"{family}/2"))
    report = small.verify()
    assert {f.code for f in report.findings if f.index == SIZE + 1} & {"unsupported-version", "chain-broken"}
    assert report.exit_code == 1


def test_a_key_event_of_a_later_version_is_unsupported_whoever_signs_along(small: Small) -> None:
    # The key that it introduces signs along, and cannot be known here.
    entries = session(small.origin, small.key("root"), "key.added/2", cosigners=[ATTACKER])
    with attack(small) as db:
        push(db, *entries)
    report = small.verify()
    refused(report, "unsupported-version", SIZE + 1)
    assert {f.code for f in report.findings if f.severity == "failure"} == {"unsupported-version"}


@pytest.mark.parametrize("signatures", [True, False])
def test_a_forged_key_event_of_a_later_version_is_tampered(small: Small, signatures: bool) -> None:
    root = Pretends(small.key("root").public_key)
    with attack(small) as db:
        push(db, *session(small.origin, root, "key.added/2"))
    refused(small.verify(signatures=signatures), "tampered", SIZE + 1)


def test_an_unknown_type_is_a_note(small: Small) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("collector"), "run.finished/1"))
    report = small.verify()
    assert report.exit_code == 0
    assert [f.code for f in report.findings] == ["uncovered", "unknown-type"]


def test_a_key_that_adds_itself(small: Small) -> None:
    added = KeyAdded(role="root", public_key=ATTACKER.public_key.raw.hex())
    with attack(small) as db:
        push(db, forge(small.origin, added, ATTACKER))
    report = small.verify()
    refused(report, "chain-broken", SIZE)
    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" >= ?', [SIZE])
        push(db, *session(small.origin, ATTACKER, added))
    refused(small.verify(), "unknown-key", SIZE)


@pytest.mark.parametrize("name", ["decision", "decision by root", "waiver", "gap", "late evidence", "loss"])
def test_it_is_refused_before_it_is_appended(small: Small, name: str) -> None:
    role, event = events(small)[name]
    with Ledger.open(small.place.directory) as ledger:
        with pytest.raises(NotPermitted, match=f"this key is {role}"):
            record(ledger, ledger.signer(role), [Draft(event)], purpose="decision")
        assert ledger.store.size() == SIZE
