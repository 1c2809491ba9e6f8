"""Measure 5: verifying 1,000 new events takes the same time after a long history as after a short one."""

from __future__ import annotations

from ledgers import NEW_EVENTS, Site, built
from measure import Row, Setting, interleaved, seconds

from anvil.ledger.verify import Expectations, verify

SHORT = 10_000
ROUNDS = 9


def measure(setting: Setting) -> list[Row]:
    short, long = built(setting.cache, SHORT), built(setting.cache, setting.events)
    _verify_new(short), _verify_new(long)
    after_long, after_short = interleaved(
        ROUNDS, lambda: seconds(lambda: _verify_new(long)), lambda: seconds(lambda: _verify_new(short))
    )
    name = f"incremental verify of {NEW_EVENTS:,} events after {setting.events:,}"
    return [Row(name, after_long, "s", 1.3, after_short, f"the same after {SHORT:,}")]


def _verify_new(site: Site) -> None:
    report = verify(site.location, Expectations(state=site.earlier_state()))
    assert (report.begin, report.size, report.exit_code) == (site.history, site.history + NEW_EVENTS, 0)
