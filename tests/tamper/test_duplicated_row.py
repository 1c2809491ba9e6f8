"""A genuine event is put into the log a second time."""

from __future__ import annotations

import sqlite3

import pytest
from support.ledgers import PUBLIC, SIZE, Small, attack, push, refused, rewrite

from anvil.ledger.schema import INDEXES


@pytest.mark.parametrize("index", [0, PUBLIC, 6, SIZE - 1])
def test_at_the_end(small: Small, index: int) -> None:
    entry = small.entries()[index]
    with attack(small) as db:
        with pytest.raises(sqlite3.IntegrityError):
            push(db, entry)
        db.execute("DROP INDEX entries_by_stream")
        push(db, entry)
    report = small.verify()
    refused(report, "schema-altered")
    refused(report, "chain-broken" if index else "not-permitted", SIZE)


def test_with_other_columns_so_that_the_index_stands(small: Small) -> None:
    with attack(small) as db:
        db.execute(
            "INSERT INTO entries SELECT ?, x'00', entry, event, stream, 99, campaign, leaf_prefix FROM entries WHERE \"index\" = ?",
            [SIZE, PUBLIC],
        )
    report = small.verify()
    for code in ("tampered", "column-differs", "chain-broken"):
        refused(report, code, SIZE)  # type: ignore[arg-type]


def test_with_the_index_pasted_back(small: Small) -> None:
    with attack(small) as db:
        roots = dict(db.execute("SELECT name, rootpage FROM sqlite_schema WHERE type = 'index'"))
        db.execute("PRAGMA writable_schema = ON")
        name = "entries_by_stream"
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'UNIQUE ', '') WHERE name = ?", [name])
        db.execute("PRAGMA schema_version = 9000")
    entry = small.entries()[PUBLIC]
    with sqlite3.connect(small.place.database, isolation_level=None) as db:
        for trigger in [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]:
            db.execute(f"DROP TRIGGER {trigger}")
        push(db, entry)
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", [INDEXES[name], name])
        assert name in roots
    report = small.verify()
    refused(report, "store-damaged")
    refused(report, "chain-broken", SIZE)


def test_in_the_middle(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        db.execute("DROP INDEX entries_by_stream")
        rewrite(db, [*entries[:5], entries[PUBLIC], *entries[5:]])
    report = small.verify()
    refused(report, "chain-broken", 5)
    refused(report, "tampered", 5)
