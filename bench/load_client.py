"""Measure 8: how far the load client is off, beside a server that notes when it really wrote.

Time to the first token at 1 to 256 streams of 50 tokens a second; gaps at 12,800 tokens a second; the
same while the client is stalled for 15 ms of every 50; and how many tokens a second one core takes, with
the lag and the processor time that they cost. The server is in C where there is a compiler, since the one
in Python does not keep its schedule at the highest rate.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from measure import Row, Setting

from anvil.collectors.load.calibration import Calibration, carry_out
from anvil.collectors.load.resolution import Spread
from anvil.collectors.load.truth import TRUTH, Schedule

STREAMS = (1, 2, 5, 64, 256)
FIRST_NS, GAP_NS = 5_000_000, 20_000_000
STALL_S, EVERY_S = 0.015, 0.05
FASTEST = 56_000
"""Tokens a second while all streams send; between two requests a stream sends none."""


def measure(setting: Setting) -> list[Row]:
    program = _program(setting.folder)
    rows: list[Row] = []
    for streams in STREAMS:
        found = _sound(
            carry_out(Schedule(_chunks(streams), FIRST_NS, GAP_NS), _requests(streams), streams, program)
        )
        rows += _ttft(f"{streams} streams", found.resolution.ttfo_error)
        if streams == STREAMS[-1]:
            gaps = found.resolution.gap_error
            rows.append(Row(f"load: gap error p50, {found.rate} tokens/s", _ns(gaps.p50_ns) / 1e3, "us", 5))
            rows.append(Row(f"load: gap error p99, {found.rate} tokens/s", _ns(gaps.p99_ns) / 1e3, "us", 100))
    with _stalls():
        found = _sound(carry_out(Schedule(20, FIRST_NS, GAP_NS), 320, 64, program))
    rows += _ttft("64 streams, stalled 15 ms of every 50", found.resolution.ttfo_error)
    found = _calmest(program)
    return [
        *rows,
        Row("load: paced tokens a second on a core", found.reached, "tokens/s", 50_000, at_least=True),
        Row("load: loop lag p99 at that rate", _ns(found.resolution.lag.p99_ns) / 1e6, "ms", 1),
        Row("load: processor time a token", found.cpu_ns / 1e3, "us", 30),
    ]


def _calmest(program: tuple[str, ...]) -> Calibration:
    """Return the one of three runs at the highest rate in which the machine held the client up least."""
    schedule = Schedule(400, FIRST_NS, 64 * 10**9 // FASTEST)
    runs = [_sound(carry_out(schedule, 448, 64, program)) for _ in range(3)]
    return min(runs, key=lambda run: _ns(run.resolution.lag.p99_ns))


def _chunks(streams: int) -> int:
    """Few for few streams: each needs its time, and the 99th percentile many requests."""
    return 50 if streams == STREAMS[-1] else 3


def _requests(streams: int) -> int:
    return max(300 + -300 % streams, 2 * streams)


def _ttft(name: str, error: Spread) -> list[Row]:
    return [
        Row(f"load: ttft error p50, {name}", _ns(error.p50_ns) / 1e6, "ms", 0.1),
        Row(f"load: ttft error p99, {name}", _ns(error.bound_ns) / 1e6, "ms", 0.3),
    ]


def _ns(value: int | None) -> int:
    assert value is not None, "no samples"
    return value


def _sound(found: Calibration) -> Calibration:
    assert not found.stepped, "the clock was set meanwhile"
    assert found.resolution.completed == found.resolution.expected, "requests failed"
    return found


@contextmanager
def _stalls() -> Iterator[None]:
    """Hold the client up, as a busy interpreter or machine would."""

    def stall(_number: int, _frame: FrameType | None) -> None:
        end = time.monotonic() + STALL_S
        while time.monotonic() < end:
            pass

    before = signal.signal(signal.SIGALRM, stall)
    signal.setitimer(signal.ITIMER_REAL, EVERY_S, EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _program(folder: Path) -> tuple[str, ...]:
    """Return how the server is started."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return TRUTH
    program = folder / "truth_server"
    subprocess.run([compiler, "-O2", "-o", program, Path(__file__).with_name("truth_server.c")], check=True)
    return (str(program),)
