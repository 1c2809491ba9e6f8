"""What goes wrong around a load: endpoints that refuse and break off, a full disk, a set clock, a client that is killed.

Each request that failed is counted and named, none is averaged in, and the run goes on with the next cell.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import pytest
from support import faults
from support.endpoint import CLOSE, RESET, Chat, Reply, Server, events
from support.loads import SMALL, cells_of, content, finished, last_run, loads, measured, sent
from support.running import Bench

from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.ledger.events import LoadMeasured, RecipeDeclared
from anvil.ledger.rows import Row, read_rows

ALL = Counter({(cell, run): 1 for cell in ("c1", "c2") for run in (1, 2)})
MODEL = "org/tiny"
REFUSED = [Reply.of_json({"error": {"message": "slow down"}}, status) for status in (429, 503)]
REFUSED = [Reply(reply.body, reply.status, headers={"Retry-After": "1"}) for reply in REFUSED]
BEGUN = events({"choices": [{"index": 0, "delta": {"content": "Paris"}}], "model": MODEL}, done=False)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anvil.collectors.running.canaries.PAUSES_S", (0.0, 0.0))


def good() -> Chat:
    return Chat(content="Paris is it", completion_tokens=3)


def rows_of(bench: Bench, seen: Any) -> tuple[Row, ...]:
    return read_rows(content(bench, seen, "rows"))[1]


@pytest.mark.parametrize(
    ("bad", "failure", "status"),
    [
        (REFUSED[0], "http_error", 429),
        (REFUSED[1], "http_error", 503),
        (Reply([RESET], raw=True), "connection_reset", None),
        (Reply.of_events([*BEGUN, RESET]), "connection_reset", 200),
        (Reply.of_events([*BEGUN, CLOSE]), "connection_reset", 200),
        (Reply.of_events(BEGUN), "truncated_stream", 200),
    ],
)
def test_requests_that_fail_now_and_then(bench: Bench, bad: Reply, failure: str, status: int | None) -> None:
    """Every third stream. Nothing is sent again, and the figures are made from what is left."""
    lock, streams = threading.Lock(), Counter[str]()

    def chat(asked: Any) -> Chat | Reply:
        with lock:
            streams["all"] += bool(asked.get("stream"))
            is_bad = asked.get("stream") and streams["all"] % 3 == 0
        return bad if is_bad else good()

    with Server(chat=chat, model=MODEL) as server:
        ran = bench.run(bench.recipe(checks=[], more=SMALL), "--base-url", server.base_url)
        asked = [item for item in server.requests if item.body and item.json.get("stream")]
    assert ran.code == 0, ran.err
    assert finished(bench) == ALL
    assert sum(event.failed for event in measured(bench)) == 5  # every third of sixteen
    for seen in loads(bench):
        event = seen.event
        assert isinstance(event, LoadMeasured)
        assert event.completed + event.failed == event.expected
        assert ("requests_failed" in event.findings) == bool(event.failed)
        assert ("load_refused" in event.findings) == (bool(event.failed) and status in (429, 503))
        failed = [row for row in rows_of(bench, seen) if row.outcome == "failed"]
        assert {(row.failure, row.http_status) for row in failed} <= {(failure, status)}
        assert {(row.ttfo_ns, row.ttft_ns, row.end_ns) for row in failed} <= {(None, None, None)}
    assert Counter(hashlib.sha256(item.body).hexdigest() for item in asked) == sent(bench)
    assert [len(cell.runs) for cell in cells_of(bench)] == [2, 2]
    bench.require_whole()


def test_an_endpoint_that_goes_away_in_a_cell_and_comes_back(bench: Bench) -> None:
    """Nobody launched it, so nobody sees it end: its requests fail, and the next cell is tried."""
    streams = Counter[str]()

    def chat(asked: Any) -> Chat | Reply:
        streams["all"] += bool(asked.get("stream"))
        is_away = 3 <= streams["all"] <= 5  # warm-up, then the first run
        return Reply([RESET], raw=True) if is_away and asked.get("stream") else good()

    with Server(chat=chat, model=MODEL) as server:
        ran = bench.run(bench.recipe(checks=[], more=SMALL), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    _, first, second, *_ = measured(bench)
    assert (first.completed, first.failed, second.completed) == (0, 3, 3)
    assert finished(bench) == ALL


def test_an_endpoint_that_never_answers_again_ends_nothing_but_its_requests(bench: Bench) -> None:
    with Server(chat=lambda _: good(), model=MODEL) as server:
        streams = Counter[str]()

        def chat(asked: Any) -> Chat:
            streams["all"] += bool(asked.get("stream"))
            if streams["all"] == 4:
                server.refuse_connections()
            return good()

        server._chat = chat
        ran = bench.run(bench.recipe(checks=[], more=SMALL), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    assert finished(bench) == ALL
    later = [event for event in measured(bench) if event.cell == "c2"]
    assert {(event.completed, event.canary) for event in later} == {(0, "unanswered")}
    failed = [row for seen in loads(bench)[3:] for row in rows_of(bench, seen)]
    assert {row.failure for row in failed} == {"connection_failed"}
    bench.require_whole()


# --- the disk and the clock -----------------------------------------------------------------------------------


@pytest.mark.needs("mount")
def test_a_disk_that_is_full_under_the_load(bench: Bench) -> None:
    """What came until then is kept, the run says aborted and why, and so does whoever watches."""
    (bench.directory / "anvil-site.toml").write_text("min_free_bytes = 0\n")
    (bench.ledger / "runs").mkdir(mode=0o700)
    words = " ".join(["word"] * 2000)
    with (
        faults.disk(bench.ledger / "runs" / "loads", 64),
        Server(chat=lambda _: Chat(content=f"Paris {words}", completion_tokens=2001), model=MODEL) as server,
    ):
        recipe = bench.recipe(checks=[], more=SMALL.replace("requests = 3", "requests = 9"))
        ran = bench.run(recipe, "--base-url", server.base_url)
        assert "No space left on device" in ran.err
        assert "Traceback" not in ran.err
        assert "fault of anvil" not in ran.err
    events_ = measured(bench)
    aborted = [event for event in events_ if event.outcome == "aborted"]
    assert aborted
    for event in aborted:
        assert "load_client_ended" in event.findings
    assert bench.run("--recover").code == 0
    bench.require_whole()


def test_a_disk_below_the_site_s_least_is_seen_before_the_load(bench: Bench) -> None:
    (bench.directory / "anvil-site.toml").write_text("min_free_bytes = 9_000_000_000_000_000\n")
    ran = bench.run(bench.recipe(checks=[], more=SMALL), "--base-url", "http://127.0.0.1:9")
    assert ran.code == 1
    assert "the loads under way" in ran.err
    assert bench.events(RecipeDeclared) == []


STEPPING = """
import sys
from dataclasses import replace
from anvil.collectors.load import clocks, worker
watch = clocks.Clocks.watch
clocks.Clocks.watch = lambda self: replace(watch(self), is_stepped=True)
worker.main()
"""
"""The load client of a host whose clock is set all the time."""


def test_a_clock_that_is_set_meanwhile_makes_runs_void(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are kept, they are in no figure, and they are not measured again."""
    monkeypatch.setattr("anvil.collectors.load.process.WORKER", (sys.executable, "-P", "-c", STEPPING))
    with Server(chat=lambda _: good(), model=MODEL) as server:
        ran = bench.run(bench.recipe(checks=[], more=SMALL), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    assert {(event.outcome, event.completed == event.expected) for event in measured(bench)} == {
        ("void", True)
    }
    assert all("clock_stepped" in event.findings for event in measured(bench))
    assert [[one.reason for one in cell.left_out] for cell in cells_of(bench)] == [["clock_stepped"] * 2] * 2
    ran = bench.run("--resume", last_run(bench), "--base-url", server.base_url)
    assert "nothing is left" in ran.err
    bench.require_whole()


def kill_load_client(number: signal.Signals) -> None:
    """Kill the load client of this process, as a host without memory would, or one that shuts down."""
    listed = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "pid=,args="], capture_output=True, text=True, check=True
    )
    for line in listed.stdout.splitlines():
        if "anvil.collectors.load.worker" in line:
            os.kill(int(line.split()[0]), number)


