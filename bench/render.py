"""Measure 12: one document out of a ledger of 100,000 events, from the file to the last byte of the page.

The ledger has a hundred campaigns of five attempts. The document is the largest that can be made of recorded runs; the events behind it are
checked as in `anvil render`. The limit is in seconds of this machine, which bench.json names.
"""

from __future__ import annotations

from statistics import median

from measure import Row, Setting, seconds
from qualified import CAMPAIGNS, CANDIDATE, campaign, qualified

from anvil.ledger.places import LedgerPlace
from anvil.projections.document import find
from anvil.projections.opened import opened
from anvil.projections.pages import page
from anvil.projections.rendering import draft

EVENTS, QUICK = 100_000, 20_000
LIMIT_S = 2.0
DOCUMENT = "candidate-failure.v1"


def measure(setting: Setting) -> list[Row]:
    events = EVENTS if setting.events > QUICK else setting.events
    site = qualified(setting.cache, events)
    taken = median(seconds(lambda: _page(site.place, campaign(CAMPAIGNS - 1))) for _ in range(3))
    return [Row(f"render {DOCUMENT} as HTML, {events:,} events", taken, "s", LIMIT_S)]


def _page(place: LedgerPlace, name: str) -> str:
    with opened(place, None, name) as ledger:
        made = draft(ledger.record, ledger.artifacts, find(DOCUMENT), campaign=name, candidate=CANDIDATE)
        ledger.require_signed(made)
        return page(made, ledger.state, ledger.record, "html")
