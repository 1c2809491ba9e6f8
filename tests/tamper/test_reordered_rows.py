"""The log in another order: events inside a stream, and whole streams."""

from __future__ import annotations

from support.ledgers import Small, attack, refused, rewrite


def test_events_of_one_stream(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, [*entries[:3], entries[4], entries[3], *entries[5:]])
    report = small.verify()
    refused(report, "chain-broken", 3)
    refused(report, "tampered", 3)


def test_whole_streams(small: Small) -> None:
    # Chains hold, since they do not depend on the log; the order across streams is the tree's.
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[:2] + entries[6:8] + entries[2:6] + entries[8:])
    refused(small.verify(), "tampered", 2)


def test_whole_streams_with_the_checkpoints_kept(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        notes = db.execute("SELECT * FROM checkpoints").fetchall()
        rewrite(db, entries[:2] + entries[6:8] + entries[2:6] + entries[8:])
        db.executemany("INSERT OR REPLACE INTO checkpoints VALUES (?,?)", notes)
    refused(small.verify(anchored=False), "tampered", 2)


def test_everything_backwards(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[::-1])
    report = small.verify()
    assert report.exit_code == 1
    refused(report, "not-permitted", len(entries) - 1)
