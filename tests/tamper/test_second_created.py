"""A second ``ledger.created``: of this ledger, of another one, or announced as a predecessor."""

from __future__ import annotations

import pytest
from support.ledgers import ATTACKER, OTHER_STREAM, SIZE, Small, attack, forge, push, refused, rewrite

from anvil.ledger.events import InitialKey, LedgerCreated, Predecessor, TreeState
from anvil.ledger.signing import PrivateKey

LEDGER_KEY = PrivateKey.from_seed(b"l" * 32)


def created(origin: str, predecessor: Predecessor | None = None) -> LedgerCreated:
    keys = tuple(
        InitialKey(role=role, public_key=key.public_key.raw.hex())  # type: ignore[arg-type]
        for role, key in (("root", ATTACKER), ("ledger", LEDGER_KEY))
    )
    return LedgerCreated(origin=origin, keys=keys, predecessor=predecessor, software="0.1.0")


@pytest.mark.parametrize("own", [True, False])
def test_at_the_end(small: Small, own: bool) -> None:
    home = small.origin if own else "other.test.invalid/x-00000000"
    with attack(small) as db:
        push(db, forge(home, created(home), ATTACKER, LEDGER_KEY))
    refused(small.verify(), "not-permitted", SIZE)


def test_in_place_of_the_first(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, [forge(small.origin, created(small.origin), ATTACKER, LEDGER_KEY), *entries[1:]])
    report = small.verify()
    refused(report, "other-ledger", 0)
    refused(report, "tampered", 0)
    refused(report, "unknown-key", 2)


def test_before_the_first(small: Small) -> None:
    home = "other.test.invalid/x-00000000"
    with attack(small) as db:
        rewrite(db, [forge(home, created(home), ATTACKER, LEDGER_KEY), *small.entries()])
    refused(small.verify(), "not-permitted", 0)


def test_that_announces_this_ledger_as_its_predecessor_inside_it(small: Small) -> None:
    state = TreeState(origin=small.origin, size=1, root="00" * 32)
    before = Predecessor(
        key=str(small.vkey), restored=state, restored_checkpoint=None, anchored_checkpoint=None, lost=0
    )
    home = small.origin
    one = forge(home, created(home, before), ATTACKER, LEDGER_KEY)
    other = forge(home, created(home), ATTACKER, LEDGER_KEY, stream=OTHER_STREAM)
    with attack(small) as db:
        push(db, one, other)
    report = small.verify()
    refused(report, "not-permitted", SIZE)
    refused(report, "not-permitted", SIZE + 1)
