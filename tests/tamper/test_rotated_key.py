"""A key that was rotated away opens a new stream, or its place is taken by a forged rotation."""

from __future__ import annotations

from support.ledgers import ATTACKER, SIZE, Pretends, Small, attack, push, refused, said, session

from anvil.ledger.events import KeyRotated
from anvil.ledger.keychanges import find_key, new_signer, rotate_key
from anvil.ledger.recording import Ledger
from anvil.ledger.signing import PublicKey, Signer

STREAMS = [f"20261130T072616Z-{n:016x}" for n in range(0xC0, 0xC4)]


def rotate(small: Small) -> int:
    with Ledger.open(small.place.directory) as ledger:
        rotate_key(
            ledger,
            find_key(ledger, "operator"),
            new_signer(ledger, "operator", agent_key=None, encrypt=False),
        )
        return ledger.store.size()


def test_the_old_key_opens_a_stream(small: Small) -> None:
    size = rotate(small)
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), said("late")))
    refused(small.verify(), "not-permitted", size)


def test_the_old_key_finishes_a_stream(small: Small) -> None:
    entries = session(small.origin, small.key("operator"), said("in time"))
    with attack(small) as db:
        push(db, entries[0])
    rotate(small)
    with attack(small) as db:
        push(db, *entries[1:])
    assert small.verify().exit_code == 0


def forged(old: PublicKey, new: PublicKey = ATTACKER.public_key) -> KeyRotated:
    return KeyRotated(old_key=old.key_id, new_public_key=new.raw.hex())


def test_forged(small: Small) -> None:
    operator = small.key("operator").public_key
    root, event = small.key("root"), forged(operator)
    attempts: list[tuple[Signer, list[Signer], str]] = [
        (root, [ATTACKER], "not-permitted"),  # the old key did not sign
        (root, [small.key("operator")], "not-permitted"),  # the new key did not sign
        (root, [Pretends(operator), ATTACKER], "tampered"),  # the old key's signature is forged
        (Pretends(root.public_key), [Pretends(operator), ATTACKER], "tampered"),
    ]
    for signer, cosigners, code in attempts:
        stream = session(small.origin, signer, event, cosigners=cosigners, stream=STREAMS[0])
        theirs = session(small.origin, ATTACKER, said("mine"), stream=STREAMS[1])
        with attack(small) as db:
            db.execute('DELETE FROM entries WHERE "index" >= ?', [SIZE])
            push(db, *stream, *theirs)
        refused(small.verify(), code, SIZE + 1)  # type: ignore[arg-type]


def test_twice(small: Small) -> None:
    size = rotate(small)
    operator, new = small.key("operator"), ATTACKER
    event = forged(operator.public_key)
    with attack(small) as db:
        push(db, *session(small.origin, small.key("root"), event, cosigners=[operator, new]))
    refused(small.verify(), "not-permitted", size + 1)


def test_to_a_key_that_is_known_in_another_role(small: Small) -> None:
    operator, collector = small.key("operator"), small.key("collector")
    event = forged(operator.public_key, collector.public_key)
    with attack(small) as db:
        push(db, *session(small.origin, small.key("root"), event, cosigners=[operator, collector]))
    refused(small.verify(), "not-permitted", SIZE + 1)
