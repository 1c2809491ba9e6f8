"""Stored tree hashes are altered: roots and proofs would come out wrong."""

from __future__ import annotations

import pytest
from support.ledgers import Small, attack, found, push, refused, said, session, sign_head

from anvil.ledger.errors import LedgerError, StoreDamaged
from anvil.ledger.recording import Ledger


@pytest.fixture
def tall(small: Small) -> Small:
    """A ledger of 3 complete subtrees of 256 events."""
    key = small.key("operator")
    with Ledger.open(small.place.directory) as ledger:
        from anvil.ledger.drafts import Draft
        from anvil.ledger.streams import record

        record(ledger, key, [Draft(said("x"))] * 800, purpose="observation")
    assert small.verify().exit_code == 0
    return small


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("change", ["UPDATE nodes SET hash = zeroblob(32)", "DELETE FROM nodes"])
def test_one(tall: Small, position: int, change: str) -> None:
    with attack(tall) as db:
        db.execute(f"{change} WHERE position = ?", [position])
    finding = refused(tall.verify(), "tree-differs", position * 256)
    assert (finding.index, finding.until) == (position * 256, position * 256 + 256)


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO nodes VALUES (8, 3, zeroblob(32))",
        "INSERT INTO nodes VALUES (16, 0, zeroblob(32))",
        "UPDATE nodes SET hash = x''",
        "UPDATE nodes SET level = 16",
        "DELETE FROM nodes",
    ],
)
def test_others(tall: Small, change: str) -> None:
    with attack(tall) as db:
        db.execute(change)
    refused(tall.verify(), "tree-differs")


def test_two_change_places(tall: Small) -> None:
    with attack(tall) as db:
        for old, new in ((0, 99), (1, 0), (99, 1)):
            db.execute("UPDATE nodes SET position = ? WHERE position = ?", [new, old])
    report = tall.verify()
    refused(report, "tree-differs", 0)
    refused(report, "tree-differs", 256)


def test_nothing_is_appended_to_a_tree_that_does_not_fit(tall: Small) -> None:
    with attack(tall) as db:
        db.execute("UPDATE nodes SET hash = zeroblob(32) WHERE position = 1")
    with pytest.raises(LedgerError):
        Ledger.open(tall.place.directory)
    assert issubclass(StoreDamaged, LedgerError)


def test_an_entry_below_a_stored_hash(tall: Small) -> None:
    entries = tall.entries()
    with attack(tall) as db:
        db.execute('UPDATE entries SET entry = ? WHERE "index" = 300', [entries[301]])
    report = tall.verify()
    refused(report, "tampered", 300)
    found(report, "tree-differs", 256)


def test_a_whole_complete_subtree_of_rows_is_deleted(tall: Small) -> None:
    with attack(tall) as db:
        db.execute('DELETE FROM entries WHERE "index" >= 256 AND "index" < 512')
    refused(tall.verify(), "tampered", 256)


def test_a_second_history_with_its_stored_hashes(tall: Small) -> None:
    from support.ledgers import rewrite

    entries = tall.entries()
    with attack(tall) as db:
        rewrite(db, entries[:14] + session(tall.origin, tall.key("operator")) + entries[14:])
        sign_head(db, tall.origin, tall.key("ledger"))
        push(db)
    refused(tall.verify(), "split-view", 14, exit_code=4)
