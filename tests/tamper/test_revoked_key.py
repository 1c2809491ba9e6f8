"""A key signs after it was revoked: as the first signer, as a cosigner, or in a stream that was open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import (
    OTHER_STREAM,
    SIZE,
    STREAM,
    Small,
    attack,
    forge,
    found,
    header_in,
    push,
    refused,
    said,
    session,
)

from anvil.ledger.drafts import Draft
from anvil.ledger.errors import NotPermitted
from anvil.ledger.events import KeyRevoked, TreeState
from anvil.ledger.keychanges import add_key, find_key, revoke_key
from anvil.ledger.recording import Ledger
from anvil.ledger.signing import PrivateKey
from anvil.ledger.streams import record

CLI = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def revoked(small: Small) -> int:
    """Revoke the operator's key; return the size of the log then."""
    with Ledger.open(small.place.directory) as ledger:
        revoke_key(ledger, find_key(ledger, "operator"), "compromised", 11)
        size = ledger.store.size()
    report = small.verify()
    assert report.exit_code == 0
    assert found(report, "disowned").message.startswith("3 events")
    return size


def test_a_new_stream(small: Small, revoked: int, cli: CLI) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), said("late")))
    report = small.verify()
    for index in range(revoked, revoked + 3):
        refused(report, "signed-after-revocation", index)
    code, printed = cli(small.place.directory)
    assert code == 1
    assert {f["code"] for f in printed["findings"] if f["severity"] != "note"} == {"signed-after-revocation"}


def test_a_stream_that_was_open(small: Small) -> None:
    key = small.key("operator")
    lost = session(small.origin, key, close=False)
    with attack(small) as db:
        start = push(db, *lost)
    with Ledger.open(small.place.directory) as ledger:
        revoke_key(ledger, find_key(ledger, "operator"), "compromised", None)
    with attack(small) as db:
        index = push(db, forge(small.origin, said("late"), key, after=header_in(lost[0])))
    assert index > start
    refused(small.verify(), "signed-after-revocation", index)


def test_as_a_cosigner(small: Small, revoked: int) -> None:
    # A signature that counts for nothing would still be shown beside one that does.
    collector = small.key("collector")
    with attack(small) as db:
        push(db, *session(small.origin, collector, "run.noted/1", cosigners=[small.key("operator")]))
    refused(small.verify(), "signed-after-revocation", revoked + 1)


def test_as_a_cosigner_before_it_was_known(small: Small) -> None:
    collector, new = small.key("collector"), PrivateKey.generate()
    with attack(small) as db:
        index = push(db, *session(small.origin, collector, "run.noted/1", cosigners=[new])) + 1
    with Ledger.open(small.place.directory) as ledger:
        add_key(ledger, "operator", new)
    refused(small.verify(), "unknown-key", index)


def test_a_backdated_event(small: Small, revoked: int) -> None:
    # The time is the signer's own word; the place in the log is not.
    key = small.key("operator")
    entries = session(small.origin, key, stream="20200101T000000Z-00000000000000aa")
    with attack(small) as db:
        push(db, *entries)
    refused(small.verify(), "signed-after-revocation", revoked)


def test_what_was_signed_between_is_disowned_and_stays(small: Small, revoked: int) -> None:
    assert small.verify().exit_code == 0


def wrong_root(small: Small) -> KeyRevoked:
    """A revocation of the operator's key whose last good state this log never had."""
    state = TreeState(origin=small.origin, size=11, root="00" * 32)
    return KeyRevoked(key=small.key("operator").public_key.key_id, last_good=state, cause="compromised")


def test_a_last_good_state_that_never_was_is_found_and_the_key_stays_revoked(small: Small) -> None:
    # Who prepares a revocation for an offline root key may be the thief: a wrong root must not keep the key alive.
    key = small.key("operator")
    with attack(small) as db:
        index = push(db, *session(small.origin, small.key("root"), wrong_root(small), stream=OTHER_STREAM))
        push(db, *session(small.origin, key, said("late"), stream=STREAM))
    report = small.verify()
    finding = refused(report, "not-permitted")
    assert (finding.until, finding.expected) == (11, "00" * 32)
    assert finding.message.startswith(f"the revocation at index {index + 1}")
    refused(report, "signed-after-revocation", index + 3)
    assert found(report, "disowned").message.startswith("3 events")


def test_one_from_before_an_earlier_verification_is_compared_too(small: Small) -> None:
    state = small.state()
    with attack(small) as db:
        index = push(db, *session(small.origin, small.key("root"), wrong_root(small), stream=OTHER_STREAM))
    finding = refused(small.verify(state=state), "not-permitted")
    assert finding.message.startswith(f"the revocation at index {index + 1}")
    assert (finding.until, finding.expected) == (11, "00" * 32)


def test_a_last_good_state_that_never_was_is_not_recorded(small: Small) -> None:
    with Ledger.open(small.place.directory) as ledger:
        for state in ({"root": "00" * 32}, {"size": 99}):
            event = wrong_root(small)
            event = event.model_copy(update={"last_good": event.last_good.model_copy(update=state)})
            with pytest.raises(NotPermitted, match="the last good state"):
                record(ledger, ledger.signer("root"), [Draft(event)], purpose="keys")
        assert find_key(ledger, "operator").revoked is None
    assert small.verify().size == SIZE


def test_it_revokes_the_revocation(small: Small, revoked: int) -> None:
    from anvil.ledger.events import KeyAdded

    key = small.key("operator")
    again = KeyAdded(role="operator", public_key=key.public_key.raw.hex())
    with attack(small) as db:
        index = push(
            db, *session(small.origin, small.key("root"), again, cosigners=[key], stream=OTHER_STREAM)
        )
        push(db, *session(small.origin, key, said("back"), stream=STREAM))
    report = small.verify()
    refused(report, "not-permitted", index + 1)
    refused(report, "signed-after-revocation", index + 4)
