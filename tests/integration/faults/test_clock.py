"""A clock that jumps back is noted, and nothing depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support import faults

from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def ledger_with_clock(place: Path, *offsets_s: float) -> Ledger:
    moments: Iterator[datetime] = iter([NOON + timedelta(seconds=offset) for offset in offsets_s])
    return Ledger.open(place, clock=lambda: next(moments))


def test_a_clock_that_jumps_back_inside_a_stream(place: Path) -> None:
    with ledger_with_clock(place, 0, 0, 10, -7200, 20) as ledger:
        stream = Stream.start(ledger, ledger.signer("operator"), purpose="run")
        for number in range(2):
            stream.append([faults.said(str(number))])
        stream.close()
    report = faults.require_sound(place, "clock-stepped-back")
    assert [(f.code, f.index) for f in report.findings] == [("clock-stepped-back", 4)]
    ran = faults.anvil(place, "verify").done()
    assert "note: clock-stepped-back at index 4" in ran.out


def test_streams_that_began_at_one_moment_are_kept_apart(place: Path) -> None:
    """The names begin with the time, and a clock that jumps back makes later ones sort before earlier ones."""
    with ledger_with_clock(place, *[0] * 9, *[-3600] * 9) as ledger:
        signer = ledger.signer("operator")
        streams = [Stream.start(ledger, signer, purpose="run") for _ in range(6)]
        for stream in streams:
            stream.close()
    assert len({stream.id for stream in streams}) == 6
    assert [s.id[:16] for s in streams].count("20261130T120000Z") == 4 + 1
    faults.require_sound(place, "clock-stepped-back")


def test_a_clock_before_the_ledger_began(place: Path) -> None:
    with ledger_with_clock(place, *[-10 * 365 * 86_400] * 3) as ledger:
        Stream.start(ledger, ledger.signer("operator"), purpose="run").close()
    assert faults.require_sound(place).findings == []
