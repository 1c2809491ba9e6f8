"""Carries load protocols out against a server of ours, run by run, without a ledger.

runs = measured("near-limit", {"output_tokens": 8}, server, window_tokens=500)
runs[0].rows                # what came of each request
runs[0].concluded.findings  # what only this protocol knows of it
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anvil.collectors.checks import UnderTest
from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.client import Client
from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.load.closed_loop import ClosedLoop
from anvil.collectors.load.loop import Loop
from anvil.collectors.load.open_loop import OpenLoop
from anvil.collectors.load.prompts import TokenSource
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.load.requests import Target
from anvil.collectors.load.rows import read_request
from anvil.collectors.protocols import (
    PROTOCOLS,
    Cell,
    Concluded,
    Phase,
    ProtocolContext,
    RunPlan,
    parameters_of,
)
from anvil.collectors.running.counting import Counting
from anvil.ledger.rows import Row
from support.checking import SEED, MemoryRecorder
from support.endpoint import Server
from support.loading import MODEL

SLOW = Deadlines(10, 300, 300, 600)


@dataclass
class Measured:
    """A run that has ended, and what its protocol says of it."""

    cell: Cell
    phase: Phase
    plan: RunPlan
    run: RunRecord
    records: Sequence[RequestRecord]
    rows: Sequence[Row]
    recorder: MemoryRecorder
    concluded: Concluded = field(default_factory=Concluded)

    def requests(self) -> Iterator[RequestRecord]:
        """Yield each request."""
        yield from self.records

    @property
    def events(self) -> list[Any]:
        """The protocol's own events."""
        return [event for event, _ in self.concluded.events]


def context(
    kind: str,
    given: Mapping[str, Any],
    base_url: str,
    client: Client,
    tokens: TokenSource | None,
    window: int | None,
) -> tuple[ProtocolContext[Any], MemoryRecorder]:
    """Return the context of a protocol, and the recorder that its checks keep bytes with."""
    recorder = MemoryRecorder()
    under_test = UnderTest(
        recorder,
        client,
        Endpoint(base_url, MODEL),
        ThinkingControl("none"),
        SEED,
        cap_field="max_tokens",
        window_tokens=window,
    )
    return ProtocolContext(kind, parameters_of(kind, given), under_test, "this-run", tokens), recorder


def measured(
    kind: str,
    given: Mapping[str, Any],
    server: Server,
    window_tokens: int | None = None,
    *,
    stop_after: int | None = None,
) -> list[Measured]:
    """Carry out every run of every cell, warm-ups too, and return them in order.

    With `stop_after` each run ends after so many requests, as if it had been interrupted.
    """
    return asyncio.run(_carried_out(kind, given, server.base_url, window_tokens, stop_after))


def measured_at(
    base_url: str, kind: str, given: Mapping[str, Any], window_tokens: int | None = None
) -> list[Measured]:
    """Carry out a protocol at an engine that serves `support.loading.MODEL`."""
    return asyncio.run(_carried_out(kind, given, base_url, window_tokens, None))


async def _carried_out(
    kind: str, given: Mapping[str, Any], base_url: str, window_tokens: int | None, stop_after: int | None
) -> list[Measured]:
    protocol = PROTOCOLS[kind]
    endpoint = Endpoint(base_url, MODEL)
    found: list[Measured] = []
    async with Client(endpoint) as client:
        tokens = await Counting(client, MODEL, "max_tokens").source(1)
        ctx, recorder = context(kind, given, base_url, client, tokens, window_tokens)
        for cell in protocol.cells(ctx.parameters):
            phases: list[tuple[Phase, int]] = [("warm-up", 1)] if cell.warmup_requests else []
            for phase, number in [*phases, *(("measured", run) for run in range(1, cell.runs + 1))]:
                plan = await protocol.plan(ctx, cell, phase, number)
                run, records = _loop(endpoint, cell, plan, stop_after).run()
                rows = [read_request(run, record).row for record in records]
                done = Measured(cell, phase, plan, run, records, rows, recorder)
                if phase == "measured":
                    done.concluded = protocol.conclude(ctx, cell, plan, done)
                found.append(done)
    return found


def _loop(endpoint: Endpoint, cell: Cell, plan: RunPlan, stop_after: int | None) -> Loop:
    target, requests = Target.of(endpoint), plan.requests[:stop_after]
    if plan.schedule is not None:
        return OpenLoop(target, requests, schedule=plan.schedule[:stop_after], deadlines=SLOW)
    return ClosedLoop(target, requests, concurrency=cell.concurrency or 1, deadlines=SLOW)
