"""The open loop on real sockets: the schedule is kept whatever the endpoint does, and what was late is told."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.endpoint import HANG, Pause, Reply, Request, Server, case, events
from support.endpoint.cases.table import GOOD
from support.loading import MODEL, PATIENT, SHORT, planned

from anvil.collectors.interface import Endpoint
from anvil.collectors.load.arrivals import poisson
from anvil.collectors.load.clocks import Clocks, realtime_ns
from anvil.collectors.load.findings import most_in_flight
from anvil.collectors.load.open_loop import OpenLoop
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.requests import Target
from anvil.collectors.load.rows import read_request, write_rows
from anvil.ledger.rows import Row, read_rows

MS = 1_000_000


def run_it(server: Server, schedule: list[int], **more: Any) -> tuple[RunRecord, tuple[RequestRecord, ...]]:
    target = Target.of(Endpoint(server.base_url, MODEL))
    limits = {"deadlines": PATIENT, **more}
    return OpenLoop(target, planned(len(schedule)), schedule=schedule, **limits).run()


def rows_of(run: RunRecord, records: tuple[RequestRecord, ...]) -> list[Row]:
    return sorted((read_request(run, record).row for record in records), key=lambda row: row.index)


def slow(seconds: float) -> Any:
    def answer(request: Request) -> Reply:
        def steps() -> Iterator[Any]:
            yield Pause(seconds)
            yield from events(*GOOD)

        return Reply.of_events(steps())

    return answer


def test_each_request_is_sent_once_and_never_before_its_moment() -> None:
    schedule = list(poisson(3, "100", 40))
    with Server(every=case("good")) as server:
        run, records = run_it(server, schedule)
        assert len(server.requests) == server.connections == 40
    rows = rows_of(run, records)
    assert [row.index for row in rows] == list(range(40))
    assert {row.outcome for row in rows} == {"completed"}
    origin = rows[0].intended_ns - schedule[0]
    assert [row.intended_ns - origin for row in rows] == schedule
    assert all(row.started_ns is not None and row.started_ns >= row.intended_ns for row in rows)
    assert (run.concurrency, run.aborted) == (None, False)


def test_a_slow_endpoint_cannot_slow_the_schedule() -> None:
    """A closed loop with one stream would take 8 times as long: here all are sent before the first has ended."""
    with Server(every=slow(0.5)) as server:
        run, records = run_it(server, [10 * MS * number for number in range(8)])
    rows = rows_of(run, records)
    ends = [(row.started_ns or 0) + (row.end_ns or 0) for row in rows]
    assert max(row.started_ns or 0 for row in rows) < min(ends)
    head, read = read_rows(write_rows(run, rows))
    assert head.concurrency is None
    assert most_in_flight(head, read) == 8
    assert sorted(row.slot for row in rows) == list(range(8))


def test_a_slot_is_taken_again_when_it_is_free() -> None:
    with Server(every=case("good")) as server:
        run, records = run_it(server, [200 * MS * number for number in range(4)])
    assert {row.slot for row in rows_of(run, records)} <= {0, 1}


def test_connecting_is_outside_the_timer_and_before_the_moment() -> None:
    with Server(every=case("good")) as server:
        run, records = run_it(server, [0, 150 * MS])
    for row in rows_of(run, records):
        assert row.connect_ns is not None
        assert row.connect_ns > 0
        assert row.is_fresh


def test_a_connection_that_comes_late_makes_its_request_late_and_the_row_says_so() -> None:
    with Server(every=case("good")) as server:
        late = Clock(skip_ns=300 * MS)
        run, records = run_it(server, [0, 5 * MS], clocks=late.clocks())
    rows = rows_of(run, records)
    assert all((row.started_ns or 0) - row.intended_ns >= 200 * MS for row in rows)


class Clock:
    """A clock that jumps ahead once, as if the client had been held up after its first look."""

    def __init__(self, skip_ns: int) -> None:
        self.skip_ns = skip_ns
        self.readings = 0

    def clocks(self) -> Any:
        def monotonic() -> int:
            self.readings += 1
            return time.monotonic_ns() + (self.skip_ns if self.readings > 40 else 0)

        def realtime() -> int:
            return realtime_ns() + (self.skip_ns if self.readings > 40 else 0)

        return Clocks(monotonic=monotonic, realtime=realtime)


def test_what_fails_is_told_and_the_rest_goes_on() -> None:
    numbers = iter(range(100))

    def answer(request: Request) -> Reply:
        return (
            Reply.of_events([*events(*GOOD[:2], done=False), HANG])
            if next(numbers) == 1
            else case("good")(request)
        )

    with Server(every=answer) as server:
        run, records = run_it(server, [20 * MS * number for number in range(5)], deadlines=SHORT)
    outcomes = [row.outcome for row in rows_of(run, records)]
    assert sorted(outcomes) == ["completed"] * 4 + ["failed"]


def test_nobody_listens() -> None:
    target = Target.of(Endpoint("http://127.0.0.1:1", MODEL))
    run, records = OpenLoop(target, planned(6), schedule=[MS * number for number in range(6)]).run()
    assert [row.failure for row in rows_of(run, records)] == ["connection_failed"] * 6
    assert not run.aborted


def test_an_interrupt_keeps_what_came_and_sends_nothing_more() -> None:
    stop = threading.Event()
    with Server(every=slow(5)) as server:
        timer = threading.Timer(0.3, stop.set)
        timer.start()
        run, records = run_it(server, [0, 100 * MS, 320 * MS, 60_000 * MS], stop=stop)
        timer.join()
        sent = len(server.requests)
    rows = rows_of(run, records)
    assert run.aborted
    assert {row.outcome for row in rows} == {"stopped"}
    assert len([row for row in rows if row.started_ns is not None]) >= sent >= 2
    assert 3 not in [row.index for row in rows]


def test_an_interrupt_from_the_keyboard_waits_for_the_loop() -> None:
    with Server(every=slow(5)) as server:
        threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
        run, _ = run_it(server, [0, 60_000 * MS])
    assert run.aborted


def test_as_many_moments_as_requests() -> None:
    target = Target.of(Endpoint("http://127.0.0.1:1", MODEL))
    with pytest.raises(ValueError, match="zip"):
        OpenLoop(target, planned(2), schedule=[0])


def test_nothing_to_send() -> None:
    target = Target.of(Endpoint("http://127.0.0.1:1", MODEL))
    run, records = OpenLoop(target, [], schedule=[]).run()
    assert (records, run.aborted) == ((), False)
