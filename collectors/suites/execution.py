"""Carrying a suite out: every repetition of every item, one after another, and one event of it.

1. First each item once, then each again: what changes while a suite runs meets all items alike.
2. Before each repetition somebody is asked whether anything stands in the way (the engine has ended, a disk has
   no room). If so, what is left is not begun, and counts as incomplete. So does a repetition that the engine's
   end broke off.
3. What has come back is in the event, however the suite ends: an interrupt, an error in its own code.
4. The file that a suite is made of is kept first. Its digest in the event is that of the kept bytes.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anvil.collectors.checks.interface import CheckContext, UnderTest
from anvil.collectors.checks.judging import LONGEST_MESSAGE, Fault, Judgement, messages, request_outcome
from anvil.collectors.failures import first
from anvil.collectors.suites.interface import KEPT_FOR, Chosen, Item
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import AnvilError
from anvil.ledger.events.base import NamedTexts
from anvil.ledger.events.checks import FailureClass, Outcome
from anvil.ledger.events.suites import SuiteCompleted, SuiteItem, stability

Obstacle = tuple[FailureClass | None, str]
"""Why something cannot be carried out; the class is null for what has none."""

_EXITED = Fault("engine_exited", "the engine ended by itself meanwhile")


async def _nothing() -> Obstacle | None:
    return None


async def _never(_: Judgement) -> bool:
    return False


@dataclass
class SuiteRun:
    """One suite being carried out: what it has seen so far, and what it leaves."""

    chosen: Chosen
    ctx: CheckContext[Any]
    _items: tuple[Item, ...] = field(init=False)
    _tried: dict[str, list[Sequence[Judgement]]] = field(init=False)
    _digest: str | None = None

    def __post_init__(self) -> None:
        self._items = self.chosen.items()
        self._tried = {item.id: [] for item in self._items}

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What it kept."""
        return tuple(self.ctx.attachments)

    async def carry_out(
        self,
        obstacle: Callable[[], Awaitable[Obstacle | None]] = _nothing,
        broke_off: Callable[[Judgement], Awaitable[bool]] = _never,
    ) -> SuiteCompleted:
        """Carry it out and return what became of it.

        `obstacle` says why nothing can be sent now, `broke_off` whether the engine ended during a request.

        Raises:
            AnvilError: bytes cannot be kept.
            CancelledError: it was interrupted; `broken_off` returns what became of it.
        """
        try:
            found = await self._repeat(obstacle, broke_off)
        except (AnvilError, asyncio.CancelledError):
            raise
        except Exception:  # noqa: BLE001 - a defect in one suite must not end the run, and is told whole
            found = None, traceback.format_exc()
        return self._event() if found is None else self.broken_off(*found)

    async def _repeat(
        self,
        obstacle: Callable[[], Awaitable[Obstacle | None]],
        broke_off: Callable[[Judgement], Awaitable[bool]],
    ) -> Obstacle | None:
        self._keep_source()
        for number in range(1, self.chosen.repetitions + 1):
            for item in self._items:
                if (found := await obstacle()) is not None:
                    return found
                judgements = [
                    replace(each, faults=(_EXITED, *each.faults)) if await broke_off(each) else each
                    for each in await item.once(self.ctx, f"{item.id}.{number}")
                ]
                self._tried[item.id].append(judgements)
        return None

    def broken_off(self, failure: FailureClass | None, message: str) -> SuiteCompleted:
        """Return the event of a suite that could not be carried out, or not to its end."""
        self._keep_source()
        return self._event((failure, message))

    def _keep_source(self) -> None:
        source = self.chosen.suite.source
        if source is not None and self._digest is None:
            self._digest = self.ctx.keep(source.name, source.content, source.media_type).digest

    # --- what it comes to --------------------------------------------------------------------------------

    def _event(self, broken: Obstacle | None = None) -> SuiteCompleted:
        chosen, parameters = self.chosen, self.ctx.parameters
        items = tuple(self._item(item, broken) for item in self._items)
        outcome, failure = _verdict(items, broken)
        judgements = [each for tried in self._tried.values() for once in tried for each in once]
        told = {judgement.name: judgement.message for judgement in judgements}
        return SuiteCompleted(
            suite=chosen.suite.id,
            selected_as=chosen.selected_as,
            version=chosen.suite.version,
            digest=self._digest,
            purpose=chosen.suite.purpose,
            outcome=outcome,
            failure=failure,
            required_rate=chosen.required_rate,
            expected=sum(item.repetitions for item in items),
            passed=sum(item.passed for item in items),
            items=items,
            requests=tuple(request_outcome(self.ctx, judgement) for judgement in judgements),
            parameters=parameters.recorded(),
            visible_budget_tokens=parameters.visible_tokens,
            reasoning_budget_tokens=parameters.reasoning_tokens,
            prompts=tuple(self.ctx.prompts),
            messages=self._messages(told if broken is None else {"suite": broken[1], **told}),
        )

    def _messages(self, told: Mapping[str, str]) -> NamedTexts | None:
        """Return messages as an event holds them; long ones go together into the artifact `messages`.

        With an artifact for each, as checks have, an event of many requests would be too large.
        """
        long = {name: text for name, text in told.items() if len(json.dumps(text)) > LONGEST_MESSAGE}
        if long:
            self.ctx.keep("messages", json.dumps(long).encode(), "application/json")
        return messages(self.ctx, {**told, **dict.fromkeys(long, "in the artifact messages")})

    def _item(self, item: Item, broken: Obstacle | None) -> SuiteItem:
        tried, repetitions = self._tried[item.id], self.chosen.repetitions
        outcomes = [_outcome(once) for once in tried]
        passed, failed = outcomes.count("passed"), outcomes.count("failed")
        incomplete = repetitions - passed - failed
        classes = [judgement.failure for once in tried for judgement in once]
        if broken is not None and len(tried) < repetitions:
            classes.append(broken[0])
        return SuiteItem(
            item=item.id,
            modality=item.modality,
            repetitions=repetitions,
            passed=passed,
            incomplete=incomplete,
            failure=first(classes),
            is_stable=stability(passed, incomplete, repetitions, self.chosen.required_rate),
        )


def _outcome(once: Sequence[Judgement]) -> Outcome:
    """Return what became of one repetition."""
    found = {judgement.outcome for judgement in once}
    order: tuple[Outcome, ...] = ("failed", "incomplete", "inconclusive")
    return next((outcome for outcome in order if outcome in found), "passed")


def _verdict(items: Sequence[SuiteItem], broken: Obstacle | None) -> tuple[Outcome, FailureClass | None]:
    """Return the verdict over all items, and the first class of those that are not stable."""
    unsteady = [item for item in items if not item.is_stable]
    if broken is not None:
        return "incomplete", broken[0]
    if not unsteady:
        return "passed", None
    is_failed = any(item.is_stable is False for item in unsteady)
    return "failed" if is_failed else "incomplete", first(item.failure for item in unsteady)


def suite_run(under_test: UnderTest, chosen: Chosen) -> SuiteRun:
    """Return a suite that is to be carried out on an endpoint; nothing is sent yet."""
    name = f"{KEPT_FOR}{chosen.suite.id}"
    return SuiteRun(chosen, CheckContext(under_test, name, chosen.parameters, chosen.selected_as))
