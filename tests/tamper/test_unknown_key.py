"""A key that the ledger never introduced signs, under its own name or under another's."""

from __future__ import annotations

from support.ledgers import ATTACKER, SIZE, Pretends, Small, attack, push, refused, said, session

from anvil.ledger.keychanges import add_key
from anvil.ledger.recording import Ledger


def test_under_its_own_name(small: Small) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, ATTACKER, said("x")))
    refused(small.verify(), "unknown-key", SIZE)


def test_under_anothers_name(small: Small) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, Pretends(small.key("operator").public_key), said("x")))
    report = small.verify()
    for index in range(SIZE, SIZE + 3):
        refused(report, "tampered", index)


def test_before_it_was_introduced(small: Small) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, ATTACKER, said("x")))
    with Ledger.open(small.place.directory) as ledger:
        add_key(ledger, "operator", ATTACKER)
    refused(small.verify(), "unknown-key", SIZE)


def test_a_header_that_names_another_key_than_the_signature(small: Small) -> None:
    from support.signed import sign

    from anvil.ledger.envelope import Envelope

    entries = session(small.origin, small.key("operator"), said("x"))
    swapped = [sign(Envelope.parse(entry).header, [small.key("collector")]).encode() for entry in entries]
    with attack(small) as db:
        push(db, *swapped)
    refused(small.verify(), "not-permitted", SIZE)
