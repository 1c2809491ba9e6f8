"""Measure 1: one event, one durable transaction, against a bare script that inserts the same bytes."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from ledgers import drafts, empty, streams
from measure import Row, Setting, interleaved, seconds
from sqlite_utils.utils import sqlite3

from anvil.ledger.recording import Ledger
from anvil.ledger.sqlite import PAGE_SIZE, WAL_PAGES

APPENDS = 400


def measure(setting: Setting) -> list[Row]:
    site = empty(setting.folder / "single")
    draft = drafts(1)
    with (
        Ledger.open(site.place.directory) as ledger,
        streams(ledger) as open_streams,
        closing(_bare_database(setting.folder / "single.db")) as bare,
    ):
        turn = count()
        open_streams[0].append(draft)
        row = next(ledger.store.rows(ledger.store.size() - 1, ledger.store.size()))
        ours, floor = interleaved(
            APPENDS,
            lambda: seconds(lambda: open_streams[next(turn) % len(open_streams)].append(draft)),
            lambda: seconds(lambda: _insert(bare, row)),
        )
    name = "the same bytes inserted by a bare SQLite script"
    return [Row("durable single append, p50", ours * 1e6, "us", 2.0, floor * 1e6, name)]


def _bare_database(path: Path) -> Any:
    """Return a database with the pragmas of a ledger, one table, and neither triggers nor indexes."""
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in (
        f"page_size = {PAGE_SIZE}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "secure_delete = ON",
        f"wal_autocheckpoint = {WAL_PAGES}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(
        "CREATE TABLE entries ("
        "id INTEGER PRIMARY KEY, leaf_hash BLOB, entry BLOB, event TEXT, stream TEXT, seq INTEGER, campaign TEXT,"
        "prefix INTEGER"
        ") STRICT"
    )
    return connection


def _insert(connection: Any, row: tuple[Any, ...]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO entries VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row[1:])
    connection.execute("COMMIT")
