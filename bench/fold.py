"""Measure 11: the fold that `anvil status` shows, against bare decode and dispatch of the same events; and its memory.

The events are the rows of a ledger of 20,000, read fifty times over, a million in all: the same attempts are launched and
checked again, so that events grow and attempts do not. Both sides read the same rows from
the same file, by turns; each turn of the fold goes on from the state of the one before. The floor reads, parses and
decodes every event and looks up its type in a table, and keeps nothing. Memory is that of a process that folds them all
at once, against that of one that folds a tenth of them.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path

from measure import BY_CPU, Row, Setting, Spent, spent
from memory import run_watched
from qualified import qualified

from anvil.ledger.envelope import Envelope
from anvil.ledger.events import CATALOGUE, decode
from anvil.ledger.header import Header
from anvil.ledger.store import Store
from anvil.projections.campaigns import Campaigns, fold
from anvil.projections.seen import Seen, read_events

LEAST, MOST = 0.6, 1.1
STORED = 20_000
"""Events in the ledger; more are these again."""
TIMES = 50


def measure(setting: Setting) -> list[Row]:
    stored = min(STORED, setting.events)
    events = stored * TIMES
    database = qualified(setting.cache, stored).place.database
    ours, floor = _by_turns(database)
    whole, part = _peak(database, TIMES), _peak(database, TIMES // 10)
    return [
        Row(
            f"fold of {events:,} events",
            events / ours.cpu,
            "events/s",
            LEAST,
            events / floor.cpu,
            "bare decode and dispatch",
            at_least=True,
            wall=events / ours.wall,
            note=BY_CPU,
        ),
        Row(
            f"peak memory of a fold of {events:,} events",
            whole,
            "MB",
            MOST,
            part,
            "of a tenth of them, of as many attempts",
        ),
    ]


def again(store: Store, times: int) -> Iterator[Seen]:
    """Yield the events of a ledger, `times` over."""
    return chain.from_iterable(read_events(one) for one in repeat(store, times))


def _by_turns(database: Path) -> tuple[Spent, Spent]:
    """Return what the fold took in all, and what the floor did."""
    store, state = Store.open_readonly(database), Campaigns()

    def go_on() -> None:
        nonlocal state
        state = fold(read_events(store), state)

    _bare(store)  # classes of events are built when the first is decoded, which is no part of either
    try:
        turns = [(spent(go_on), spent(lambda: _bare(store))) for _ in range(TIMES)]
    finally:
        store.close()
    return _sum(ours for ours, _ in turns), _sum(floor for _, floor in turns)


def _sum(turns: Iterable[Spent]) -> Spent:
    walls, cpus = zip(*turns, strict=True)
    return Spent(sum(walls), sum(cpus))


def _bare(store: Store) -> None:
    dispatch = {name: Counter() for name in CATALOGUE}
    for row in store.rows(0, store.size()):
        header = Header.parse(Envelope.parse(row.entry).header)
        event = decode(header.event, header.facts, dict(header.sealed))
        dispatch[event.type]["seen"] += 1


def _peak(database: Path, times: int) -> float:
    command = [sys.executable, str(Path(__file__).with_name("fold_once.py")), str(database), str(times)]
    _, peaks = run_watched(command, dict(os.environ))
    return max(peaks.values(), default=float("nan"))
