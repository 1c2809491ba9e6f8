"""Measure 11: the fold that `anvil status` shows, against bare decode and dispatch of the same events; and its memory.

The floor reads, parses and decodes every event and looks up its type in a table, and keeps nothing. Memory is that of
a process of its own, against that of one that folds a tenth of the events, of as many attempts.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

from measure import LONG, Row, Setting, interleaved, seconds
from memory import run_watched
from qualified import qualified

from anvil.ledger.envelope import Envelope
from anvil.ledger.events import CATALOGUE, decode
from anvil.ledger.header import Header
from anvil.ledger.store import Store
from anvil.projections.campaigns import fold
from anvil.projections.seen import read_events

LEAST, MOST = 0.6, 1.1


def measure(setting: Setting) -> list[Row]:
    site = qualified(setting.cache, setting.events)
    database = site.place.database
    ours, floor = interleaved(
        3 if setting.events < LONG else 1,
        lambda: setting.events / seconds(lambda: folded(database)),
        lambda: setting.events / seconds(lambda: _bare(database)),
    )
    rows = [
        Row(
            f"fold of {setting.events:,} events",
            ours,
            "events/s",
            LEAST,
            floor,
            "bare decode and dispatch",
            at_least=True,
        )
    ]
    tenth = qualified(setting.cache, setting.events // 10)
    whole, part = _peak(database), _peak(tenth.place.database)
    name = f"peak memory of a fold of {setting.events:,} events"
    rows.append(Row(name, whole, "MB", MOST, part, "of a tenth of them, of as many attempts"))
    return rows


def folded(database: Path) -> int:
    """Fold a ledger, and return how many campaigns there are."""
    store = Store.open_readonly(database)
    try:
        return len(fold(read_events(store)).campaigns)
    finally:
        store.close()


def _bare(database: Path) -> None:
    dispatch = {name: Counter() for name in CATALOGUE}
    store = Store.open_readonly(database)
    try:
        for row in store.rows(0, store.size()):
            header = Header.parse(Envelope.parse(row.entry).header)
            event = decode(header.event, header.facts, dict(header.sealed))
            dispatch[event.type]["seen"] += 1
    finally:
        store.close()


def _peak(database: Path) -> float:
    command = [sys.executable, str(Path(__file__).with_name("fold_once.py")), str(database)]
    _, peaks = run_watched(command, dict(os.environ))
    return max(peaks.values(), default=float("nan"))
