"""Streams as verification joins them: what the checks of one run leave over."""

from __future__ import annotations

from support.story import COLLECTOR, ORIGIN, ROOT, Story

from anvil.ledger.checks.entries import Context, examine
from anvil.ledger.checks.streams import StreamCheck
from anvil.ledger.events import StreamAbandoned, StreamOpened
from anvil.ledger.header import header_hash
from anvil.ledger.sources import Filed

FIRST, SECOND = (f"20261130T07261{n}Z-{n:016x}" for n in range(2))


def findings_of(teller: Story, abandoned: list[tuple[int, StreamAbandoned]]) -> list[tuple[str, int | None]]:
    rows = [Filed(told.index, told.entry, b"") for told in teller.told]
    report = examine(0, rows, Context(ORIGIN, {}, (), False, None, None))
    check = StreamCheck(lambda _stream: False)
    check.take(report, abandoned)
    return [(finding.code, finding.index) for finding in check.findings]


def abandoned_times(times: int) -> list[tuple[str, int | None]]:
    teller = Story()
    opened = StreamOpened(purpose="run", synthetic=True, software="0.1")
    lost = teller.tell(FIRST, opened, COLLECTOR)
    teller.tell(SECOND, opened, ROOT)
    end = StreamAbandoned(
        abandoned=FIRST, last_seq=0, last_header=header_hash(lost.header.raw), reason="crashed"
    )
    told = [teller.tell(SECOND, end, ROOT) for _ in range(times)]
    return findings_of(teller, [(item.index, end) for item in told])


def test_a_stream_abandoned_twice_in_one_run_of_entries_is_broken() -> None:
    assert abandoned_times(2) == [("chain-broken", 3)]


def test_a_stream_abandoned_once_is_not() -> None:
    assert abandoned_times(1) == []
