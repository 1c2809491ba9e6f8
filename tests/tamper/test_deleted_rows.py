"""Rows are deleted: from the middle, from the start, whole streams, with and without renumbering."""

from __future__ import annotations

import pytest
from support.ledgers import PUBLIC, SIZE, Small, attack, refused, rewrite


@pytest.mark.parametrize("index", range(SIZE - 1))
def test_one_row(small: Small, index: int) -> None:
    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" = ?', [index])
    finding = refused(small.verify(), "tampered", index)
    assert finding.message == f"entry {index} is gone, though there are later ones"


@pytest.mark.parametrize("stream", [(2, 6), (6, 8), (8, 11)])
def test_a_whole_stream(small: Small, stream: tuple[int, int]) -> None:
    # Every other stream still chains, and the shorter tree never reaches the size of the last checkpoint.
    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" >= ? AND "index" < ?', stream)
    refused(small.verify(), "tampered", stream[0])
    refused(small.verify(anchored=False), "tampered", stream[0])


@pytest.mark.parametrize("stream", [(2, 6), (6, 8), (8, 11)])
def test_a_whole_stream_and_the_rest_moves_up(small: Small, stream: tuple[int, int]) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[: stream[0]] + entries[stream[1] :])
    refused(small.verify(), "rolled-back", exit_code=4)


def test_one_event_and_the_rest_moves_up(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[:PUBLIC] + entries[PUBLIC + 1 :])
    finding = refused(small.verify(anchored=False), "chain-broken", PUBLIC)
    assert finding.stream == small.header(PUBLIC).stream


def test_a_stream_and_the_rest_moves_up_without_an_anchor(small: Small) -> None:
    # Whole sessions can be left out of a copy unless a checkpoint covers them: that is what anchors are for.
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[:6] + entries[8:])
    assert small.verify(anchored=False).exit_code == 3


def test_the_newest_checkpoint(small: Small) -> None:
    with attack(small) as db:
        db.execute("DELETE FROM checkpoints WHERE size = ?", [SIZE])
    refused(small.verify(), "checkpoint-invalid", SIZE - 1)


def test_every_checkpoint(small: Small) -> None:
    with attack(small) as db:
        db.execute("DELETE FROM checkpoints")
    refused(small.verify(), "checkpoint-invalid", SIZE - 1)


def test_an_older_checkpoint_proves_nothing_that_the_newest_does_not(small: Small) -> None:
    with attack(small) as db:
        db.execute("DELETE FROM checkpoints WHERE size = 6")
    assert small.verify().exit_code == 0


def test_the_ledgers_own_row(small: Small) -> None:
    with attack(small) as db:
        db.execute("DELETE FROM ledger")
    refused(small.verify(anchored=False), "schema-altered")
