"""Rows beside the truth: synthetic runs whose errors are known, and the real server for its notes."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support.command import run_here
from support.loading import PATIENT, RUN, record_of

from anvil.collectors.commands import selftest as command
from anvil.collectors.interface import Endpoint
from anvil.collectors.load.calibration import Calibration, calibrate, plan
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.record import RequestRecord
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.resolution import Resolution, Spread, compare
from anvil.collectors.load.rows import read_request
from anvil.collectors.load.truth import Note, Schedule, truth_server
from anvil.ledger.errors import CollectorError

BASE = 5_000_000
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def event(payload: str) -> bytes:
    data = f"data: {payload}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


TOKEN = event(
    '{"model": "test-model", "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": null}]}'
)
TAIL = (
    event('{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}')
    + event("[DONE]")
    + b"0\r\n\r\n"
)


def answered(stamps: list[int], tokens: list[int], index: int = 0) -> RequestRecord:
    """A response whose reads hold so many tokens each, after the head and before the tail."""
    pieces = [HEAD, *(TOKEN * count for count in tokens), TAIL]
    return record_of(pieces, stamps=stamps, index=index)


def note(received: int, *writes: int, index: int = 0, took: int = 10) -> Note:
    return Note(index, BASE + received, [BASE + at for at in writes], [BASE + at + took for at in writes])


def compared(record: RequestRecord, told: Note) -> Resolution:
    return compare(BASE, RUN, [record], {told.seed: told}, 1)


def test_errors_are_those_that_were_put_in() -> None:
    record = answered([100, 1_020, 2_030, 3_000], [1, 1])
    found = compared(record, note(30, 1_000, 2_000))
    # ttfo: measured 1,020, passed 1,000 - 30. The gap: measured 1,010, passed 1,000.
    assert (found.ttfo_error, found.gap_error) == (Spread(1, 50, None, 50), Spread(1, 10, None, 10))
    assert (found.tokens, found.token_reads, found.ttfo_censored, found.truth_unknown) == (2, 2, 0, 0)
    assert found.resolution_ns == 50
    assert found.clock == "kernel"


def test_tokens_that_share_a_read_have_no_gap_and_are_told_apart() -> None:
    record = answered([100, 2_030, 3_000, 4_000], [2, 1])
    found = compared(record, note(0, 1_000, 2_000, 2_990))
    assert found.gap_error == Spread(1, 20, None, 20)  # the last of the shared read and the one alone
    assert found.outside_interval == Spread(1, 0, None, 0)
    assert found.ttfo_censored == 1
    early = compared(answered([100, 900, 3_000, 4_000], [2, 1]), note(0, 950, 951, 2_990))
    assert early.outside_interval == Spread(1, 50, None, 50)


def test_what_the_server_was_held_up_in_is_left_out() -> None:
    record = answered([100, 1_020, 2_030, 3_000], [1, 1])
    found = compared(record, note(30, 1_000, 2_000, took=100_001))
    assert (found.ttfo_error.n, found.gap_error.n, found.truth_unknown) == (0, 0, 2)
    assert found.resolution_ns is None


def test_the_lag_is_from_the_kernel_to_the_client() -> None:
    record = answered([100, 1_020, 2_000], [1]).model_copy(update={"client_ns": (150, 1_090, 2_060)})
    assert compared(record, note(0, 1_000)).lag == Spread(3, 60, None, 70)
    assert compared(record.model_copy(update={"kernel_ns": None}), note(0, 1_000)).lag == Spread(
        0, None, None, None
    )


def test_a_failed_request_is_no_sample() -> None:
    record = record_of([HEAD, TOKEN], "reset", [100, 1_000])
    found = compared(record, note(0, 900))
    assert (found.completed, found.expected, found.ttfo_error.n) == (0, 1, 0)


def test_a_percentile_needs_samples() -> None:
    assert Spread.of(range(298)).p99_ns is None
    assert Spread.of(range(299)).p99_ns == 296
    assert Spread.of(range(299)).bound_ns == 296
    assert Spread.of(range(298)).bound_ns == 297


@pytest.mark.parametrize(
    ("concurrency", "rate", "requests", "chunks", "gap_ns"),
    [
        (64, 3200, 320, 20, 20_000_000),
        (256, 12_800, 512, 50, 20_000_000),
        (1, 50, 25, 4, 20_000_000),
        (1, 12_800, 320, 80, 78_125),
        (1024, 1, 1024, 4, 1_024_000_000_000),
    ],
)
def test_the_plan(concurrency: int, rate: int, requests: int, chunks: int, gap_ns: int) -> None:
    schedule, count = plan(concurrency, rate, 2)
    assert (count, schedule.chunks, schedule.gap_ns) == (requests, chunks, gap_ns)


def test_the_server_knows_what_it_wrote() -> None:
    with truth_server(Schedule(3, 20_000_000, 10_000_000)) as server:
        planned = [PlannedRequest(number, b'{"seed":%d}' % number) for number in (4, 9)]
        loop = ClosedLoop(
            Target.of(Endpoint(server.base_url, "truth")), planned, concurrency=2, deadlines=PATIENT
        )
        run, records = loop.run()
        notes = server.finish()
    assert set(notes) == {4, 9}
    for record in records:
        row = read_request(run, record).row
        told = notes[record.index]
        assert (row.outcome, row.completion_tokens, row.delta_kinds) == ("completed", 3, "ccc")
        assert told.writes_ns[0] - told.received_ns >= 20_000_000
        assert all(after - before > 0 for before, after in pairwise(told.writes_ns))
        assert all(before <= after for before, after in zip(told.writes_ns, told.written_ns, strict=True))
        # Causes come first, and all of this is one machine.
        assert (row.ttfo_ns or 0) >= 20_000_000


def test_a_server_that_does_not_start_is_an_error() -> None:
    with pytest.raises(CollectorError, match="did not start"), truth_server(Schedule(1, 0, 0), ("false",)):
        pass


def test_calibration_over_the_real_transport() -> None:
    found = calibrate(2, 100, 1)
    assert (found.resolution.completed, found.resolution.expected) == (26, 26)
    assert found.resolution.tokens == 26 * 4
    assert found.reached > 0
    assert found.cpu_ns > 0


# --- the command --------------------------------------------------------------------------------------------------


def result(*, completed: int = 2, stepped: bool = False) -> Calibration:
    spread = Spread(400, 6_400, 27_500, 30_000)
    few = Spread(2, 1_000, None, 144_466)
    none = Spread(0, None, None, None)
    told = Resolution(completed, 2, "kernel", 8, 8, 1, 0, spread, few, none, none)
    return Calibration(1, 50, 49, 13_277, stepped, is_tls=False, resolution=told)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, int]]:
    calls: list[tuple[int, int, int]] = []

    def made(concurrency: int, rate: int, seconds: int) -> Calibration:
        calls.append((concurrency, rate, seconds))
        return result()

    monkeypatch.setattr(command, "calibrate", made)
    return calls


def test_the_command_says_the_resolution_first(
    asked: list[tuple[int, int, int]], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    done = run_here(capfdbinary, "selftest", "--concurrency", 8)
    assert done.code == 0
    assert asked == [(8, 400, 2)]
    lines = done.out.splitlines()
    assert lines[0] == "Resolution     ± 0.028 ms"
    assert "Error of gaps  p50 0.001 ms, largest 0.144 ms, n 2" in lines
    assert "Loop lag       no samples" in lines
    assert "Processor      13277 ns a token" in lines


def test_the_command_answers_programs(
    asked: list[tuple[int, int, int]], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    told = run_here(capfdbinary, "selftest", "--json", "--rate", 70).json
    assert (told["schema"], told["sound"], told["resolution_ns"]) == ("anvil.selftest/1", True, 27_500)
    assert told["ttfo_error"] == {"n": 400, "p50_ns": 6_400, "p99_ns": 27_500, "max_ns": 30_000}
    assert asked == [(64, 70, 2)]


def test_a_rate_that_no_stream_could_keep_is_refused(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    done = run_here(capfdbinary, "selftest", "--rate", 63)
    assert done.code == 2
    assert "64 streams need at least 64: one token a second each" in done.err


@pytest.mark.parametrize(
    ("found", "words"),
    [(result(completed=1), "Some requests failed"), (result(stepped=True), "The clock was set")],
)
def test_nothing_follows_from_an_unsound_run(
    found: Calibration,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr(command, "calibrate", lambda *_: found)
    done = run_here(capfdbinary, "selftest", "--json")
    assert (done.code, done.json["sound"]) == (1, False)
    assert words in done.err
