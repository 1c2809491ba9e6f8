"""Events about keys are forged: to bring in a key, or to take one out."""

from __future__ import annotations

import pytest
from support.ledgers import ATTACKER, SIZE, Pretends, Small, attack, push, refused, said, session

from anvil.ledger.events import KeyAdded, KeyRevoked, TreeState
from anvil.ledger.public import Role
from anvil.ledger.signing import PrivateKey

THEIRS = "20261130T072616Z-00000000000000cc"


def added(key: PrivateKey, role: Role = "operator") -> KeyAdded:
    return KeyAdded(role=role, public_key=key.public_key.raw.hex())


def push_with_stream_of_attacker(small: Small, entries: list[bytes]) -> None:
    with attack(small) as db:
        push(db, *entries, *session(small.origin, ATTACKER, said("mine"), stream=THEIRS))


def test_an_added_key_without_its_own_signature(small: Small) -> None:
    push_with_stream_of_attacker(small, session(small.origin, small.key("root"), added(ATTACKER)))
    report = small.verify()
    refused(report, "not-permitted", SIZE + 1)
    refused(report, "unknown-key", SIZE + 3)


def test_an_added_key_whose_own_signature_is_forged(small: Small) -> None:
    victim = PrivateKey.generate()
    event = added(victim)
    with attack(small) as db:
        push(db, *session(small.origin, small.key("root"), event, cosigners=[_Forged(victim)]))
    refused(small.verify(), "tampered", SIZE + 1)


class _Forged(Pretends):
    def __init__(self, key: PrivateKey) -> None:
        super().__init__(key.public_key)


@pytest.mark.parametrize("signatures", [True, False])
def test_roots_signature_is_forged(small: Small, signatures: bool) -> None:
    root = Pretends(small.key("root").public_key)
    push_with_stream_of_attacker(
        small, session(small.origin, root, added(ATTACKER), cosigners=[ATTACKER], stream=THEIRS[:-2] + "dd")
    )
    report = small.verify(signatures=signatures)
    refused(report, "tampered", SIZE + 1)


def test_a_ledger_key_is_forged_in_and_signs_a_checkpoint(small: Small) -> None:
    from support.ledgers import sign_head

    root = Pretends(small.key("root").public_key)
    with attack(small) as db:
        push(db, *session(small.origin, root, added(ATTACKER, "ledger"), cosigners=[ATTACKER]))
        sign_head(db, small.origin, ATTACKER)
    refused(small.verify(signatures=False), "tampered", SIZE + 1)


def test_an_unsafe_key(small: Small) -> None:
    neutral = PrivateKey.generate().public_key.raw[:0] + b"\x01" + b"\x00" * 31
    event = KeyAdded(role="operator", public_key=neutral.hex())
    with attack(small) as db:
        push(db, *session(small.origin, small.key("root"), event))
    refused(small.verify(), "not-permitted", SIZE + 1)


def test_a_key_in_a_second_role(small: Small) -> None:
    collector = small.key("collector")
    with attack(small) as db:
        push(db, *session(small.origin, small.key("root"), added(collector), cosigners=[collector]))
    refused(small.verify(), "not-permitted", SIZE + 1)


@pytest.mark.parametrize(
    ("role", "good", "index"),
    [("root", 2, "root"), ("ledger", 2, "ledger"), ("operator", 999, "operator")],
)
def test_a_revocation_that_the_rules_do_not_allow(small: Small, role: Role, good: int, index: Role) -> None:
    state = TreeState(origin=small.origin, size=good, root="00" * 32)
    event = KeyRevoked(key=small.key(index).public_key.key_id, last_good=state, cause="lost")
    with attack(small) as db:
        push(db, *session(small.origin, small.key("root"), event))
    refused(small.verify(), "not-permitted", SIZE + 1)


def test_a_revocation_by_a_forged_root_signature_disowns_nothing(small: Small) -> None:
    state = TreeState(origin=small.origin, size=0, root="00" * 32)
    event = KeyRevoked(key=small.key("operator").public_key.key_id, last_good=state, cause="compromised")
    with attack(small) as db:
        push(db, *session(small.origin, Pretends(small.key("root").public_key), event))
    report = small.verify()
    refused(report, "tampered", SIZE + 1)
    assert "disowned" not in {f.code for f in report.findings}
