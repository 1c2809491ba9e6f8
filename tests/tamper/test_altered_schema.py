"""Triggers, indexes, tables, columns and views are dropped, altered, added or hidden."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from support.ledgers import Small, attack, refused

from anvil.ledger.errors import NotALedger, SchemaAltered, StoreDamaged
from anvil.ledger.recording import Ledger
from anvil.ledger.schema import INDEXES, TABLES, TRIGGERS
from anvil.ledger.store import Store

CLI = Callable[..., tuple[int, dict[str, Any]]]


def alter(small: Small, *statements: str) -> None:
    """Run statements on the database as it is."""
    with closing(sqlite3.connect(small.place.database, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def refused_by_both(small: Small, *words: str) -> None:
    """Verification names the object, and nothing is appended."""
    report = small.verify()
    message = refused(report, "schema-altered").message
    assert all(word in message for word in words), message
    with pytest.raises(StoreDamaged):
        Ledger.open(small.place.directory)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_is_dropped(small: Small, trigger: str) -> None:
    alter(small, f"DROP TRIGGER {trigger}")
    refused_by_both(small, trigger, "missing")


def test_all_triggers_are_dropped(small: Small, cli: CLI) -> None:
    with attack(small, restore_triggers=False):
        pass
    code, report = cli(small.place.directory)
    assert code == 1
    assert len(report["findings"]) == len(TRIGGERS)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_trigger_is_altered(small: Small, trigger: str) -> None:
    other = TRIGGERS[trigger].replace("RAISE(ROLLBACK, ", "RAISE(IGNORE) WHERE 0 AND 'x' IN (")
    other = other if other != TRIGGERS[trigger] else TRIGGERS[trigger] + " "
    alter(
        small, f"DROP TRIGGER {trigger}", other.replace("RAISE(IGNORE) WHERE 0 AND 'x' IN (", "RAISE(FAIL, ")
    )
    refused_by_both(small, trigger, "altered")


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_is_dropped(small: Small, index: str) -> None:
    alter(small, f"DROP INDEX {index}")
    refused_by_both(small, index, "missing")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW extra AS SELECT * FROM entries",
        "CREATE TABLE extra (x)",
        "CREATE INDEX extra ON entries (stream)",
        "CREATE TRIGGER extra AFTER INSERT ON openings BEGIN DELETE FROM openings; END",
        "CREATE VIRTUAL TABLE extra USING fts5(x)",
    ],
)
def test_something_is_added(small: Small, statement: str) -> None:
    alter(small, statement)
    refused_by_both(small, "extra")


@pytest.mark.parametrize("table", TABLES)
def test_a_column_is_added(small: Small, table: str) -> None:
    alter(small, f"ALTER TABLE {table} ADD COLUMN extra TEXT")
    refused_by_both(small, table, "altered")


@pytest.mark.parametrize(
    ("table", "column"),
    [("entries", "campaign"), ("entries", "leaf_prefix"), ("checkpoints", "note"), ("openings", "value")],
)
def test_a_column_is_dropped(small: Small, cli: CLI, table: str, column: str) -> None:
    alter(small, "DROP INDEX entries_by_leaf", f"ALTER TABLE {table} DROP COLUMN {column}")
    refused_by_both(small, table, "altered")
    for leave_out in ((), ("--structure",)):
        code, report = cli(small.place.directory, *leave_out)
        assert (code, [f["code"] for f in report["findings"]]) == (1, ["schema-altered"])


LOOSE = {
    "a number that is text": ("entries", "index", "'abc'"),
    "a number that is bytes": ("entries", "index", "x'00'"),
    "a number without end": ("entries", "index", "9e999"),
    "a size that is text": ("checkpoints", "size", "'abc'"),
    "a size before all others": ("checkpoints", "size", "-9e999"),
}


@pytest.mark.parametrize("name", LOOSE)
def test_a_table_of_the_same_columns_takes_anything(small: Small, cli: CLI, name: str) -> None:
    """SQLite's `STRICT` is what lets readers expect a number where one stands."""
    table, column, value = LOOSE[name]
    loose = TABLES[table].replace(" INTEGER PRIMARY KEY", "").replace(" STRICT", "")
    alter(
        small,
        *(f"DROP TRIGGER {trigger}" for trigger in TRIGGERS),
        f"ALTER TABLE {table} RENAME TO kept",
        loose,
        f"INSERT INTO {table} SELECT * FROM kept",
        "DROP TABLE kept",
        f"UPDATE {table} SET [{column}] = {value} WHERE rowid = 2",
    )
    refused_by_both(small, table, "altered")
    code, report = cli(small.place.directory, "--structure")
    assert (code, [f["code"] for f in report["findings"]]) == (1, ["schema-altered"])


def test_a_table_becomes_a_view(small: Small) -> None:
    alter(small, "ALTER TABLE nodes RENAME TO kept", "CREATE VIEW nodes AS SELECT * FROM kept")
    refused_by_both(small)


