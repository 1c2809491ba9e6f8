"""One attempt: launched, waited for, identified, checked, kept, stopped; every step an event.

1. Bytes are kept before they are judged, and everything of the engine (its log, its exit, what the
   system says of it) before it is stopped or removed.
2. Whatever happens in between, an interrupt too, the engine is kept and stopped at the end.
3. An engine that ends by itself ends the attempt: what was selected and has no verdict yet is
   recorded as incomplete, `engine_exited`, the check that it broke off too. One that never generates a
   token, or could not be launched, leaves its checks incomplete, `prerequisite_failed`.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anvil.collectors.checks import (
    CHECKS,
    Check,
    CheckContext,
    UnderTest,
    carry_out,
    context,
    not_carried_out,
)
from anvil.collectors.checks.control import ThinkingControl
from anvil.collectors.checks.interface import Launched as LaunchedForChecks
from anvil.collectors.cleaning import clean_event
from anvil.collectors.client import Client, Deadlines
from anvil.collectors.health import Health, observe_health
from anvil.collectors.identity import Launched, identify
from anvil.collectors.interface import Endpoint
from anvil.collectors.launchers.interface import LOOPBACK, NOBODY_KNOWS, Launcher, LaunchFailed, Running
from anvil.collectors.recipes import SelectedCheck
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.reports import READERS, read_report
from anvil.collectors.running.keeping import EngineEnd
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.planning import Planned
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import Event, WeightsInspected
from anvil.ledger.events.checks import CheckCompleted, FailureClass

_SECOND = 1_000_000_000
_QUESTION_S = 60.0  # how long an endpoint may take to say who it is
_EXIT_SHOWS_S = 1.0  # an engine's connections break a moment before the system says that it ended
_BROKEN: frozenset[FailureClass | None] = frozenset(
    {"connection_failed", "connection_stale", "connection_reset", "truncated_stream"}
)


@dataclass
class AttemptRun:
    """One attempt under way."""

    planned: Planned
    launcher: Launcher
    recorder: LedgerRecorder
    narrator: Narrator
    selected: Sequence[SelectedCheck]
    weights: WeightsInspected | None = None
    """What was seen of its weights on this host; null when nothing was."""
    _was_ready: bool = False

    async def run(self) -> None:
        """Carry the attempt out to its end.

        Raises:
            AnvilError: it could not be launched, or what was seen could not be kept.
        """
        attempt = self.planned.attempt
        self.narrator.begin(f"{attempt.key}: launching {attempt.engine}")
        started_ns = time.monotonic_ns()
        # Neither starting nor ending is cancelled: an interrupt must not leave an engine behind, nor tear
        # one down unkept.
        starting = asyncio.ensure_future(self.launcher.start(self.planned.plan))
        interrupted = await _to_the_end(starting)
        try:
            running = starting.result()
        except LaunchFailed as error:
            self._never_launched(str(error))
            raise
        try:
            if interrupted is not None:
                raise interrupted
            self.narrator.say(f"{attempt.key}: launched {attempt.engine} by {self.launcher.name}")
            self._append_launch(running, await running.inspect())
            await self._watch(running, started_ns)
        finally:
            limit = attempt.deadlines.stop_s
            end = EngineEnd(
                self.recorder, self.planned.subject, self.planned.secrets, limit, not self._was_ready
            )
            ending = asyncio.ensure_future(end.of(running))
            interrupted = await _to_the_end(ending)
            self.narrator.say(f"{attempt.key}: log kept, {ending.result()}")
            if interrupted is not None:
                raise interrupted

    def _append_launch(self, running: Running, inspect: bytes | None) -> None:
        attachments = () if inspect is None else (self._attach("inspect", "application/json", inspect),)
        self.recorder.append(running.started(), subject=self.planned.subject, attachments=attachments)

    def _never_launched(self, why: str) -> None:
        """Record each selected check as one that could not be carried out."""
        endpoint = self.planned.endpoint(f"http://{LOOPBACK}:{self.planned.plan.port}")
        under_test = self._under_test(Client(endpoint), endpoint, None)
        for chosen in self.selected:
            ctx = context(under_test, chosen.id, chosen.parameters, selected_as=chosen.name)
            event = not_carried_out(ctx, CHECKS[chosen.id], "prerequisite_failed", why)
            self._append(event, ctx.attachments)
            self.narrator.judged(chosen.name, event)

    async def _watch(self, running: Running, started_ns: int) -> None:
        """Wait for the engine, ask who it is, and carry the checks out."""
        attempt, limits = self.planned.attempt, self.planned.attempt.deadlines
        deadlines = Deadlines(first_byte_s=limits.first_byte_s, idle_s=limits.idle_gap_s)
        endpoint = self.planned.endpoint(running.base_url)
        async with Client(endpoint, deadlines=deadlines) as client:
            self.narrator.begin(f"{attempt.key}: waiting for the first token")
            health = await observe_health(
                client,
                self.recorder,
                model=endpoint.served_model,
                started_ns=started_ns,
                deadline_ns=started_ns + limits.ready_s * _SECOND,
                has_exited=lambda: _has_exited(running),
            )
            self._was_ready = health.is_ready
            self._append(health.event, health.attachments)
            exited = await _has_exited(running)
            self.narrator.say(
                f"{attempt.key}: {'the engine ended by itself' if exited else _standing(health)}"
            )
            if health.is_ready:
                async with Client(endpoint, deadlines=_short(deadlines)) as asking:
                    await self._identify(asking, running, health)
            await self._check(self._under_test(client, endpoint, health), running, health)

    def _under_test(self, client: Client, endpoint: Endpoint, health: Health | None) -> UnderTest:
        attempt, window = self.planned.attempt, _window(self.planned)
        return UnderTest(
            recorder=self.recorder,
            client=client,
            endpoint=endpoint,
            thinking=ThinkingControl(attempt.thinking),
            seed=_seed(self.planned),
            cap_field=None if health is None else health.cap_field,
            window_tokens=window,
            launched=LaunchedForChecks(attempt.version, window),
        )

    async def _identify(self, client: Client, running: Running, health: Health) -> None:
        attempt = self.planned.attempt
        self.narrator.begin(f"{attempt.key}: asking who it is")
        log = (await running.log()).content()
        expected = Launched(
            image=attempt.image,
            image_id=attempt.image_id,
            log=log,
            version=attempt.version,
            revision=attempt.revision,
            candidate_revision=attempt.model.revision,
            model_revision=self.weights.revision if self.weights else None,
            chat_template=self.weights.digest_of("chat-template") if self.weights else None,
        )
        identity = await identify(
            client,
            self.recorder,
            served_model=self.planned.endpoint(running.base_url).served_model,
            launched=expected,
            cap_field=health.cap_field,
        )
        self._append(identity.event, identity.attachments)
        if attempt.engine in READERS:
            await self._report(client, log, identity.props)

    async def _report(self, client: Client, log: bytes, props: Mapping[str, Any]) -> None:
        """Keep what the engine says of itself, and take out the figures that its reader knows."""
        attachments = [self._attach("startup-log", "text/plain", log)]
        metrics = await client.exchange("GET", "/metrics")
        text = ""
        if metrics.status == 200:
            attachments.append(self._attach("metrics", "text/plain", metrics.body))
            text = metrics.body.decode("utf-8", "replace")
        report = read_report(self.planned.attempt.engine, log, metrics=text, props=props)
        if report is not None:
            self._append(report.event(), attachments)

    async def _check(self, under_test: UnderTest, running: Running, health: Health) -> None:
        for chosen in self.selected:
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
                if await _broke_off(running, event):
                    event = event.model_copy(update={"outcome": "incomplete", "failure": "engine_exited"})
            self._append(event, ctx.attachments)
            self.narrator.judged(chosen.name, event)

    async def _carry_out(self, check: Check[Any], ctx: CheckContext[Any]) -> CheckCompleted:
        try:
            return await carry_out(check, ctx)
        except asyncio.CancelledError:  # what had come back already is named before the run ends
            event = not_carried_out(ctx, check, None, "the run was interrupted")
            self._append(event, ctx.attachments)
            raise

    async def _obstacle(self, running: Running, health: Health) -> tuple[FailureClass, str] | None:
        """Return why a check cannot be carried out now."""
        if await _has_exited(running):
            return "engine_exited", "the engine had ended by itself"
        if not health.is_ready:
            return "prerequisite_failed", "the engine did not generate a token within its deadline"
        return None

    def _append(self, event: Event, attachments: Sequence[Attachment]) -> None:
        """Append an event; words in it that came from the endpoint may repeat a secret, and are cleaned."""
        event = clean_event(event, self.planned.secrets)
        self.recorder.append(event, subject=self.planned.subject, attachments=attachments)

    def _attach(self, name: str, media_type: str, content: bytes) -> Attachment:
        return Attachment(name, media_type, self.recorder.keep(content, name=name))


async def _has_exited(running: Running) -> bool:
    state = await running.state()
    return state is not None and (running.is_ours or state is not NOBODY_KNOWS)


async def _broke_off(running: Running, event: CheckCompleted) -> bool:
    """Say whether a check has no verdict because its engine ended meanwhile."""
    if event.outcome == "passed":
        return False
    until = time.monotonic() + (_EXIT_SHOWS_S if event.failure in _BROKEN else 0.0)
    while not (has_exited := await _has_exited(running)) and time.monotonic() < until:
        await asyncio.sleep(0.05)
    return has_exited


async def _to_the_end(task: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait for a task even when this one is cancelled meanwhile; return the cancellation."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


def _short(deadlines: Deadlines) -> Deadlines:
    """Return the deadlines of questions that need no thought."""
    limit = min(_QUESTION_S, deadlines.first_byte_s)
    return replace(deadlines, first_byte_s=limit, total_s=limit)


def _standing(health: Health) -> str:
    event = health.event
    if event.is_ready and event.ready_after_ns is not None:
        return f"ready after {event.ready_after_ns / _SECOND:.1f} s"
    status = "" if event.http_status is None else f" with status {event.http_status}"
    return f"no token within the deadline; health {event.health}{status}"


def _window(planned: Planned) -> int | None:
    """Return how many tokens prompt and answer may have together, where the recipe says so."""
    context_tokens = planned.attempt.settings.get("context_tokens")
    return context_tokens if isinstance(context_tokens, int) and context_tokens > 1 else None


def _seed(planned: Planned) -> int:
    """Return a seed that the same attempt of the same campaign always has."""
    name = "/".join(planned.subject.members().values())
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
