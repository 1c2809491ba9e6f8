"""The schema against a connection that is not ours: history is not rewritten, and appending stays cheap."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.ledgers import SIZE, Small, small_ledger

from anvil.ledger.schema import STATEMENTS, TABLES, leaf_prefix


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of another tool to a ledger: with SQLite's defaults, and no transaction of its own making."""
    small: Small = small_ledger(tmp_path / "ledger")
    with closing(sqlite3.connect(small.place.database, isolation_level=None)) as connection:
        yield connection


def rows(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}


REWRITINGS = {
    "replace_entry": 'INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE "index" = 3',
    "skip_an_index": f"INSERT INTO entries SELECT {SIZE + 1}, leaf_hash, entry, event, 's', 0, campaign, 0 FROM entries",
    "update_entry": "UPDATE entries SET campaign = 'another'",
    "update_or_ignore_prefix": "UPDATE OR IGNORE entries SET leaf_prefix = 0",
    "delete_entry": 'DELETE FROM entries WHERE "index" = 3',
    "replace_checkpoint": "INSERT OR REPLACE INTO checkpoints SELECT * FROM checkpoints",
    "delete_checkpoint": "DELETE FROM checkpoints",
    "update_opening": "UPDATE openings SET value = x'00'",
    "replace_opening": "INSERT OR REPLACE INTO openings SELECT commitment, salt, x'00' FROM openings",
    "another_ledger": "INSERT INTO ledger VALUES ('other.test.invalid/1', 'anvil-ledger/1')",
    "rename_the_ledger": "UPDATE ledger SET origin = 'other.test.invalid/1'",
}


@pytest.mark.parametrize("name", REWRITINGS)
def test_what_rewrites_history_is_refused_and_its_whole_transaction_undone(
    foreign: sqlite3.Connection, name: str
) -> None:
    before = rows(foreign)
    foreign.execute("BEGIN")
    foreign.execute("INSERT INTO openings VALUES ('c', x'00', x'01')")  # allowed by itself
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        foreign.execute(REWRITINGS[name])
    assert not foreign.in_transaction
    assert rows(foreign) == before


@pytest.mark.parametrize("table", TABLES)
def test_no_function_is_called_for_a_row(table: str) -> None:
    """Where one is, SQLite copies each page before each row, in case the function fails (rule 6 of the schema)."""
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in STATEMENTS.values():
            db.execute(statement)
        width = len(db.execute(f"SELECT * FROM {table} LIMIT 0").description)
        marks = ",".join("?" * width)
        steps = db.execute(f"EXPLAIN INSERT OR ROLLBACK INTO {table} VALUES ({marks})", [None] * width)
        named = {step[1] for step in steps}
    assert "Program" in named  # the trigger's
    assert not named & {"Function", "PureFunc"}


@pytest.mark.parametrize(
    ("leaf", "number"),
    [
        (bytes(32), 0),
        (b"\xff" * 32, -1),
        (b"\x7f" + b"\xff" * 31, 2**63 - 1),
        (b"\x80" + bytes(31), -(2**63)),
    ],
)
def test_a_leaf_hash_is_looked_up_by_a_number_that_sqlite_can_hold(leaf: bytes, number: int) -> None:
    assert leaf_prefix(leaf) == number
    with closing(sqlite3.connect(":memory:")) as db:
        assert db.execute("SELECT ?, typeof(?1)", [number]).fetchone() == (number, "integer")
