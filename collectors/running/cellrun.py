"""One run of a cell: its folder, the load client's process, what is read beside, and its event.

1. What the run is stands on disk before its first request. The attempt record is in the blob store before
   anything is parsed or judged.
2. An interrupt, or an engine that ends meanwhile, ends the run in order: what came is kept, and its event says
   `aborted`. Nothing that was sent is sent again.
3. The engine's counters are read just before and just after; its GPUs are watched meanwhile.
4. When this process is killed, the client's ends by itself and the folder stays: `anvil.collectors.recovery` tells of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anvil.collectors.cleaning import clean_event
from anvil.collectors.host.telemetry import Telemetry
from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.collectors.load.cachestate import EngineCounts, prove_state
from anvil.collectors.load.findings import Asked, find
from anvil.collectors.load.loop import Progress
from anvil.collectors.load.process import Load, LoadProcess
from anvil.collectors.load.spool import Spool
from anvil.collectors.protocols import NOTHING_MORE, Cell, LoadProtocol, Phase, ProtocolContext
from anvil.collectors.protocols.interface import RunPlan
from anvil.collectors.protocols.measured import Begun, Beside, KeptRun, attachments, measured
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.reports.counters import Counts, count
from anvil.collectors.running.waiting import to_the_end
from anvil.collectors.withholding import Secrets
from anvil.ledger.blobs import BlobRef
from anvil.ledger.errors import CollectorError
from anvil.ledger.events import Event, LoadMeasured
from anvil.ledger.events.checks import FailureClass, Parameter
from anvil.ledger.events.load import CanaryState
from anvil.ledger.header import Subject
from anvil.ledger.rows import read_rows

_LOOK_S = 0.5
_LAST_WORDS_S = 0.5  # the kernel's resets arrive before the client is asked to stop

_EXIT_SHOWS_S = 1.0
_BROKEN: frozenset[FailureClass | None] = frozenset(
    {"connection_failed", "connection_stale", "connection_reset", "truncated_stream"}
)

ReadMetrics = Callable[[], Awaitable[str | None]]


@dataclass(frozen=True)
class Ran:
    """What a run came to. `is_over` says that the engine ended, so that nothing more can be measured.

    `problem` is what went wrong with the load client, null when nothing did.
    """

    event: LoadMeasured
    kept: KeptRun
    counted: EngineCounts
    is_over: bool = False
    problem: BaseException | None = None


@dataclass(frozen=True)
class Before:
    """What was found out before the runs of a cell: the canary's verdict and the client's own resolution."""

    canary: CanaryState
    resolution_ns: int | None = None
    observed: tuple[Parameter, ...] = ()
    template_tokens: int | None = None


@dataclass(frozen=True)
class Turn:
    """Which run it is: the `number`-th of a phase of a cell."""

    protocol: LoadProtocol[Any]
    ctx: ProtocolContext[Any]
    cell: Cell
    phase: Phase
    number: int
    before: Before


@dataclass(frozen=True)
class _Followed:
    """How a client's process was left: whether the engine ended, and what else went wrong."""

    is_over: bool
    interrupted: asyncio.CancelledError | None
    problem: BaseException | None


