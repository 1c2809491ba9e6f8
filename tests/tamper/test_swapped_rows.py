"""Two rows change places, bare or with every column made to fit."""

from __future__ import annotations

import pytest
from support.ledgers import Small, attack, put, refused

PAIRS = [(3, 4), (1, 5), (6, 8), (7, 10), (12, 9), (0, 13)]


@pytest.mark.parametrize("pair", PAIRS)
def test_numbers(small: Small, pair: tuple[int, int]) -> None:
    one, other = pair
    with attack(small) as db:
        for old, new in ((one, 99), (other, one), (99, other)):
            db.execute('UPDATE entries SET "index" = ? WHERE "index" = ?', [new, old])
    report = small.verify()
    refused(report, "tampered", min(pair))
    assert report.exit_code == 1


@pytest.mark.parametrize("pair", PAIRS)
def test_entries_with_their_columns(small: Small, pair: tuple[int, int]) -> None:
    entries = small.entries()
    one, other = pair
    with attack(small) as db:
        db.execute('DELETE FROM entries WHERE "index" IN (?, ?)', pair)
        put(db, one, entries[other])
        put(db, other, entries[one])
    refused(small.verify(), "tampered", min(pair))


def test_entries_without_their_columns(small: Small) -> None:
    entries = small.entries()
    with attack(small) as db:
        db.execute('UPDATE entries SET entry = ? WHERE "index" = 3', [entries[4]])
        db.execute('UPDATE entries SET entry = ? WHERE "index" = 4', [entries[3]])
    report = small.verify()
    for index in (3, 4):
        refused(report, "tampered", index)
        refused(report, "column-differs", index)


def test_leaf_hashes(small: Small) -> None:
    with attack(small) as db:
        three, four = (row[0] for row in db.execute('SELECT leaf_hash FROM entries WHERE "index" IN (3, 4)'))
        for index, leaf in ((3, b"x"), (4, three), (3, four)):
            db.execute('UPDATE entries SET leaf_hash = ? WHERE "index" = ?', [leaf, index])
    report = small.verify()
    refused(report, "tampered", 3)
    refused(report, "tampered", 4)
