"""The canaries of one launch: a short question with one right answer, before, between and after the cells.

1. One that is answered wrongly ends every figure of its launch: from it on the events of all protocols say `failed`,
   whatever is answered later. What follows is measured all the same.
2. One that gets no answer (no connection, a timeout, a status like 429 or 503) says nothing of the engine's sense. It
   is asked again after a pause, twice; then the events say `unanswered` until the next one, and are in no figure.
3. Each that is asked leaves its event.

docs/load.md states the rule for readers; `anvil.projections.measurements.cells` draws the same consequence.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from anvil.collectors.checks import CHECKS, UnderTest, carry_out, context
from anvil.collectors.cleaning import clean_event
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.planning import Planned
from anvil.ledger.events.checks import CheckCompleted, FailureClass
from anvil.ledger.events.load import CanaryState

PAUSES_S = (1.0, 5.0)
"""How long is waited before one that got no answer is asked again."""

NO_ANSWER: frozenset[FailureClass | None] = frozenset(
    {
        "engine_exited",
        "prerequisite_failed",
        "connection_failed",
        "connection_stale",
        "connection_reset",
        "timeout",
        "http_error",
    }
)
"""Failures that are no answer of the model's."""


class Over(Exception):  # no error: the engine has ended, and its attempt goes on to its end
    """Nothing more can be measured."""


@dataclass
class Canaries:
    """The canaries of one launch. `state` is what the events of its loads say."""

    planned: Planned
    recorder: LedgerRecorder
    narrator: Narrator
    state: CanaryState = "not_sent"
    _asked: Counter[str] = field(default_factory=Counter)

    async def ask(
        self, protocol: str, under_test: UnderTest, has_exited: Callable[[], Awaitable[bool]]
    ) -> None:
        """Ask, as often as it takes (rule 2), and take in what it says.

        Raises:
            Over: the engine has ended.
        """
        event = await self._answered(protocol, under_test, has_exited)
        is_answered = event.failure not in NO_ANSWER
        if self.state == "failed":
            return
        self.state = "passed" if event.outcome == "passed" else "failed" if is_answered else "unanswered"
        if self.state == "failed":
            self._say(f"{protocol}: the canary did not pass: what follows on this engine is in no figure")
        elif self.state == "unanswered":
            self._say(f"{protocol}: the canary got no answer: what follows until the next is in no figure")

    async def _answered(
        self, protocol: str, under_test: UnderTest, has_exited: Callable[[], Awaitable[bool]]
    ) -> CheckCompleted:
        """Ask until there is an answer (rule 2), and return the last event."""
        for pause_s in PAUSES_S:
            event = await self._once(protocol, under_test, has_exited)
            if event.failure not in NO_ANSWER:
                return event
            await asyncio.sleep(pause_s)
        return await self._once(protocol, under_test, has_exited)

    async def _once(
        self, protocol: str, under_test: UnderTest, has_exited: Callable[[], Awaitable[bool]]
    ) -> CheckCompleted:
        if await has_exited():
            raise Over
        self._asked[protocol] += 1
        name = f"{protocol}.canary-{self._asked[protocol]}"
        asking = replace(under_test, recorder=self.recorder.about(self.planned.subject, name))
        ctx = context(asking, "canary", {}, selected_as=name)
        self.narrator.begin(f"{self.planned.attempt.key}: canary")
        event = await carry_out(CHECKS["canary"], ctx)
        self.recorder.append(
            clean_event(event, self.planned.secrets),
            subject=self.planned.subject,
            attachments=tuple(ctx.attachments),
        )
        self.narrator.judged(event.selected_as, event)
        return event

    def _say(self, text: str) -> None:
        self.narrator.say(f"{self.planned.attempt.key}: {text}")