@dataclass
class CellRuns:
    """Carries out runs of cells against one engine."""

    recorder: LedgerRecorder
    subject: Subject
    secrets: Secrets
    endpoint: Endpoint
    deadlines: Deadlines
    spools: Path
    stream: str
    engine: str
    gpus: Sequence[str]
    metrics: ReadMetrics
    has_exited: Callable[[], Awaitable[bool]]
    _number: int = 0

    async def carry_out(self, turn: Turn, told: Callable[[Progress], None]) -> Ran:
        """Send the requests of a run, keep what came and append its event.

        Raises:
            CollectorError: its requests cannot be made, or the load client could not begin.
            CancelledError: it was interrupted; what came is recorded.
        """
        plan = await turn.protocol.plan(turn.ctx, turn.cell, turn.phase, turn.number)
        begun, spool = self._begin(turn, plan)
        load = Load(
            self.endpoint, plan.requests, turn.cell.concurrency or 0, self.deadlines, spool, plan.schedule
        )
        process = LoadProcess(load.job(), told)
        earlier = await self.metrics()
        with Telemetry(self.gpus) as telemetry:
            followed = await self._follow(process)
        is_cut = followed.is_over or followed.interrupted is not None
        later = None if is_cut else await self.metrics()
        ending = asyncio.ensure_future(asyncio.to_thread(self._keep, spool, followed.problem))
        interrupted = await to_the_end(ending) or followed.interrupted
        record, kept, rows = ending.result()
        if interrupted is None and not followed.is_over:
            followed = replace(followed, is_over=await self._has_ended(kept))
        counts = count(self.engine, earlier, later)
        beside = self._beside(turn, plan, kept, telemetry, counts)
        event = self._record(turn, plan, begun, beside, followed, (record, kept, rows), telemetry.content())
        spool.remove()
        if interrupted is not None:
            raise interrupted
        return Ran(event, kept, counted(counts), followed.is_over, followed.problem)

    def _begin(self, turn: Turn, plan: RunPlan) -> tuple[Begun, Spool]:
        lines = plan.prompt_lines
        prompts = None if lines is None else self.recorder.keep(lines, name="prompts")
        begun = Begun.of(
            self.subject,
            turn.ctx.name,
            turn.protocol.id,
            turn.protocol.version,
            turn.cell,
            turn.phase,
            turn.number,
            plan,
            prompts,
            canary=turn.before.canary,
            resolution_ns=turn.before.resolution_ns,
            observed=turn.before.observed,
            thinking=turn.ctx.parameters.thinking,
        )
        self._number += 1
        return begun, Spool.begin(self.spools, f"{self.stream}.{self._number}", begun.spelled())

    async def _follow(self, process: LoadProcess) -> _Followed:
        """Wait for the client, and make it end when the engine has, or when the run is interrupted."""
        running = asyncio.ensure_future(process.run())
        is_over = False
        interrupted: asyncio.CancelledError | None = None
        while not running.done():
            try:
                await asyncio.wait({running}, timeout=_LOOK_S)
                if not is_over and not running.done() and await self._is_gone():
                    is_over = True
                    await asyncio.wait({running}, timeout=_LAST_WORDS_S)
                    process.stop()
            except asyncio.CancelledError as error:
                interrupted = error
                process.stop()
        problem = running.exception()
        if problem is not None and not isinstance(problem, CollectorError):
            raise problem
        return _Followed(is_over, interrupted, problem)

    async def _has_ended(self, kept: KeptRun) -> bool:
        """Say whether the engine is gone; its connections break a moment before the system says so."""
        broke = any(row.failure in _BROKEN for row in kept.rows)
        until = time.monotonic() + (_EXIT_SHOWS_S if broke else 0.0)
        while not (is_gone := await self._is_gone()) and time.monotonic() < until:
            await asyncio.sleep(0.05)
        return is_gone

    async def _is_gone(self) -> bool:
        """Say whether the engine has ended; while nobody can tell, what is measured goes on."""
        try:
            return await self.has_exited()
        except EngineUnreachable:
            return False

    def _keep(self, spool: Spool, problem: BaseException | None) -> tuple[BlobRef, KeptRun, BlobRef]:
        """Keep the record, and only then parse it (rule 1).

        Raises:
            CollectorError: nothing was sent: the client did not begin.
        """
        path = spool.record()
        if path is None:
            spool.remove()
            raise CollectorError(f"nothing was sent: {problem or 'the load client did not begin'}")
        record = self.recorder.keep_file(path, name="record")
        kept = KeptRun.read(path)
        return record, kept, self.recorder.keep(kept.rows_bytes, name="rows")

    def _beside(
        self, turn: Turn, plan: RunPlan, kept: KeptRun, telemetry: Telemetry, counts: Counts | None
    ) -> Beside:
        cell = turn.cell
        proof = prove_state(
            kept.rows,
            cell.cache_wanted,
            shares_prefix=cell.shared_prefix_tokens > 0,
            template=turn.before.template_tokens,
            counted=counted(counts),
        )
        asked = Asked(
            len(plan.requests), cell.output_cap_tokens, cell.input_target_tokens, ignores_eos=cell.ignores_eos
        )
        found = [finding.label for finding in find(*read_rows(kept.rows_bytes), asked)]
        facts = () if counts is None else counts.facts
        return Beside(
            counters=facts,
            counters_missing=None if facts else "no_table" if counts is None else "not_exposed",
            telemetry_missing=telemetry.missing,
            cache_state=proof.state,
            findings=tuple(dict.fromkeys([*found, *proof.findings])),
            observed=(
                Parameter(name="cache_basis", value=proof.basis),
                *_told_of_template(turn.before.template_tokens),
            ),
        )

    def _record(
        self,
        turn: Turn,
        plan: RunPlan,
        begun: Begun,
        beside: Beside,
        followed: _Followed,
        came: tuple[BlobRef, KeptRun, BlobRef],
        watched: bytes | None,
    ) -> LoadMeasured:
        """Append the event of the run, and those of its protocol."""
        record, kept, rows = came
        concluded = NOTHING_MORE
        if turn.phase == "measured":
            concluded = turn.protocol.conclude(turn.ctx, turn.cell, plan, kept)
        also = ("engine_exited",) if followed.is_over else ()
        client = ("load_client_ended",) if followed.problem is not None else ()
        findings = tuple(dict.fromkeys([*beside.findings, *concluded.findings, *also, *client]))
        event = measured(begun, kept, replace(beside, findings=findings))
        telemetry = None if watched is None else self.recorder.keep(watched, name="telemetry")
        self._append(event, attachments(begun, record, rows, telemetry))
        for more, attached in concluded.events:
            self._append(more, attached)
        return event

    def _append(self, event: Event, attached: Sequence[Any]) -> None:
        self.recorder.append(
            clean_event(event, self.secrets), subject=self.subject, attachments=tuple(attached)
        )


def counted(counts: Counts | None) -> EngineCounts:
    """Return what the engine counted of prompts."""
    names = ("cached_prompt_tokens", "prompt_tokens", "computed_prompt_tokens")
    return EngineCounts(*(None if counts is None else counts.of(name) for name in names))


def _told_of_template(tokens: int | None) -> tuple[Parameter, ...]:
    return () if tokens is None else (Parameter(name="template_tokens", value=tokens),)
