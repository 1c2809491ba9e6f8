"""Measure 12: `anvil render` of one document out of a ledger of 100,000 events, from the start of the command to its end.

The ledger has a hundred campaigns of five attempts. The document is the largest that can be made of recorded runs, as
HTML; the events behind it are checked as always. The limit is in seconds of this machine, which bench.json names.

Then one campaign that holds all the events, five attempts launched a hundred times each: such a document cites nearly every event,
and its floor is to read, to decode and to check the signature of each of them (docs/adr/0024).
"""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

from ledgers import Site
from measure import BY_CPU, Row, Setting, Spent, middle, spent, spent_in_turns
from qualified import CAMPAIGNS, CANDIDATE, campaign, qualified

from anvil.ledger.store import Store
from anvil.projections.seen import read_events
from anvil.projections.signed import require_signed

EVENTS, SMALL = 100_000, 20_000
"""Less than the small number is only asked for to try the measure itself."""
ALONE = 10_000
LIMIT_S, LIMIT_ALONE = 2.0, 4.0
DOCUMENT = "candidate-failure.v1"


def measure(setting: Setting) -> list[Row]:
    events = EVENTS if setting.events >= SMALL else setting.events
    site = qualified(setting.cache, events)
    one = middle(_rendered(site, CAMPAIGNS - 1) for _ in range(3))
    alone = qualified(setting.cache, ALONE, 1)
    whole, floor = spent_in_turns(3, lambda: _render(alone, 0), lambda: _check_each(alone))
    name = f"render {DOCUMENT} as HTML, {events:,} events"
    against = "read, decode and check the signature of each"
    return [
        Row(name, one.cpu, "s", LIMIT_S, wall=one.wall, note=BY_CPU),
        Row(
            f"the same of one campaign of {ALONE:,} events",
            whole.cpu,
            "s",
            LIMIT_ALONE,
            floor.cpu,
            against,
            wall=whole.wall,
            note=BY_CPU,
        ),
    ]


def _rendered(site: Site, number: int) -> Spent:
    return spent(lambda: _render(site, number))


def _render(site: Site, number: int) -> None:
    command = [str(Path(sysconfig.get_path("scripts")) / "anvil"), "render", DOCUMENT, "--format", "html"]
    command += ["--campaign", campaign(number), "--candidate", CANDIDATE]
    environment = {**os.environ, **site.environment()}
    subprocess.run(command, check=True, capture_output=True, env=environment)


def _check_each(site: Site) -> None:
    store = Store.open_readonly(site.place.database)
    try:
        require_signed(store, {seen.entry_hash: seen.index for seen in read_events(store)})
    finally:
        store.close()
