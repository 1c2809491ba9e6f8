"""Load protocols on a running engine, one after another: canaries, warm-up, calibration, runs.

1. The canary is asked before the first cell of a protocol, between cells, and after the last (`canaries`).
2. A cell begins with its warm-up, which is recorded and is in no figure. Then the client measures its own
   resolution for two seconds, against our own server, at the cell's concurrency, at the rate that the warm-up
   had, over the same transport. Then come the runs.
3. The two protocols of an experiment are carried out together, their runs alternately (`alternating`).
4. A cell whose requests cannot be made is left out, and a caveat names it. One that runs into an engine that
   ends, an interrupt or a full disk is the last.
5. Nothing that was measured is measured again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from anvil.collectors.checks import UnderTest
from anvil.collectors.interface import Deadlines
from anvil.collectors.load.cachestate import template_tokens
from anvil.collectors.load.findings import most_in_flight
from anvil.collectors.load.process import LoadProcess
from anvil.collectors.protocols import PROTOCOLS, Cell, Phase, ProtocolContext, parameters_of
from anvil.collectors.protocols.measured import KeptRun
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.running.alternating import side_by_side, together, turns
from anvil.collectors.running.canaries import Canaries, Over
from anvil.collectors.running.cellrun import Before, CellRuns, Ran, ReadMetrics, Turn
from anvil.collectors.running.counting import Counting
from anvil.collectors.running.declaring import SelectedCells
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.pace import Pace
from anvil.collectors.running.planning import Planned
from anvil.collectors.running.space import ADVICE, DiskFull, Space
from anvil.ledger.errors import CollectorError
from anvil.ledger.events import CaveatNoted, LoadMeasured
from anvil.ledger.events.checks import Parameter
from anvil.ledger.rows import Row, read_rows

CALIBRATION_S = 2
"""How long the client measures itself before a cell."""

_PER_STREAM = 50  # tokens a second, where no warm-up has told
_FASTEST = 20_000
_SECOND_NS = 1_000_000_000


@dataclass
class Measuring:
    """The protocols of one attempt. `stream` is where their events go, and salts their prompts."""

    planned: Planned
    recorder: LedgerRecorder
    narrator: Narrator
    space: Space
    spools: Path
    stream: str
    selected: Sequence[SelectedCells]
    pairs: Sequence[tuple[str, str]] = ()
    """The protocols that are compared with each other, control first."""
    before: Mapping[str, Mapping[str, Sequence[Row]]] = field(default_factory=dict)
    """The rows of cells that were measured before, in a run that this one goes on with, by protocol and cell."""
    canaries: Canaries = field(init=False)
    template: int | None = field(default=None, init=False)
    """How many tokens the chat template puts before every prompt; null while nothing has told."""

    def __post_init__(self) -> None:
        self.canaries = Canaries(self.planned, self.recorder, self.narrator)

    async def run(
        self, under_test: UnderTest, has_exited: Callable[[], Awaitable[bool]], metrics: ReadMetrics
    ) -> None:
        """Carry out what is selected.

        Raises:
            DiskFull: a disk has too little left; what was measured is recorded.
            CollectorError: something could not be kept.
        """
        if not self.selected:
            return
        limits = self.planned.attempt.deadlines
        runs = CellRuns(
            recorder=self.recorder,
            subject=self.planned.subject,
            secrets=self.planned.secrets,
            endpoint=under_test.endpoint,
            deadlines=Deadlines(first_byte_s=limits.first_byte_s, idle_s=limits.idle_gap_s),
            spools=self.spools,
            stream=self.stream,
            engine=self.planned.attempt.engine,
            gpus=self.planned.plan.gpus,
            metrics=metrics,
            has_exited=has_exited,
        )
        try:
            for group in together(self.selected, self.pairs):
                await _Together([_OneProtocol(self, runs, under_test, chosen) for chosen in group]).run()
        except Over:
            self.narrator.say(f"{self.planned.attempt.key}: the engine ended; nothing more is measured")

    def require_room(self) -> None:
        """Refuse to begin a run where a disk has too little.

        Raises:
            DiskFull: it has.
        """
        if (shortage := self.space.shortage()) is not None:
            key = self.planned.attempt.key
            raise DiskFull(f"attempt {key!r} was ended before its last cell: {shortage}", advice=ADVICE)

    def learn_template(self, cell: Cell, ran: Ran) -> int | None:
        """Return how many tokens the chat template has, once a warm-up has told (`cachestate`).

        Where requests do not report cached tokens the engine's counters stand in: all that the requests of a
        warm-up share is the template, which the canary has put into the cache before them.
        """
        if self.template is not None or cell.concurrency != 1 or cell.shared_prefix_tokens:
            return self.template
        rows, counted = ran.kept.rows, ran.counted
        self.template = template_tokens(rows)
        known = [row.prompt_tokens for row in rows if row.prompt_tokens is not None]
        is_alone = len(known) == len(rows) > 1 and sum(known) == counted.all_prompt_tokens
        if self.template is None and is_alone and counted.cached_tokens is not None:
            self.template = -(-counted.cached_tokens // len(rows))
        return self.template


@dataclass
class _Together:
    """Protocols under way: one, or two that are compared with each other (rule 3)."""

    protocols: Sequence[_OneProtocol]

    async def run(self) -> None:
        """Carry out their cells, canaries before, between and after them.

        Raises:
            Over: the engine has ended.
            CollectorError: a disk is full.
        """
        for protocol in self.protocols:
            await protocol.begin()
        for cells in side_by_side([protocol.chosen for protocol in self.protocols]):
            await self._carry_out([self.protocols[at].cell(cell) for at, cell in cells])
            for at, _ in cells:
                await self.protocols[at].ask_canary()

    async def _carry_out(self, cells: Sequence[_OneCell]) -> None:
        """Warm all up, then carry out their runs in turn; one whose requests cannot be made is left out (rule 4)."""
        left = [cell for cell in cells if await self._could(cell, cell.warm_up())]
        for at, number in turns([cell.turn.cell.runs for cell in left]):
            if not left[at].is_left_out:
                await self._could(left[at], left[at].measure(number))

    async def _could(self, cell: _OneCell, step: Awaitable[None]) -> bool:
        try:
            await step
        except CollectorError as error:
            if isinstance(error, DiskFull):
                raise
            cell.leave_out(error)
        return not cell.is_left_out


@dataclass
class _OneProtocol:
    """One protocol under way."""

    measuring: Measuring
    runs: CellRuns
    under_test: UnderTest
    chosen: SelectedCells
    _ctx: ProtocolContext[Any] = field(init=False)

    @property
    def _name(self) -> str:
        return self.chosen.protocol.name

    async def begin(self) -> None:
        """Ask the canary, and find out how tokens are counted.

        Raises:
            Over: the engine has ended.
        """
        selected = self.chosen.protocol
        ctx: ProtocolContext[Any] = ProtocolContext(
            name=selected.name,
            parameters=parameters_of(selected.id, selected.parameters),
            under_test=self.under_test,
            salt=self.measuring.stream,
            measured=dict(self.measuring.before.get(selected.name, {})),
        )
        await self.ask_canary()
        counting = self._counting(ctx)
        self._ctx = replace(ctx, tokens=await counting.source(ctx.seed_for("counting")))
        if self.measuring.template is None:
            self.measuring.template = await counting.template(ctx.seed_for("template"))

    def cell(self, cell: Cell) -> _OneCell:
        """Return one of its cells, to be carried out; `begin` comes before."""
        protocol = PROTOCOLS[self.chosen.protocol.id]
        return _OneCell(
            self, Turn(protocol, self._ctx, cell, "warm-up", 1, Before(self.measuring.canaries.state))
        )

    def _counting(self, ctx: ProtocolContext[Any]) -> Counting:
        members = self.under_test.thinking.members(ctx.parameters.thinking)
        served = self.under_test.endpoint.served_model
        return Counting(self.under_test.client, served, ctx.cap_member, members)

    async def ask_canary(self) -> None:
        """Ask the canary (rule 1).

        Raises:
            Over: the engine has ended.
        """
        await self.measuring.canaries.ask(self._name, self.under_test, self.runs.has_exited)

    def leave_out(self, cell: Cell, error: CollectorError) -> None:
        self.say(f"{self._name} {cell.name} is left out: {error}")
        caveat = CaveatNoted(
            text=f"Cell {cell.name} of protocol {self._name} could not be carried out.", about=()
        )
        self.measuring.recorder.append(caveat, subject=self.measuring.planned.subject)

    def say(self, text: str) -> None:
        """Tell who watches."""
        self.measuring.narrator.say(f"{self.measuring.planned.attempt.key}: {text}")


@dataclass
class _OneCell:
    """One cell under way. `turn` is its first: the warm-up."""

    protocol: _OneProtocol
    turn: Turn
    is_left_out: bool = False
    """Whether its requests could not be made."""
    _pace: Pace = field(init=False)
    _before: Before = field(init=False)
    _streams: int = field(init=False)
    """How many requests are in flight; in an open loop what the warm-up came to."""

    def __post_init__(self) -> None:
        self._pace = Pace(self.turn.cell)
        self._streams = self.turn.cell.concurrency or 1

    async def warm_up(self) -> None:
        """Warm up, and calibrate (rule 2).

        Raises:
            Over: the engine has ended.
            CollectorError: its requests cannot be made, or a disk is full.
        """
        cell, before = self.turn.cell, self.turn.before
        before = replace(before, template_tokens=self.protocol.measuring.template)
        rate = _PER_STREAM * self._streams
        if cell.warmup_requests:
            ran = await self._one("warm-up", 1, before)
            if cell.concurrency is None:
                self._streams = max(1, most_in_flight(*read_rows(ran.kept.rows_bytes)))
            rate = chunk_rate(ran.kept, self._streams) or rate
            template = self.protocol.measuring.learn_template(cell, ran)
            before = replace(before, template_tokens=template)
        self._before = await self._calibrated(before, rate)

    async def measure(self, number: int) -> None:
        """Carry out one of its runs; `warm_up` comes before.

        Raises:
            Over, CollectorError: as for `warm_up`.
        """
        await self._one("measured", number, self._before)

    def leave_out(self, error: CollectorError) -> None:
        """Say that it is left out, and why."""
        self.is_left_out = True
        self.protocol.leave_out(self.turn.cell, error)

    async def _one(self, phase: Phase, number: int, before: Before) -> Ran:
        measuring, cell = self.protocol.measuring, self.turn.cell
        measuring.require_room()
        if await self.protocol.runs.has_exited():
            raise Over
        which = f"{self._named}, {'warm-up' if phase == 'warm-up' else f'run {number} of {cell.runs}'}"
        expected = cell.warmup_requests if phase == "warm-up" else cell.requests
        measuring.narrator.begin(f"{measuring.planned.attempt.key}: {which}")
        self._pace.began()
        turn = replace(self.turn, phase=phase, number=number, before=before)
        ran = await self.protocol.runs.carry_out(
            turn,
            lambda progress: measuring.narrator.progress(
                f"{measuring.planned.attempt.key}: {which}: {self._pace.line(progress, expected)}"
            ),
        )
        self._pace.ended(expected)
        why = "" if ran.problem is None else f": {ran.problem}"
        self.protocol.say(f"{which}: {came_to(ran.event)}{why}")
        if ran.is_over:
            raise Over
        return ran

    @property
    def _named(self) -> str:
        return f"{self.turn.ctx.name} {self.turn.cell.name}"

    async def _calibrated(self, before: Before, rate: int) -> Before:
        """Measure the client's own resolution (rule 2); what cannot be measured is null, and said."""
        measuring = self.protocol.measuring
        measuring.narrator.begin(
            f"{measuring.planned.attempt.key}: {self._named}, measuring the client itself"
        )
        is_tls = self.protocol.under_test.endpoint.base_url.startswith("https:")
        job = {
            "concurrency": self._streams,
            "rate": max(self._streams, min(rate, _FASTEST)),
            "seconds": CALIBRATION_S,
            "is_tls": is_tls,
        }
        try:
            found = (await LoadProcess({"calibrate": job}).run())["calibration"]
        except CollectorError as error:
            self.protocol.say(f"{self._named}: the client's own resolution is not known: {error}")
            return before
        seen = found["resolution"]
        is_sound = not found["stepped"] and seen["completed"] == seen["expected"]
        told = (
            Parameter(name="calibration_transport", value="tls" if is_tls else "tcp"),
            Parameter(name="calibration_rate_per_s", value=job["rate"]),
            Parameter(name="calibration_reached_per_s", value=found["reached"]),
            Parameter(name="calibration_requests", value=seen["completed"]),
        )
        resolution = found["resolution_ns"] if is_sound else None
        return replace(before, resolution_ns=resolution, observed=told)


def chunk_rate(kept: KeptRun, streams: int) -> int | None:
    """Return how many events with output a second came while output came, over all streams; null without any."""
    spans = [(len(row.delta_ns) - 1, row.delta_ns[-1] - row.delta_ns[0]) for row in kept.rows if row.delta_ns]
    lasted = sum(span for _, span in spans)
    if lasted <= 0:
        return None
    return max(1, int(Fraction(sum(count for count, _ in spans) * _SECOND_NS * streams, lasted)))


def came_to(event: LoadMeasured) -> str:
    """Return a run's event in a few words."""
    told = [f"{event.completed}/{event.expected} completed"]
    if event.failed:
        told.append(f"{event.failed} failed")
    if event.outcome != "completed":
        told.append(event.outcome)
    return ", ".join([*told, *event.findings])
