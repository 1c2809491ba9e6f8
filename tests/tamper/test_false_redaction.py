"""A redaction is claimed for something else than what is gone, or by somebody who may not."""

from __future__ import annotations

import pytest
from support.ledgers import (
    ATTACKER,
    OTHER_STREAM,
    PRIVATE,
    SEALED,
    SIZE,
    Pretends,
    Small,
    attack,
    found,
    push,
    refused,
    session,
)

from anvil.ledger.events import ArtifactRedacted, Event, SealedRedacted
from anvil.ledger.keychanges import add_key, find_key, new_signer, revoke_key
from anvil.ledger.recording import Ledger
from anvil.ledger.redaction import redact
from anvil.ledger.signing import Signer


def gone(small: Small, *events: Event, signer: Signer | None = None) -> None:
    """Delete the sealed text of `PRIVATE` and record the given events."""
    with attack(small) as db:
        db.execute("DELETE FROM openings WHERE commitment = ?", [small.header(PRIVATE).sealed["text"]])
        push(db, *session(small.origin, signer or small.key("operator"), *events, stream=OTHER_STREAM))


def claim(small: Small, index: int = PRIVATE, field: str = "text") -> SealedRedacted:
    return SealedRedacted(target=small.leaf(index), field=field, reason="because")


def test_the_true_claim_is_a_note(small: Small) -> None:
    gone(small, claim(small))
    report = small.verify()
    assert report.exit_code == 0
    assert found(report, "redacted")


def test_for_another_field(small: Small) -> None:
    gone(small, claim(small, field="detail"))
    report = small.verify()
    refused(report, "sealed-missing", PRIVATE)
    assert found(report, "dangling-reference", SIZE + 1)


def test_for_another_event(small: Small) -> None:
    gone(small, claim(small, index=SEALED))
    refused(small.verify(), "sealed-missing", PRIVATE)


def test_for_an_event_that_is_not_there(small: Small) -> None:
    gone(small, SealedRedacted(target="0" * 64, field="text", reason="because"))
    report = small.verify()
    refused(report, "sealed-missing", PRIVATE)
    assert found(report, "dangling-reference", SIZE + 1)


def test_of_an_artifact_of_that_name(small: Small) -> None:
    gone(small, ArtifactRedacted(target=small.leaf(PRIVATE), artifact="text", reason="because"))
    refused(small.verify(), "sealed-missing", PRIVATE)


@pytest.mark.parametrize("who", ["collector", "stranger", "forged"])
def test_by_somebody_who_may_not(small: Small, who: str) -> None:
    operator = small.key("operator").public_key
    signers: dict[str, Signer] = {
        "collector": small.key("collector"),
        "stranger": ATTACKER,
        "forged": Pretends(operator),
    }
    gone(small, claim(small), signer=signers[who])
    refused(small.verify(), "sealed-missing", PRIVATE)


def test_the_blob_goes_under_cover_of_a_sealed_field(small: Small) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), claim(small, SEALED)))
    for path in small.place.blobs.rglob("*"):
        if path.is_file():
            path.unlink()
    refused(small.verify(), "artifact-missing", SEALED)


def test_what_a_disowned_key_redacted_can_be_redacted_again(small: Small) -> None:
    gone(small, claim(small))
    with Ledger.open(small.place.directory) as ledger:
        add_key(ledger, "operator", new_signer(ledger, "operator", agent_key=None, encrypt=False))
        revoke_key(ledger, find_key(ledger, small.key("operator").public_key.key_id), "compromised", SIZE)
        assert len(redact(ledger, [PRIVATE], "It is gone.").recorded) == 1
        assert len(redact(ledger, [PRIVATE], "It is gone.").recorded) == 0
    assert small.verify().exit_code == 0


def test_by_a_key_that_is_disowned(small: Small) -> None:
    gone(small, claim(small))
    with Ledger.open(small.place.directory) as ledger:
        revoke_key(ledger, find_key(ledger, "operator"), "compromised", SIZE)
    refused(small.verify(), "sealed-missing", PRIVATE)
