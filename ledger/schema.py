"""The database schema: tables, indexes and the triggers that keep history from being rewritten.

1. ``entries`` holds the log. ``entry`` is the truth; the other columns repeat what the entry says,
   for lookups, and verification compares them.
2. ``nodes`` holds the roots of complete subtrees of 256, 65,536, … leaves, so that a root or a
   proof needs a few hundred hashes and no scan. ``checkpoints`` holds what the ledger key signed.
3. ``openings`` holds salts and values of commitments. It is the one table from which a row may be
   deleted: that is what redaction is.
4. Leaf hashes are looked up by their first eight bytes, as a number (`leaf_prefix`): an index of all 32 is a
   third of what a batch writes, since each hash falls on another page.
5. No trigger allows an update. Entries, nodes, checkpoints and the ledger's own row allow no
   delete, and no insert except the next one in order: without that, ``INSERT OR REPLACE`` rewrites
   a row on any connection that leaves ``recursive_triggers`` off, which is SQLite's default.
6. A trigger that refuses rolls the whole transaction back, as `store` does in any case. So SQLite has nothing
   to undo by itself, and need not copy each page before each row; a function in an index, which could fail in
   the middle of a row, would make it do so again.

Whoever can write the file can drop the triggers; they stop mistakes and foreign tools, and
verification stops the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

APPLICATION_ID = 0x616E766C  # "anvl"
SCHEMA_VERSION = 2
"""1 had no `leaf_prefix`, and an index of whole leaf hashes."""

TABLES = {
    "ledger": """CREATE TABLE ledger (
  origin TEXT PRIMARY KEY,
  format TEXT NOT NULL
) STRICT, WITHOUT ROWID""",
    "entries": """CREATE TABLE entries (
  "index" INTEGER PRIMARY KEY,
  leaf_hash BLOB NOT NULL,
  entry BLOB NOT NULL,
  event TEXT NOT NULL,
  stream TEXT NOT NULL,
  stream_seq INTEGER NOT NULL,
  campaign TEXT,
  leaf_prefix INTEGER NOT NULL
) STRICT""",
    "nodes": """CREATE TABLE nodes (
  level INTEGER NOT NULL,
  position INTEGER NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (level, position)
) STRICT, WITHOUT ROWID""",
    "checkpoints": """CREATE TABLE checkpoints (
  size INTEGER PRIMARY KEY,
  note BLOB NOT NULL
) STRICT""",
    "openings": """CREATE TABLE openings (
  commitment TEXT PRIMARY KEY,
  salt BLOB NOT NULL,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
}

INDEXES = {
    "entries_by_leaf": "CREATE INDEX entries_by_leaf ON entries (leaf_prefix)",
    "entries_by_stream": "CREATE UNIQUE INDEX entries_by_stream ON entries (stream, stream_seq)",
    "entries_by_event": "CREATE INDEX entries_by_event ON entries (event)",
}

_NEXT = {
    "ledger": "EXISTS (SELECT 1 FROM ledger)",
    "entries": 'NEW."index" IS NOT COALESCE((SELECT MAX("index") FROM entries), -1) + 1',
    "nodes": "NEW.position IS NOT COALESCE((SELECT MAX(position) FROM nodes WHERE level = NEW.level), -1) + 1",
    "checkpoints": "NEW.size <= COALESCE((SELECT MAX(size) FROM checkpoints), 0)",
    "openings": "EXISTS (SELECT 1 FROM openings WHERE commitment = NEW.commitment)",
}


def _forbid(name: str, moment: str, table: str, condition: str | None = None) -> str:
    when = f" WHEN {condition}" if condition else ""
    return (
        f"CREATE TRIGGER {name} BEFORE {moment} ON {table}{when} "
        f"BEGIN SELECT RAISE(ROLLBACK, 'anvil: {table} is append-only'); END"
    )


TRIGGERS = {
    **{f"{table}_in_order": _forbid(f"{table}_in_order", "INSERT", table, _NEXT[table]) for table in TABLES},
    **{f"{table}_no_update": _forbid(f"{table}_no_update", "UPDATE", table) for table in TABLES},
    **{
        f"{table}_no_delete": _forbid(f"{table}_no_delete", "DELETE", table)
        for table in TABLES
        if table != "openings"
    },
}

STATEMENTS = {**TABLES, **INDEXES, **TRIGGERS}
"""Name of each schema object to the statement that makes it, exactly as SQLite stores it."""


def leaf_prefix(leaf_hash: bytes) -> int:
    """Return the number by which a leaf hash is looked up: its first eight bytes, signed, the highest first."""
    return int.from_bytes(leaf_hash[:8], "big", signed=True)


def differences(found: Sequence[tuple[str, str]]) -> list[str]:
    """Return one sentence for each object that is missing, altered, doubled or not ours.

    `found` is ``sqlite_schema``: names and SQL, without the objects that have none. A list, because a
    trigger may have the name of a table, and would hide behind it.
    """
    sentences, by_name = [], dict(found)
    for name, statement in STATEMENTS.items():
        if name not in by_name:
            sentences.append(f"{name} is missing")
        elif by_name[name] != statement:
            sentences.append(f"{name} was altered")
    sentences += [f"{name} is not ours" for name in sorted(by_name.keys() - STATEMENTS.keys())]
    names = Counter(name for name, _ in found)
    sentences += [f"{name} is there {times} times" for name, times in names.items() if times > 1]
    return sentences
