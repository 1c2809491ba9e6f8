"""Ctrl-C, SIGTERM and SIGKILL at each phase of a load: all that was sent is in a record, and a resume does the rest."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from support.endpoint import Chat, Reply, Request, Server
from support.interrupting import ANVIL
from support.loads import SMALL, cells_of, finished, last_run, measured, sent
from support.running import Bench

from anvil.ledger.events import CaveatNoted

ALL = Counter({(cell, run): 1 for cell in ("c1", "c2") for run in (1, 2)})
MODEL = "org/tiny"


def good() -> Chat:
    return Chat(content="Paris is it", completion_tokens=3)


def is_canary(request: Request) -> bool:
    return b"capital of France" in request.body


def is_stream(request: Request) -> bool:
    return b'"stream":true' in request.body


def at(path: str) -> Callable[[Request], bool]:
    return lambda request: request.path == path


PHASES: dict[str, tuple[Callable[[Request], bool], int]] = {
    "identity": (at("/version"), 1),
    "counting": (at("/tokenize"), 1),
    "first canary": (is_canary, 1),
    "counters before the warm-up": (at("/metrics"), 1),
    "warm-up": (is_stream, 1),
    "counters after the warm-up": (at("/metrics"), 2),
    "counters before a run": (at("/metrics"), 3),
    "run": (is_stream, 4),
    "counters after a run": (at("/metrics"), 4),
    "canary between cells": (is_canary, 2),
    "last canary": (is_canary, 3),
}
OFTEN = {
    "INT": {"counters after a run", "canary between cells", "warm-up"},
    "KILL": {"run", "counters after a run"},
}


def signalled(bench: Bench, phase: str, number: signal.Signals) -> tuple[int, list[Request]]:
    """Run, and send a signal when the endpoint is asked what belongs to the phase.

    Return how the run ended, and the streams that the endpoint was asked for.
    """
    matches, which = PHASES[phase]
    begun, times = threading.Event(), Counter[str]()
    children: list[subprocess.Popen[bytes]] = []

    def watched(request: Request) -> None:
        times[phase] += matches(request)
        if matches(request) and times[phase] == which:
            begun.wait(60)
            children[0].send_signal(number)
            time.sleep(0.5)

    with watching(watched) as server:
        argv = [ANVIL, "run", bench.recipe(checks=[], more=SMALL), "--base-url", server.base_url]
        with subprocess.Popen(list(map(str, argv)), stderr=subprocess.PIPE) as child:
            children.append(child)
            begun.set()
            child.communicate(timeout=120)
        return child.returncode, [item for item in server.requests if is_stream(item)]


def watching(watched: Callable[[Request], None]) -> Server:
    server = Server(model=MODEL)

    def chat(request: Request) -> Chat:
        watched(request)
        time.sleep(0.1 if is_stream(request) else 0)
        return good()

    def metrics(request: Request) -> Reply:
        watched(request)
        return Reply(b"", content_type="text/plain")

    def version(request: Request) -> dict[str, str]:
        watched(request)
        return {"version": "1.2.3"}

    def tokenize(request: Request) -> Reply:
        watched(request)
        return Reply.of_json({}, 404)

    server.on("/v1/chat/completions", chat)
    server.on("/metrics", metrics)
    server.on("/version", version)
    server.on("/tokenize", tokenize)
    return server


def cases() -> list[Any]:
    found = []
    for phase in PHASES:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            often = phase in OFTEN.get(number.name.removeprefix("SIG"), ())
            marks = [] if often else [pytest.mark.soak]
            found.append(pytest.param(phase, number, id=f"{phase}-{number.name}", marks=marks))
    return found


@pytest.mark.parametrize(("phase", "number"), cases())
def test_a_signal_at_each_phase(bench: Bench, phase: str, number: signal.Signals) -> None:
    code, asked = signalled(bench, phase, number)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert bench.run("--recover").code == 0
    bench.require_whole()
    bench.require_nothing_running()
    digests = Counter(hashlib.sha256(item.body).hexdigest() for item in asked)
    assert not digests - sent(bench), "a request is in no record"
    before = finished(bench)
    assert max(before.values(), default=1) == 1
    with watching(lambda _: None) as server:
        ran = bench.run("--resume", last_run(bench), "--base-url", server.base_url)
    is_over = ran.code == 1 and "nothing is left" in ran.err
    assert is_over or ran.code == 0, ran.err
    whole = {cell for cell, _ in ALL if all((cell, run) in before for run in (1, 2))}
    left = Counter({key: 1 for key in ALL if key[0] not in whole})
    assert finished(bench) == before + left
    assert [[run.event.run for run in cell.runs] for cell in cells_of(bench)] == [[1, 2], [1, 2]]
    assert max(sent(bench).values()) == 1
    bench.require_whole()


def test_a_record_that_the_power_took_is_kept_and_named(bench: Bench) -> None:
    """A file system may have a file's length and not its bytes; recovery does not stop at that for ever."""
    assert signalled(bench, "run", signal.SIGKILL)[0] == -signal.SIGKILL
    until = time.monotonic() + 60
    while not (left := list((bench.ledger / "runs" / "loads").glob("*/record"))):
        assert time.monotonic() < until, "the load client never ended"
        time.sleep(0.05)
    for path in left:
        path.write_bytes(bytes(50) + b"\n")
    count = len(measured(bench))
    ran = bench.run("--recover")
    assert ran.code == 0, ran.err
    assert len(measured(bench)) == count
    texts = [event.text for event in bench.events(CaveatNoted)]
    assert sum("cannot be read; its bytes are kept" in text for text in texts) == 1
    assert bench.body("record") == bytes(50) + b"\n"
    bench.require_whole()
    bench.require_nothing_running()
