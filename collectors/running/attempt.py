"""One attempt: launched, waited for, identified, checked, kept, stopped; every step an event.

1. Bytes are kept before they are judged, and everything of the engine (its log, its exit, what the
   system says of it) before it is stopped or removed.
2. Whatever happens in between, an interrupt too, the engine is kept and stopped at the end.
3. An engine that ends by itself ends the attempt: what was selected and has no verdict yet is
   recorded as incomplete, `engine_exited`, the check that it broke off too. One that never generates a
   token, or could not be launched, leaves its checks incomplete, `prerequisite_failed`; so do the checks
   that a disk without room leaves no time for. Load protocols follow the checks (`measuring`); a cell that was
   not begun leaves no event.
4. Where the recipe says `relaunch`, an engine of ours that ended by itself is kept and removed like any
   other and launched once more, in the same stream. The check that it broke off keeps its verdict; the
   second launch goes on with those that have none yet. A second end is the end of the attempt.
5. An engine that is another than the one that the attempt was begun on ends it (`sameness`): what is left is
   incomplete, `prerequisite_failed`, and nothing is measured.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from anvil.collectors.checks import (
    CHECKS,
    Check,
    CheckContext,
    History,
    UnderTest,
    carry_out,
    context,
    not_carried_out,
)
from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.interface import Launched as LaunchedForChecks
from anvil.collectors.cleaning import clean_event
from anvil.collectors.client import Client
from anvil.collectors.health import Health, observe_health
from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.collectors.launchers.interface import LOOPBACK, Launcher, LaunchFailed, Running
from anvil.collectors.recipes import SelectedCheck
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.reports import patterns_of
from anvil.collectors.running.ended import broke_off, has_exited
from anvil.collectors.running.identifying import Identifying, ask_metrics, own_endpoint
from anvil.collectors.running.judges import window_of
from anvil.collectors.running.keeping import EngineEnd
from anvil.collectors.running.measuring import Measuring
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.planning import Planned
from anvil.collectors.running.sameness import AnotherEngine, other_than
from anvil.collectors.running.space import ADVICE, DiskFull, Space
from anvil.collectors.running.suites import SuitesLeft, Watched
from anvil.collectors.running.waiting import to_the_end
from anvil.collectors.suites import Chosen
from anvil.ledger import events
from anvil.ledger.commands.output import visible
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import LedgerGone
from anvil.ledger.events import EngineIdentified, Event, WeightsInspected
from anvil.ledger.events.checks import CheckCompleted, FailureClass
from anvil.ledger.events.launches import LaunchProblem

FREE_IT = (
    "Stop what holds it, or give the attempt's placement another port or GPU in the site file; where the attempt"
    " names no placement, write another `port` into a copy of the recipe."
)
"""What to do about a port or GPU that is taken."""

_SECOND = 1_000_000_000
_LAST_WORDS = 300  # characters of a log's last line that are told
_QUESTION_S = 60.0  # how long an endpoint may take to say who it is


@dataclass
class AttemptRun:
    """One attempt under way."""

    planned: Planned
    launcher: Launcher
    recorder: LedgerRecorder
    narrator: Narrator
    selected: Sequence[SelectedCheck]
    space: Space
    measuring: Measuring
    history: History = field(default_factory=History)
    """What its checks have seen so far; of a run that is continued, what they saw there."""
    weights: WeightsInspected | None = None
    """What was seen of its weights on this host; null when nothing was."""
    suites: Sequence[Chosen] = ()
    known: tuple[EngineIdentified, ...] = ()
    """The looks at the engine that the attempt was begun on; none until it was asked."""
    _launches: int = 0
    _was_ready: bool = False
    _is_relaunch_due: bool = False
    _shortage: str | None = None
    _otherness: str | None = None
    _left: list[SelectedCheck] = field(init=False)
    """The selected checks that have left no event yet."""
    _suites: SuitesLeft = field(init=False)

    def __post_init__(self) -> None:
        self._left = list(self.selected)
        self._suites = SuitesLeft(self.planned, self.recorder, self.narrator, self._append, self.suites)

    async def run(self, holder: str | None = None) -> None:
        """Carry the attempt out to its end; `holder` is who has its port or a GPU, null for nobody.

        Raises:
            LaunchFailed: its engine could not be launched; that is recorded, with all its checks.
            EngineUnreachable: likewise, and there is no container engine for other attempts either.
            DiskFull: a disk has too little left, at its beginning or after some of its checks.
            AnotherEngine: the engine is not the one that the attempt was begun on.
            AnvilError: what was seen could not be kept.
        """
        key = self.planned.attempt.key
        await self._launch(f"attempt {key!r} was not started", holder)
        if self._is_relaunch_due:
            self.narrator.say(f"{key}: the engine ended by itself and is launched once more")
            holder = await self.launcher.occupied(self.planned.plan)
            with suppress(LaunchFailed):  # it is recorded, and is the end of an attempt that was launched
                await self._launch(f"the engine of attempt {key!r} was not launched once more", holder)

    async def _launch(self, otherwise: str, holder: str | None) -> None:
        """Launch, watch and end one engine; `otherwise` says, for a message, what does not happen."""
        attempt = self.planned.attempt
        self._was_ready = self._is_relaunch_due = False
        self.narrator.begin(f"{attempt.key}: launching {attempt.engine}")
        started_ns = time.monotonic_ns()
        try:
            self.space.require(otherwise)
            if holder is not None:
                raise LaunchFailed(f"{otherwise}: {holder}", advice=FREE_IT, problem="occupied")
            # Neither starting nor ending is cancelled: an interrupt must not leave an engine behind, nor
            # tear one down unkept.
            starting = asyncio.ensure_future(self.launcher.start(self.planned.plan))
            interrupted = await to_the_end(starting)
            running = starting.result()
        except (DiskFull, LaunchFailed, EngineUnreachable) as error:
            self._never_launched(error)
            raise
        self._launches += 1
        try:
            if interrupted is not None:
                raise interrupted
            where = f", at {running.base_url.partition('://')[2]}" if running.is_ours else ""
            self.narrator.say(f"{attempt.key}: launched {attempt.engine} by {self.launcher.name}{where}")
            self._append_launch(running, await running.inspect())
            await self._watch(running, started_ns)
        finally:
            stopping = " and stopping the engine" if running.is_ours else ""
            self.narrator.begin(f"{attempt.key}: keeping what is left{stopping}")
            limit = attempt.deadlines.stop_s
            patterns = {**attempt.log_patterns, **patterns_of(attempt.engine), **attempt.log_patterns}
            end = EngineEnd(
                self.recorder,
                self.planned.subject,
                self.planned.secrets,
                limit,
                not self._was_ready,
                patterns,
            )
            ending = asyncio.ensure_future(end.of(running))
            interrupted = await to_the_end(ending)
            self._tell_end(ending, end)
            if interrupted is not None:
                raise interrupted

    def _tell_end(self, ending: asyncio.Future[str], end: EngineEnd) -> None:
        """Say what became of the engine, and what was lost where there is no ledger any more."""
        key = self.planned.attempt.key
        try:
            self.narrator.say(f"{key}: log kept, {ending.result()}")
            if end.last_words:
                self.narrator.say(f"{key}: the last line of its log: {visible(end.last_words[:_LAST_WORDS])}")
        except LedgerGone as error:
            self.narrator.say(f"{key}: {error}")
            raise

    def _append_launch(self, running: Running, inspect: bytes | None) -> None:
        attachments = () if inspect is None else (self._attach("inspect", "application/json", inspect),)
        self.recorder.append(running.started(), subject=self.planned.subject, attachments=attachments)

    def _never_launched(self, error: DiskFull | LaunchFailed | EngineUnreachable) -> None:
        """Record why, and each check that is left as one that could not be carried out."""
        why = str(error)
        failed = events.LaunchFailed(
            launcher=self.launcher.name,
            placement=self.planned.plan.placement,
            failure=_problem(error),
            detail=why,
        )
        self._append(failed, ())
        self.narrator.say(" ".join(filter(None, (f"{self.planned.attempt.key}: {why}.", error.advice))))
        endpoint = self.planned.endpoint(f"http://{LOOPBACK}:{self.planned.plan.port}")
        under_test = self._under_test(Client(endpoint), endpoint, None)
        for chosen in self._left:
            ctx = context(under_test, chosen.id, chosen.parameters, selected_as=chosen.name)
            event = not_carried_out(ctx, CHECKS[chosen.id], "prerequisite_failed", why)
            self._append(event, ctx.attachments)
            self.narrator.judged(chosen.name, event)
        self._suites.none(under_test, why)

    async def _watch(self, running: Running, started_ns: int) -> None:
        """Wait for the engine, ask who it is, and carry the checks out."""
        attempt, limits = self.planned.attempt, self.planned.attempt.deadlines
        deadlines = Deadlines(first_byte_s=limits.first_byte_s, idle_s=limits.idle_gap_s)
        endpoint = self.planned.endpoint(running.base_url)
        # An engine of ours is ready when it answers itself, whatever a router has answered by then.
        itself = (own_endpoint(endpoint, running) if running.is_ours else None) or endpoint
        async with (
            Client(endpoint, deadlines=deadlines) as client,
            Client(itself, deadlines=deadlines) as engine,
            Client(endpoint, deadlines=_short(deadlines)) as asker,
            Client(itself, deadlines=_short(deadlines)) as engine_asker,
        ):
            self.narrator.begin(f"{attempt.key}: waiting for the first token")
            health = await observe_health(
                client,
                self.recorder,
                model=endpoint.served_model,
                started_ns=started_ns,
                deadline_ns=started_ns + limits.ready_s * _SECOND,
                has_exited=lambda: has_exited(running),
                engine=engine,
            )
            self._was_ready = health.is_ready
            self._append(health.event, health.attachments)
            exited = await has_exited(running)
            self.narrator.say(
                f"{attempt.key}: {'the engine ended by itself' if exited else _standing(health)}"
            )
            if health.is_ready:
                self.narrator.begin(f"{attempt.key}: asking who it is")
                asking = Identifying(
                    attempt,
                    endpoint,
                    running,
                    _short(deadlines),
                    self.recorder,
                    self._append,
                    self.weights,
                )
                self._recognize(await asking.run(health.cap_field))
            elif exited and self._may_relaunch(running):
                self._is_relaunch_due = True
                return
            under_test = self._under_test(client, endpoint, health)
            await self._check(under_test, running, health)
            if self._otherness is not None:
                raise AnotherEngine(
                    f"attempt {attempt.key!r} was ended: {self._otherness}",
                    advice=f"Where that one answers: `anvil run --resume {self.measuring.stream}`. "
                    "Or begin anew: `anvil run RECIPE`.",
                )
            if health.is_ready and not self._is_relaunch_due:
                itself_known = engine_asker if itself is not endpoint else None
                await self.measuring.run(
                    under_test,
                    lambda: has_exited(running),
                    lambda: _read_metrics(endpoint, asker, itself_known),
                )

    def _recognize(self, found: EngineIdentified) -> None:
        """Compare who the engine says it is with who it was (rule 5)."""
        found = clean_event(found, self.planned.secrets)
        self._otherness = other_than(self.known, found)
        if self._otherness is None:
            self.known = (*self.known, found)
        else:
            self.narrator.say(f"{self.planned.attempt.key}: {self._otherness}")

    def _may_relaunch(self, running: Running) -> bool:
        return self.planned.attempt.on_exit == "relaunch" and running.is_ours and self._launches == 1

    def _under_test(self, client: Client, endpoint: Endpoint, health: Health | None) -> UnderTest:
        attempt, window = self.planned.attempt, window_of(self.planned.attempt)
        return UnderTest(
            recorder=self.recorder,
            client=client,
            endpoint=endpoint,
            thinking=ThinkingControl(attempt.thinking),
            seed=_seed(self.planned),
            cap_field=None if health is None else health.cap_field,
            window_tokens=window,
            launched=LaunchedForChecks(attempt.version, window),
            history=self.history,
        )

    async def _check(self, under_test: UnderTest, running: Running, health: Health) -> None:
        for chosen in tuple(self._left):
            if await self._waits_for_relaunch(running):
                break
            recorder = self.recorder.about(self.planned.subject, chosen.name)
            noting = replace(under_test, recorder=recorder)
            ctx = context(noting, chosen.id, chosen.parameters, selected_as=chosen.name)
            check = CHECKS[chosen.id]
            failure = await self._obstacle(running, health)
            if failure is not None:
                event = not_carried_out(ctx, check, failure[0], failure[1])
            else:
                self.narrator.begin(f"{self.planned.attempt.key}: {chosen.name}")
                event = await self._carry_out(check, ctx)
                if await broke_off(running, event):
                    event = event.model_copy(update={"outcome": "incomplete", "failure": "engine_exited"})
            self._append(event, ctx.attachments)
            self._left.remove(chosen)
            self.narrator.judged(chosen.name, event)
        obstacle, is_over = (
            partial(self._obstacle, running, health),
            partial(self._waits_for_relaunch, running),
        )
        await self._suites.run(under_test, Watched(obstacle, partial(broke_off, running), is_over))
        if self._shortage is not None:
            key = self.planned.attempt.key
            raise DiskFull(
                f"attempt {key!r} was ended before its last check: {self._shortage}", advice=ADVICE
            )

    async def _waits_for_relaunch(self, running: Running) -> bool:
        if self._may_relaunch(running) and await has_exited(running):
            self._is_relaunch_due = True
        return self._is_relaunch_due

    async def _carry_out(self, check: Check[Any], ctx: CheckContext[Any]) -> CheckCompleted:
        try:
            return await carry_out(check, ctx)
        except asyncio.CancelledError:  # what had come back already is named before the run ends
            event = not_carried_out(ctx, check, None, "the run was interrupted")
            self._append(event, ctx.attachments)
            raise

    async def _obstacle(self, running: Running, health: Health) -> tuple[FailureClass, str] | None:
        """Return why a check cannot be carried out now."""
        if await has_exited(running):
            return "engine_exited", "the engine had ended by itself"
        if not health.is_ready:
            return "prerequisite_failed", health.reason
        if self._otherness is not None:
            return "prerequisite_failed", self._otherness
        self._shortage = self._shortage or self.space.shortage()
        return None if self._shortage is None else ("prerequisite_failed", self._shortage)

    def _append(self, event: Event, attachments: Sequence[Attachment]) -> None:
        """Append an event; words in it that came from the endpoint may repeat a secret, and are cleaned."""
        event = clean_event(event, self.planned.secrets)
        self.recorder.append(event, subject=self.planned.subject, attachments=attachments)

    def _attach(self, name: str, media_type: str, content: bytes) -> Attachment:
        return Attachment(name, media_type, self.recorder.keep(content, name=name))


async def _read_metrics(endpoint: Endpoint, client: Client, engine: Client | None) -> str | None:
    found = await ask_metrics(endpoint, client, engine)
    return found.body.decode("utf-8", "replace") if found is not None and found.status == 200 else None


def _problem(error: DiskFull | LaunchFailed | EngineUnreachable) -> LaunchProblem:
    match error:
        case DiskFull():
            return "disk_full"
        case LaunchFailed():
            return error.problem
        case _:
            return "no_container_engine"


def _short(deadlines: Deadlines) -> Deadlines:
    """Return the deadlines of questions that need no thought."""
    limit = min(_QUESTION_S, deadlines.first_byte_s)
    return replace(deadlines, first_byte_s=limit, total_s=limit)


def _standing(health: Health) -> str:
    event = health.event
    if event.is_ready and event.ready_after_ns is not None:
        return f"ready after {event.ready_after_ns / _SECOND:.1f} s"
    status = "" if event.http_status is None else f" with status {event.http_status}"
    return f"{health.outcome}; health {event.health}{status}"


def _seed(planned: Planned) -> int:
    """Return a seed that the same attempt of the same campaign always has."""
    name = "/".join(planned.subject.members().values())
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
