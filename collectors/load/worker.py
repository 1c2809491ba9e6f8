"""The load client's own process: `python -m anvil.collectors.load.worker`.

1. It is a process of its own so that nothing else of a run can hold it up: neither what the run
   appends and prints, nor another lane, nor the collector of garbage. It is not bound to a core: it sleeps
   most of the time, and a machine of two cores needs both for whatever is awake.
2. Its standard input begins with one line, the job. Secrets come this way and stand neither in its argv nor
   in its environment nor on disk. The input stays open for as long as the run is wanted: its end, also that
   of whoever gave the job, stops the run in order.
3. It prints a line of progress twice a second and when the last request has ended, and one line when all is done.
   Signals from the terminal are for whoever gave the job; it ignores them. SIGTERM, which a host that shuts down sends to
   everybody, stops the run in order: what is under way is kept.
4. It may open as many files as the system lets it: each connection is one.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.load.calibration import calibrate
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.loop import Loop, Progress
from anvil.collectors.load.open_loop import OpenLoop
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.spool import Spool
from anvil.collectors.trust import trusting
from anvil.ledger.errors import AnvilError

_EVERY_NS = 500_000_000


def main() -> None:
    """Do one job."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    job = json.loads(sys.stdin.buffer.readline())
    try:
        done = _calibrated(job["calibrate"]) if "calibrate" in job else _loaded(job)
    except AnvilError as error:
        done = {"error": str(error)}
    _say(done)


def _calibrated(job: dict[str, Any]) -> dict[str, Any]:
    found = calibrate(job["concurrency"], job["rate"], job["seconds"], is_tls=job["is_tls"])
    return {"calibration": asdict(found) | {"resolution_ns": found.resolution.resolution_ns}}


def _loaded(job: dict[str, Any]) -> dict[str, Any]:
    spool = Spool(Path(job["spool"]))
    spool.hold()
    stop, is_signalled = _stopping()
    at = dict(job["endpoint"])
    ca_file = None if at["ca_file"] is None else Path(at.pop("ca_file"))
    endpoint = Endpoint(at["base_url"], at["served_model"], headers=at["headers"], ca_file=ca_file)
    is_tls = endpoint.base_url.startswith("https:")
    target = Target.of(endpoint, tls=trusting(ca_file) if is_tls else None)
    requests = [PlannedRequest(index, body.encode(), cap) for index, cap, body in job["requests"]]
    schedule = job["schedule"]
    del job
    writing = spool.writing()
    more: dict[str, Any] = {
        "deadlines": Deadlines(**at["deadlines"]),
        "stop": stop,
        "keep": writing.keep,
        "told": _Telling(len(requests)).told,
    }
    loop: Loop
    if schedule is None:
        loop = ClosedLoop(target, requests, concurrency=at["concurrency"], **more)
    else:
        loop = OpenLoop(target, requests, schedule=schedule, **more)
    with closing(writing):
        writing.begun(loop.so_far())
        gc.collect()
        gc.freeze()
        run, _ = loop.run()
        writing.end(run)
    return {"error": "a signal ended it"} if is_signalled.is_set() else {"ended": True}


def _stopping() -> tuple[threading.Event, threading.Event]:
    """Return what is set when the run is to end, and what is set when a signal asked for it (rules 2 and 3)."""
    stop, is_signalled = threading.Event(), threading.Event()

    def on_term(_number: int, _frame: FrameType | None) -> None:
        is_signalled.set()
        stop.set()

    signal.signal(signal.SIGTERM, on_term)
    threading.Thread(target=_wait_for_the_end, args=(stop,), daemon=True).start()
    return stop, is_signalled


def _wait_for_the_end(stop: threading.Event) -> None:
    # Not through the buffer of `sys.stdin`: the interpreter could not end while a thread waits in it.
    while os.read(sys.stdin.fileno(), 1 << 16):
        pass
    stop.set()


class _Telling:
    """Says how far the run is, twice a second and when all is done."""

    def __init__(self, requests: int) -> None:
        self._requests = requests
        self._next_ns = _EVERY_NS

    def told(self, progress: Progress) -> None:
        if progress.since_ns >= self._next_ns or progress.ended == self._requests:
            self._next_ns = progress.since_ns + _EVERY_NS
            _say({"progress": asdict(progress)})


def _say(line: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    except OSError:
        pass  # nobody listens any more; what came is on disk


if __name__ == "__main__":
    main()