@pytest.mark.parametrize(
    ("number", "said", "rows"), [(signal.SIGKILL, "signal 9", 1), (signal.SIGTERM, "a signal ended it", 2)]
)
def test_a_load_client_that_is_killed_costs_its_run_and_no_other(
    bench: Bench, number: signal.Signals, said: str, rows: int
) -> None:
    """Asked to end, it still keeps the request that was under way."""
    streams = Counter[str]()

    def chat(asked: Any) -> Chat:
        streams["all"] += bool(asked.get("stream"))
        if asked.get("stream") and streams["all"] == 4:  # warm-up has two, and the first run three
            time.sleep(1)  # what ended is written when the client has nothing to read
            kill_load_client(number)
            time.sleep(0.5)
        return good()

    with Server(chat=chat, model=MODEL) as server:
        ran = bench.run(bench.recipe(checks=[], more=SMALL), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    assert said in ran.err
    assert len(rows_of(bench, loads(bench)[1])) == rows
    broken = measured(bench)[1]
    assert (broken.outcome, broken.completed) == ("aborted", 1)
    assert "load_client_ended" in broken.findings
    assert finished(bench) == ALL - Counter({("c1", 1): 1})
    bench.require_whole()


def test_a_container_engine_that_cannot_be_reached_for_a_moment_costs_no_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model's server goes on meanwhile, and so does what is measured."""
    is_streaming = threading.Event()
    unreachable: list[int] = []

    async def has_exited(_running: object) -> bool:
        if is_streaming.is_set():
            unreachable.append(1)
            raise EngineUnreachable("no container engine answers")
        return False

    def chat(asked: Any) -> Chat:
        if asked.get("stream"):
            is_streaming.set()
            time.sleep(1.2)
            is_streaming.clear()
        return good()

    monkeypatch.setattr("anvil.collectors.running.attempt.has_exited", has_exited)
    one = SMALL.replace("[1, 2]", "[1]").replace("requests = 3, runs = 2", "requests = 1, runs = 1")
    with Server(chat=chat, model=MODEL) as server:
        ran = bench.run(bench.recipe(checks=[], more=one), "--base-url", server.base_url)
    assert ran.code == 0, ran.err
    assert unreachable
    assert {event.outcome for event in measured(bench)} == {"completed"}
    bench.require_whole()
