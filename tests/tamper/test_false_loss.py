"""A loss is claimed for something else than what is gone, or by somebody who may not."""

from __future__ import annotations

import pytest
from support.ledgers import (
    ATTACKER,
    LOG,
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

from anvil.ledger.citations import Citations
from anvil.ledger.events import ArtifactMissing
from anvil.ledger.keychanges import add_key, find_key, new_signer, revoke_key
from anvil.ledger.losses import lost
from anvil.ledger.recording import Ledger
from anvil.ledger.signing import Signer
from anvil.ledger.streams import record


def gone(small: Small, event: ArtifactMissing, signer: Signer | None = None) -> None:
    """Delete the log and claim that it was lost."""
    next(p for p in small.place.blobs.rglob("*") if p.is_file() and p.read_bytes() == LOG).unlink()
    with attack(small) as db:
        push(db, *session(small.origin, signer or small.key("operator"), event, stream=OTHER_STREAM))


def claim(small: Small, index: int = SEALED, artifact: str = "log") -> ArtifactMissing:
    return ArtifactMissing(target=small.leaf(index), artifact=artifact, reason="The disk died.")


def test_the_true_claim_is_a_note(small: Small) -> None:
    gone(small, claim(small))
    report = small.verify()
    assert report.exit_code == 0
    assert found(report, "lost").message.startswith("1 artifact lost")


def test_for_another_artifact(small: Small) -> None:
    gone(small, claim(small, artifact="samples"))
    refused(small.verify(), "artifact-missing", SEALED)


def test_for_another_event(small: Small) -> None:
    gone(small, claim(small, PRIVATE))
    report = small.verify()
    refused(report, "artifact-missing", SEALED)
    assert found(report, "dangling-reference", SIZE + 1)


def test_for_a_sealed_value(small: Small) -> None:
    # Sealed values lie in the database with the log. When one is gone and the log is not, somebody took it.
    with attack(small) as db:
        db.execute("DELETE FROM openings WHERE commitment = ?", [small.header(PRIVATE).sealed["text"]])
        push(db, *session(small.origin, small.key("operator"), claim(small, PRIVATE, "text")))
    refused(small.verify(), "sealed-missing", PRIVATE)


def test_for_an_opening_of_the_artifact(small: Small) -> None:
    commitment = next(a.commitment for a in small.header(SEALED).artifacts if a.name == "log")
    with attack(small) as db:
        db.execute("DELETE FROM openings WHERE commitment = ?", [commitment])
        push(db, *session(small.origin, small.key("operator"), claim(small)))
    refused(small.verify(), "artifact-missing", SEALED)


@pytest.mark.parametrize("who", ["collector", "stranger", "forged"])
def test_by_somebody_who_may_not(small: Small, who: str) -> None:
    signers: dict[str, Signer] = {
        "collector": small.key("collector"),
        "stranger": ATTACKER,
        "forged": Pretends(small.key("operator").public_key),
    }
    gone(small, claim(small), signers[who])
    refused(small.verify(), "artifact-missing", SEALED)


def test_by_a_key_that_is_disowned(small: Small) -> None:
    gone(small, claim(small))
    with Ledger.open(small.place.directory) as ledger:
        revoke_key(ledger, find_key(ledger, "operator"), "compromised", SIZE)
    refused(small.verify(), "artifact-missing", SEALED)


def test_what_a_disowned_key_called_lost_can_be_called_lost_again(small: Small) -> None:
    gone(small, claim(small))
    with Ledger.open(small.place.directory) as ledger:
        add_key(ledger, "operator", new_signer(ledger, "operator", agent_key=None, encrypt=False))
        revoke_key(ledger, find_key(ledger, small.key("operator").public_key.key_id), "compromised", SIZE)
        citations = Citations(ledger)
        (draft,) = lost(ledger, citations, citations.find(str(SEALED)), (), "The thief deleted it.")
        record(ledger, ledger.signer("operator"), [draft], purpose="note")
    assert small.verify().exit_code == 0


def test_bytes_that_are_there_but_altered(small: Small) -> None:
    path = next(p for p in small.place.blobs.rglob("*") if p.is_file() and p.read_bytes() == LOG)
    path.write_bytes(LOG + b"x")
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), claim(small)))
    refused(small.verify(), "artifact-altered", SEALED)