HIDDEN = "CREATE TRIGGER {name} AFTER INSERT ON entries BEGIN DELETE FROM openings; END"


@pytest.mark.parametrize("name", ["sqlite_extra", "sqlite_stat1"])
def test_a_trigger_hides_behind_a_name_of_sqlite(small: Small, name: str) -> None:
    alter(
        small,
        "PRAGMA writable_schema = ON",
        f"INSERT INTO sqlite_schema VALUES ('trigger', '{name}', 'entries', 0, '{HIDDEN.format(name=name)}')",
    )
    refused_by_both(small, name)


@pytest.mark.parametrize("first", [True, False])
def test_a_trigger_hides_behind_the_name_of_a_table(small: Small, first: bool) -> None:
    # Tables and triggers do not share a namespace; whoever compares by name sees only one of them.
    number = "(SELECT MIN(rowid) FROM sqlite_schema WHERE type = 'trigger') - 1" if first else "9999"
    alter(
        small,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET rowid = rowid + 500 WHERE type = 'trigger' OR name = 'openings'",
        "INSERT INTO sqlite_schema (rowid, type, name, tbl_name, rootpage, sql) VALUES "
        f"({number}, 'trigger', 'openings', 'entries', 0, '{HIDDEN.format(name='openings')}')",
    )
    assert "openings" in refused(small.verify(), "schema-altered").message


def test_a_second_trigger_of_one_name(small: Small, cli: CLI) -> None:
    alter(
        small,
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_schema SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema "
        "WHERE name = 'entries_no_update'",
    )
    assert cli(small.place.directory)[0] in (1, 3)


def test_another_application(small: Small, cli: CLI) -> None:
    alter(small, "PRAGMA application_id = 7")
    assert cli(small.place.directory)[0] == 3


def test_another_schema_version(small: Small, cli: CLI) -> None:
    alter(small, "PRAGMA user_version = 7")
    assert cli(small.place.directory)[0] == 3


def test_a_database_of_the_schema_before_this_one(small: Small, cli: CLI) -> None:
    """It is not tampered with: it is told to be older, and by which way its log is verified all the same."""
    alter(
        small,
        "DROP INDEX entries_by_leaf",
        "ALTER TABLE entries DROP COLUMN leaf_prefix",
        "CREATE UNIQUE INDEX entries_by_leaf ON entries (leaf_hash)",
        "PRAGMA user_version = 1",
    )
    code, report = cli(small.place.directory)
    assert code == 3
    assert "schema version 1, this build reads 2" in report["error"]
    assert "anvil verify --tiles" in " ".join(report["error"].split())
    with pytest.raises(NotALedger, match="schema version 1"):
        Ledger.open(small.place.directory)


@pytest.mark.parametrize(
    "name", ["index", "leaf_hash", "entry", "event", "stream", "stream_seq", "campaign", "leaf_prefix"]
)
def test_a_column_has_another_name(small: Small, name: str) -> None:
    # In double quotes SQLite would take the old name for a piece of text, and `MAX("index")` for "index".
    alter(
        small,
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_schema SET sql = replace(sql, '{name}', '{name[:-1]}_') WHERE name = 'entries'",
    )
    assert small.verify().exit_code == 1


@pytest.mark.parametrize("table", ["ledger", "entries", "nodes", "checkpoints", "openings"])
@pytest.mark.parametrize("name", [str.lower, str.upper])
def test_a_table_becomes_a_view_that_never_ends(
    small: Small, cli: CLI, table: str, name: Callable[[str], str]
) -> None:
    columns = {"ledger": "x AS origin, x AS format", "checkpoints": "x AS size, x AS note"}.get(table, "x")
    endless = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    alter(small, f"DROP TABLE {table}", f"CREATE VIEW {name(table)} AS {endless} SELECT {columns} FROM c")
    code, report = cli(small.place.directory)
    assert (code, [f["code"] for f in report["findings"]]) == (1, ["schema-altered"])
    for refusing in (Store.open, Store.open_readonly):
        with pytest.raises(SchemaAltered, match=f"{table} is a view"):
            refusing(small.place.database)


def test_what_a_stranger_wrote_into_an_index_is_not_carried_out(small: Small) -> None:
    """SQLite's own check of a file evaluates it for every row, and it can be any work; this one would only fail."""
    alter(
        small,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = sql || ' WHERE abs(stream_seq - stream_seq - 9223372036854775807 - 1)' "
        "WHERE name = 'entries_by_event'",
    )
    refused_by_both(small, "entries_by_event", "altered")
    assert {finding.code for finding in small.verify().findings} == {"schema-altered"}


@pytest.mark.parametrize("name", ["ledger.db", "log.vkey"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(small: Small, cli: CLI, name: str) -> None:
    (small.place.directory / name).unlink()
    os.mkfifo(small.place.directory / name)
    code, report = cli(small.place.directory)
    assert code == 3
    assert name in report["error"]
