"""The closed loop on real sockets: nothing is lost, nothing is sent twice, every wait ends."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.endpoint import CLOSE, HANG, Chat, Pause, Reply, Request, Server, case, events
from support.endpoint.cases.table import GOOD
from support.loading import MODEL, PATIENT, SHORT, load, planned

from anvil.collectors.interface import Endpoint
from anvil.collectors.load import loop
from anvil.collectors.load.clocks import Clocks
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.loop import Progress
from anvil.collectors.load.record import RequestRecord, read_record, write_record
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.rows import read_request
from anvil.ledger.errors import CollectorError

KEY = "sk-not-a-real-key-0123456789"


def indexes(records: tuple[RequestRecord, ...]) -> list[int]:
    return sorted(record.index for record in records)


def test_a_client_that_may_open_no_more_files_aborts_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As failures of the endpoint they would be counted in documents."""
    real, opened = loop.Wire, itertools.count(1)

    def short(*arguments: Any) -> Any:
        if next(opened) > 3:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return real(*arguments)

    monkeypatch.setattr(loop, "Wire", short)
    with Server(every=case("good")) as server:
        run, records = load(server, count=4)
    assert run.aborted
    assert [record.failure for record in records] == [None, None, None, "connection_failed"]
    assert "Too many open files" in records[-1].message


def test_each_request_is_sent_once_and_no_more_are_under_way_than_allowed() -> None:
    most = now = 0
    lock = threading.Lock()

    def answer(request: Request) -> Reply:
        def steps() -> Iterator[Any]:
            nonlocal most, now
            with lock:
                now += 1
                most = max(most, now)
            yield Pause(0.01)
            yield from events(*GOOD)
            with lock:
                now -= 1

        return Reply.of_events(steps())

    with Server(every=answer) as server:
        run, records = load(server, count=23, concurrency=4)
        assert len(server.requests) == server.connections == 23
    assert indexes(records) == list(range(23))
    assert {record.slot for record in records} == {0, 1, 2, 3}
    assert most <= 4
    assert all(read_request(run, record).row.outcome == "completed" for record in records)


def test_the_request_is_what_was_planned_and_the_secret_is_nowhere() -> None:
    with Server(every=case("good")) as server:
        endpoint = Endpoint(server.base_url, MODEL, headers={"Authorization": f"Bearer {KEY}"})
        run, records = ClosedLoop(Target.of(endpoint), planned(1), concurrency=1).run()
        sent = server.requests[0]
    assert (sent.method, sent.path, sent.body) == ("POST", "/v1/chat/completions", b'{"stream":true}')
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.headers["connection"] == "close"
    assert KEY.encode() not in write_record(run, records)
    assert KEY not in repr(Target.of(endpoint))


@pytest.mark.parametrize("value", ["a\r\nx: y", "a\0", "é"])
def test_a_header_that_cannot_be_written_is_refused_without_its_value(value: str) -> None:
    with pytest.raises(CollectorError, match="the header 'x-key' cannot be written") as refused:
        Target.of(Endpoint("http://127.0.0.1:1", MODEL, headers={"X-Key": value}))
    assert value not in str(refused.value)


def test_the_kernel_stamps_what_it_receives() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("kernel stamps are read on Linux only")
    with Server(every=case("good")) as server:
        run, (record,) = load(server)
        (writes,) = server.writes
    assert record.kernel_ns is not None
    assert record.started_ns is not None
    # Everything is on one machine, so what holds of causes holds of stamps.
    stamps = [stamp - run.offset_low_ns for stamp in record.kernel_ns]
    assert record.started_ns <= stamps[0] <= stamps[-1]
    assert all(
        stamp - run.offset_high_ns <= taken
        for stamp, taken in zip(record.kernel_ns, record.client_ns, strict=True)
    )
    assert len(writes) >= len(record.sizes)


def test_without_kernel_stamps_the_row_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anvil.collectors.load.wire.ask_for_stamps", lambda _socket: False)
    with Server(every=case("good")) as server:
        run, (record,) = load(server)
    assert record.kernel_ns is None
    assert read_request(run, record).row.clock == "client"


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    target = Target.of(Endpoint(f"http://127.0.0.1:{port}", MODEL))
    run, records = ClosedLoop(target, planned(2000), concurrency=3).run()
    assert indexes(records) == list(range(2000))
    assert {record.failure for record in records} == {"connection_failed"}
    assert read_request(run, records[0]).row.started_ns is None
    assert not run.aborted


