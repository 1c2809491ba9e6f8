"""Rows are added: where the log looks, and where nobody looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import (
    ATTACKER,
    SIZE,
    Small,
    attack,
    push,
    put,
    refused,
    rewrite,
    said,
    session,
    sign_head,
)

CLI = Callable[..., tuple[int, dict[str, Any]]]


def test_a_forged_stream_at_the_end(small: Small, cli: CLI) -> None:
    with attack(small) as db:
        push(db, *session(small.origin, ATTACKER, said("forged")))
    report = small.verify()
    for index in (SIZE, SIZE + 1, SIZE + 2):
        refused(report, "unknown-key", index)
    code, printed = cli(small.place.directory)
    assert code == 1
    assert {f["index"] for f in printed["findings"]} == {SIZE, SIZE + 1, SIZE + 2}


def test_a_forged_stream_in_the_middle(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[:6] + session(small.origin, ATTACKER, said("forged")) + entries[6:])
    report = small.verify()
    refused(report, "unknown-key", 7)
    refused(report, "tampered", 7)


def test_a_genuine_stream_of_a_stolen_key_in_the_middle(small: Small) -> None:
    # Every signature is good: the tree alone tells.
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[:6] + session(small.origin, small.key("operator"), said("forged")) + entries[6:])
    report = small.verify()
    assert [f.code for f in report.findings] == ["uncovered", "checkpoint-invalid", "tampered"]
    refused(report, "tampered", 7)


@pytest.mark.parametrize("index", [-1, -3, -(2**63)])
def test_below_the_log(small: Small, index: int) -> None:
    with attack(small) as db:
        put(db, index, session(small.origin, ATTACKER)[0])
    refused(small.verify(), "tampered", index)


@pytest.mark.parametrize("index", [SIZE + 1, 10**6, 2**53, 2**63 - 1])
def test_far_beyond_the_log(small: Small, index: int) -> None:
    with attack(small) as db:
        put(db, index, session(small.origin, ATTACKER)[0])
    refused(small.verify(), "tampered", SIZE)


def test_bytes_that_are_no_entry(small: Small) -> None:
    with attack(small) as db:
        db.execute("INSERT INTO entries VALUES (?, x'00', x'00', 'stream.opened/1', 's', 0, NULL, 0)", [SIZE])
    refused(small.verify(), "non-canonical", SIZE)


@pytest.mark.parametrize("size", [-1, 0])
def test_a_checkpoint_of_no_size(small: Small, size: int) -> None:
    with attack(small) as db:
        db.execute("INSERT INTO checkpoints VALUES (?, x'00')", [size])
    refused(small.verify(), "checkpoint-invalid", size)


@pytest.mark.parametrize(
    "place", [(8, 0), (8, -1), (-1, 0), (0, 0), (9, 0), (64, 0), (2**62, 1), (-(2**63), 1)]
)
def test_a_tree_hash(small: Small, place: tuple[int, int]) -> None:
    with attack(small) as db:
        db.execute("INSERT INTO nodes VALUES (?, ?, x'00')", place)
    refused(small.verify(), "tree-differs")


def test_an_opening_that_belongs_to_nothing(small: Small) -> None:
    with attack(small) as db:
        db.execute("INSERT INTO openings VALUES (?, x'00', x'00')", ["0" * 64])
    refused(small.verify(), "sealed-altered")


@pytest.mark.parametrize("origin", ["a.test.invalid", "z.test.invalid"])
def test_another_ledgers_row(small: Small, origin: str) -> None:
    with attack(small) as db:
        db.execute("INSERT INTO ledger VALUES (?, 'anvil-ledger/1')", [origin])
    refused(small.verify(anchored=False), "schema-altered")


def test_an_uncovered_stream_of_a_stolen_key_is_an_append(small: Small) -> None:
    # Whoever holds a key that may record can record. What the ledger key has not covered yet is the
    # signer's word alone; revoking the key disowns it.
    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), said("forged")))
        sign_head(db, small.origin, small.key("ledger"))
    assert small.verify().exit_code == 0
