"""Two seconds against our own server, at a given concurrency and chunk rate, over the same transport."""

from __future__ import annotations

import time
from dataclasses import dataclass

from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.load.clocks import Clocks
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.requests import PlannedRequest, Target
from anvil.collectors.load.resolution import Resolution, compare
from anvil.collectors.load.truth import MODEL, TRUTH, Schedule, truth_server

_SAMPLES = 320
_FIRST_NS = 5_000_000
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Calibration:
    """What was asked for, and what came of it.

    `rate` is in tokens a second over all streams, `reached` what the server really wrote in that time;
    `cpu_ns` is what the client's processor time was for each token.
    """

    concurrency: int
    rate: int
    reached: int
    cpu_ns: int
    stepped: bool
    is_tls: bool
    resolution: Resolution


def plan(concurrency: int, rate: int, seconds: int) -> tuple[Schedule, int]:
    """Return how the server shall answer, and how many requests are sent.

    There are as many requests as the 99th percentile of their ttfo needs, unless they would then have
    fewer than four tokens; each stream has at least one.
    """
    tokens = rate * seconds
    requests = max(concurrency, min(_SAMPLES, tokens // 4))
    requests += -requests % concurrency
    gap_ns = concurrency * _SECOND_NS // rate
    return Schedule(max(4, tokens // requests), _FIRST_NS, gap_ns), requests


def calibrate(concurrency: int, rate: int, seconds: int = 2, *, is_tls: bool = False) -> Calibration:
    """Measure the client's own resolution, over TLS where the endpoint is reached so.

    Raises:
        CollectorError: the server does not start.
    """
    return carry_out(*plan(concurrency, rate, seconds), concurrency, is_tls=is_tls)


def carry_out(
    schedule: Schedule,
    requests: int,
    concurrency: int,
    program: tuple[str, ...] = TRUTH,
    *,
    is_tls: bool = False,
) -> Calibration:
    """Send so many requests to a server with this schedule, and compare.

    Raises:
        CollectorError: the server does not start.
    """
    lasts_s = (schedule.first_ns + schedule.chunks * schedule.gap_ns) / _SECOND_NS
    deadlines = Deadlines(connect_s=5, first_byte_s=10, idle_s=10 + lasts_s, total_s=10 + 2 * lasts_s)
    planned = [PlannedRequest(number, b'{"stream":true,"seed":%d}' % number) for number in range(requests)]
    clocks = Clocks()
    with truth_server(schedule, program, is_tls=is_tls) as server:
        target = Target.of(Endpoint(server.base_url, MODEL), tls=server.trust)
        loop = ClosedLoop(target, planned, concurrency=concurrency, deadlines=deadlines, clocks=clocks)
        before = time.process_time_ns()
        run, records = loop.run()
        spent = time.process_time_ns() - before
        notes = server.finish()
    found = compare(clocks.base_ns, run, records, notes, requests)
    written = sorted(moment for note in notes.values() for moment in note.writes_ns)
    wall = written[-1] - written[0] if len(written) > 1 else 0
    return Calibration(
        concurrency=concurrency,
        rate=concurrency * _SECOND_NS // schedule.gap_ns,
        reached=len(written) * _SECOND_NS // wall if wall else 0,
        cpu_ns=spent // max(1, len(written)),
        stepped=run.stepped,
        is_tls=is_tls,
        resolution=found,
    )