def test_a_server_that_dies_on_the_way() -> None:
    with Server() as server:
        numbers = itertools.count()

        def answer(request: Request) -> Reply:
            if next(numbers) < 3:
                return case("good")(request)
            server.refuse_connections()
            return Reply.of_events([*events(*GOOD[:3], done=False), CLOSE])

        server._every = answer
        run, records = load(server, count=8)
    rows = [read_request(run, record).row for record in sorted(records, key=lambda record: record.index)]
    assert [row.outcome for row in rows] == ["completed"] * 3 + ["failed"] * 5
    assert [row.failure for row in rows[3:]] == ["connection_reset"] + ["connection_failed"] * 4
    assert rows[3].delta_kinds == "cc"


def test_a_connection_that_is_not_taken_ends_with_its_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        fillers = []
        for _ in range(4):  # the queue of connections is full from here on
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            fillers.append(filler)
        target = Target.of(Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", MODEL))
        _, (record,) = ClosedLoop(target, planned(1), concurrency=1, deadlines=SHORT).run()
        for filler in fillers:
            filler.close()
    assert record.failure == "timeout"
    assert record.message.startswith(("a connection did not come within 1 s", "the first byte of a body"))


# --- connections that are kept -----------------------------------------------------------------------------


def test_a_kept_connection_is_used_again() -> None:
    with Server(every=case("good")) as server:
        run, records = load(server, count=6, concurrency=2, reuse=True)
        assert server.connections == 2
    assert sorted(record.is_fresh for record in records) == [False] * 4 + [True] * 2
    assert all((record.connect_ns is None) is not record.is_fresh for record in records)
    assert all(read_request(run, record).row.outcome == "completed" for record in records)


def told_of(server: Server, count: int, **more: Any) -> list[Progress]:
    told: list[Progress] = []
    target = Target.of(Endpoint(server.base_url, MODEL), reuse=more.pop("reuse", False))
    ClosedLoop(target, planned(count), concurrency=1, deadlines=PATIENT, told=told.append, **more).run()
    return told


def test_the_last_that_is_told_is_that_all_are_done() -> None:
    """However soon after the last look it was: nothing else is told before the next run."""
    with Server(every=case("good")) as server:
        told = told_of(server, 5)
    assert told[-1].ended == 5
    assert [one.ended for one in told].count(5) == 1


def test_a_request_that_is_sent_once_more_is_told_as_one() -> None:
    with Server(every=case("good"), keep_alive=False) as server:
        told = told_of(server, 5, reuse=True)
    assert max(one.ended for one in told) == told[-1].ended == 5


def test_a_run_that_was_stopped_does_not_tell_that_all_are_done() -> None:
    stop = threading.Event()
    stop.set()
    with Server(every=case("good")) as server:
        assert told_of(server, 5, stop=stop) == []


def test_a_stale_connection_is_recorded_and_its_request_sent_once_more() -> None:
    with Server(every=case("good"), keep_alive=False) as server:
        run, records = load(server, count=3, reuse=True)
    found = [(record.index, record.attempt, record.is_fresh, record.failure) for record in records]
    stale = "connection_stale"
    assert found == [
        (0, 1, True, None),
        (1, 1, False, stale),
        (1, 2, True, None),
        (2, 1, False, stale),
        (2, 2, True, None),
    ]
    assert read_request(run, records[1]).row.outcome == "failed"
    assert read_record(write_record(run, records)) == (run, records)


@pytest.mark.parametrize("surplus", [b"junk", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_connection_with_a_surplus_is_not_used_again(surplus: bytes) -> None:
    whole = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    with Server(every=lambda request: Reply(whole + surplus, raw=True)) as server:
        _, records = load(server, count=2, reuse=True)
        assert server.connections == 2
    assert [record.failure for record in records] == [None, None]


# --- stopping ------------------------------------------------------------------------------------------------


def test_a_stop_keeps_what_is_under_way() -> None:
    stop = threading.Event()

    def answer(request: Request) -> Reply:
        if request.connection >= 2:
            threading.Timer(0.1, stop.set).start()
            return Reply.of_events([*events(*GOOD[:3], done=False), HANG])
        return case("good")(request)

    with Server(every=answer) as server:
        target = Target.of(Endpoint(server.base_url, MODEL))
        run, records = ClosedLoop(target, planned(50), concurrency=2, deadlines=PATIENT, stop=stop).run()
    rows = [read_request(run, record).row for record in records]
    assert run.aborted
    assert [row.outcome for row in rows] == ["completed", "completed", "stopped", "stopped"]
    assert [row.failure for row in rows] == [None] * 4
    assert rows[-1].delta_kinds == "cc"
    assert rows[-1].ttfo_ns is None


def test_an_interrupt_stops_the_run_and_is_not_lost() -> None:
    def answer(request: Request) -> Reply:
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        return Reply([HANG], raw=True)

    before = signal.getsignal(signal.SIGINT)
    with Server(every=answer) as server:
        run, records = load(server, count=2)
    assert (run.aborted, len(records), records[0].is_stopped) == (True, 1, True)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_without_requests_is_whole() -> None:
    run, records = ClosedLoop(Target.of(Endpoint("http://127.0.0.1:1", MODEL)), [], concurrency=3).run()
    assert (records, run.aborted) == ((), False)


def test_a_clock_that_is_set_on_the_way_makes_the_run_void() -> None:
    ahead = 0

    def realtime() -> int:
        return Clocks().base_realtime_ns + ahead

    def answer(request: Request) -> Reply:
        nonlocal ahead
        ahead = 10**9
        return case("keepalives")(request)

    with Server(every=answer) as server:
        target = Target.of(Endpoint(server.base_url, MODEL))
        run, records = ClosedLoop(target, planned(1), concurrency=1, clocks=Clocks(realtime=realtime)).run()
    assert run.stepped
    assert read_request(run, records[0]).row.clock == "client"


def test_a_large_request_is_written_in_parts() -> None:
    body = b'{"stream":true,"pad":"' + b"x" * (8 << 20) + b'"}'
    with Server(every=case("good")) as server:
        target = Target.of(Endpoint(server.base_url, MODEL))
        run, (record,) = ClosedLoop(target, [PlannedRequest(0, body)], concurrency=1).run()
        assert server.requests[0].body == body
    row = read_request(run, record).row
    assert row.outcome == "completed"
    assert (row.written_ns or 0) < (row.ttfo_ns or 0)


def test_an_answer_before_the_request_is_written_is_kept() -> None:
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 413 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                done.wait(10)

        thread = threading.Thread(target=refuse)
        thread.start()
        target = Target.of(Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}", MODEL))
        run, (record,) = ClosedLoop(target, [PlannedRequest(0, b"x" * (16 << 20))], concurrency=1).run()
        done.set()
        thread.join()
    row = read_request(run, record).row
    assert (row.failure, row.http_status, row.written_ns) == ("http_error", 413, None)


def test_a_name_with_two_addresses_tries_both() -> None:
    with Server(every=case("good")) as server:
        target = Target.of(Endpoint(server.base_url, MODEL))
        dead = (target.addresses[0][0], ("127.0.0.1", 1))
        both = Target(**{**vars(target), "addresses": (dead, *target.addresses)})
        run, (record,) = ClosedLoop(both, planned(1), concurrency=1).run()
    assert read_request(run, record).row.outcome == "completed"


def test_a_host_that_is_not_there_is_refused_before_the_run() -> None:
    with pytest.raises(CollectorError, match=r"nowhere\.test\.invalid cannot be found"):
        Target.of(Endpoint("http://nowhere.test.invalid", MODEL))


def test_the_collector_of_garbage_rests_while_it_runs() -> None:
    import gc

    seen = []

    class Watching(Clocks):
        def now_ns(self) -> int:
            seen.append(gc.isenabled())
            return super().now_ns()

    with Server(chat=lambda payload: Chat("4")) as server:
        target = Target.of(Endpoint(server.base_url, MODEL))
        ClosedLoop(target, planned(1), concurrency=1, clocks=Watching()).run()
    assert seen[0] is False
    assert gc.isenabled()
