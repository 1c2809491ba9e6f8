"""A genuine event is replayed: into another stream, into another ledger, or a whole stream once more."""

from __future__ import annotations

from pathlib import Path

from support.ledgers import (
    OTHER_STREAM,
    PUBLIC,
    SIZE,
    STREAM,
    Small,
    attack,
    forge,
    header_in,
    push,
    refused,
    rewrite,
    said,
    session,
    small_ledger,
)


def test_into_another_stream_by_its_column(small: Small) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), close=False))
        db.execute(
            "INSERT INTO entries SELECT ?, x'00', entry, event, ?, 1, campaign, leaf_prefix FROM entries WHERE \"index\" = ?",
            [SIZE + 1, STREAM, PUBLIC],
        )
    report = small.verify()
    refused(report, "column-differs", SIZE + 1)
    refused(report, "chain-broken", SIZE + 1)


def test_into_another_stream_by_a_signer_of_both(small: Small) -> None:
    # The link is inside what is signed, so even the signer cannot let one signature serve twice.
    key = small.key("operator")
    one = session(small.origin, key, said("once"), close=False)
    other = session(small.origin, key, stream=OTHER_STREAM, close=False)
    moved = forge(
        small.origin,
        said("once"),
        key,
        stream=OTHER_STREAM,
        stream_seq=1,
        stream_prev=header_in(one[1]).stream_prev,
    )
    with attack(small) as db:
        push(db, *one, *other, moved)
    refused(small.verify(), "chain-broken", SIZE + 3)


def test_into_another_ledger(small: Small, tmp_path: Path) -> None:
    other = small_ledger(tmp_path / "other")
    with attack(small) as db:
        push(db, *other.entries()[2:6])
    report = small.verify()
    for index in range(SIZE, SIZE + 4):
        refused(report, "not-permitted", index)


def test_a_whole_stream_once_more(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        db.execute("DROP INDEX entries_by_stream")
        rewrite(db, entries + entries[2:6])
    refused(small.verify(), "chain-broken", SIZE)
