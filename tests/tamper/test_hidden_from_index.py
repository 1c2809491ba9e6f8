"""A row is in its table and not in an index: whoever looks it up does not find it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from support.disclosing import disclosed
from support.ledgers import SEALED, SIZE, Small, attack, push, refused, said, session

from anvil.ledger.keychanges import find_key, revoke_key
from anvil.ledger.recording import Ledger


def hide(small: Small, index: str, first: int) -> None:
    """Write the rows from `first` on anew while the index is not there, then put it back as it was."""
    with attack(small) as db:
        saved = db.execute("SELECT * FROM sqlite_schema WHERE name = ?", [index]).fetchone()
        rows = db.execute('SELECT * FROM entries WHERE "index" >= ?', [first]).fetchall()
        db.execute('DELETE FROM entries WHERE "index" >= ?', [first])
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_schema WHERE name = ?", [index])
        db.execute("PRAGMA writable_schema = RESET")
    with attack(small) as db:
        db.executemany("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?)", rows)
        db.execute("PRAGMA writable_schema = ON")
        db.execute("INSERT INTO sqlite_schema VALUES (?,?,?,?,?)", saved)
        db.execute("PRAGMA writable_schema = RESET")
    with closing(sqlite3.connect(small.place.database)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() != ("ok",)


@pytest.mark.parametrize("whole", [True, False])
def test_a_revocation(small: Small, whole: bool) -> None:
    state = small.state()
    with Ledger.open(small.place.directory) as ledger:
        revoke_key(ledger, find_key(ledger, "operator"), "compromised", None)
        size = ledger.store.size()
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), said("late")))
    hide(small, "entries_by_event", SIZE)
    report = small.verify(state=None if whole else state)
    assert report.exit_code == 1
    if whole:
        refused(report, "store-damaged")
    else:
        refused(report, "signed-after-revocation", size)


@pytest.mark.parametrize("how", ["the prefix is another", "the index has not the row"])
def test_what_a_false_disclosure_names(small: Small, how: str) -> None:
    """A verification from the middle on reads no older row; hidden, its target must not look as if it were none."""
    state = small.state()
    lie = disclosed(small, digest="sha256:" + "0" * 64)
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), lie))
        if how == "the prefix is another":
            db.execute('UPDATE entries SET leaf_prefix = 0 WHERE "index" = ?', [SEALED])
    if how == "the index has not the row":
        hide(small, "entries_by_leaf", SEALED)
    refused(small.verify(state=state), "sealed-altered", SIZE + 1)
