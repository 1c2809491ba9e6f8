"""Every byte of a file inverted, one at a time; and what a database says when asked for all it holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

TABLES = {
    "ledger": "origin",
    "entries": '"index"',
    "nodes": "level, position",
    "checkpoints": "size",
    "openings": "commitment",
}

Dump = dict[str, list[tuple[object, ...]]]


def flips(path: Path, positions: Iterable[int]) -> Iterator[int]:
    """Yield each position while the byte there is inverted; afterwards it is put back."""
    with path.open("r+b", buffering=0) as file:
        for position in positions:
            file.seek(position)
            byte = file.read(1)
            file.seek(position)
            file.write(bytes([byte[0] ^ 0xFF]))
            try:
                yield position
            finally:
                file.seek(position)
                file.write(byte)


def dump(database: Path) -> Dump:
    """Return every stored value, read by tables and not by indexes; raises what SQLite raises."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        return {
            table: list(db.execute(f"SELECT * FROM {table} NOT INDEXED ORDER BY {key}"))
            for table, key in TABLES.items()
        }


def spread(size: int, share: int, *, seed: int = 0) -> list[int]:
    """Return one position in `share`, spread over the whole and drawn the same way each time."""
    from random import Random

    draw = Random(seed)
    return [start + draw.randrange(min(share, size - start)) for start in range(0, size, share)]
