"""The whole run: recipe declared, attempts one after another or side by side, stream closed.

1. Nothing is launched when a port or a GPU that an attempt needs is taken; what holds it is named.
2. What an earlier run left behind is collected first (`recovery`).
3. Attempts run in the recipe's order. Those that the recipe puts side by side run at the same time,
   each in a stream of its own, so that one lane's events never wait for the other's.
4. An interrupt or SIGTERM ends the run in order: engines are kept and stopped, streams are closed as
   aborted with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anvil.collectors.journal import Journal
from anvil.collectors.launchers.interface import Launcher, Provenance
from anvil.collectors.recipes import Attempt, Recipe, SelectedCheck
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.running.attempt import AttemptRun
from anvil.collectors.running.declaring import declare
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.planning import Planned, plan_attempt
from anvil.collectors.site import Site
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import CollectorError
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

RECIPE_TYPE = "application/toml"


@dataclass(frozen=True)
class RunPlan:
    """What is to be run: a recipe, on this host, into this campaign; `only` names checks, none for all."""

    recipe: Recipe
    attempts: tuple[Attempt, ...]
    site: Site
    campaign: str
    only: frozenset[str] = frozenset()
    base_url: str | None = None

    def selected(self, attempt: Attempt) -> tuple[SelectedCheck, ...]:
        """Return the checks that this run carries out in an attempt."""
        return tuple(c for c in attempt.checks if not self.only or c.name in self.only or c.id in self.only)


@dataclass(frozen=True)
class Running:
    """What a run goes on with: the ledger, launchers by name, and who is told."""

    ledger: Ledger
    launchers: Mapping[str, Launcher]
    narrator: Narrator
    journals: Path


async def carry_out(plan: RunPlan, running: Running) -> list[str]:
    """Run everything and return the ids of the streams that it was recorded in.

    Raises:
        CollectorError: something is taken, missing or not writable; nothing was launched then.
    """
    streams: list[str] = []
    with _interruptible():
        for lanes in _side_by_side(plan.attempts):
            done = await asyncio.gather(
                *(_lane(plan, running, lane) for lane in lanes), return_exceptions=True
            )
            streams += [item for item in done if isinstance(item, str)]
            failures = [item for item in done if isinstance(item, BaseException)]
            if failures:
                raise failures[0]
    return streams


async def _lane(plan: RunPlan, running: Running, attempts: Sequence[Attempt]) -> str:
    """Run attempts one after another in one stream."""
    ledger = running.ledger
    stream = Stream(ledger, ledger.signer("collector"))
    planned = [
        plan_attempt(
            attempt,
            plan.site,
            Provenance(ledger.origin, stream.id, attempt.key),
            plan.campaign,
            base_url=plan.base_url,
        )
        for attempt in attempts
    ]
    for item in planned:
        await _require_free(item, running.launchers)
    journal = Journal.create(running.journals, stream.id)
    stream.open("run")
    try:
        await _attempts(plan, running, planned, LedgerRecorder(ledger, stream, journal))
    except asyncio.CancelledError:
        _end(stream, journal, "interrupted")
        raise
    except BaseException:
        _end(stream, journal, "failed")
        raise
    _end(stream, journal, None)
    return stream.id


async def _attempts(
    plan: RunPlan, running: Running, planned: Sequence[Planned], recorder: LedgerRecorder
) -> None:
    _declare(plan, planned, recorder)
    for item in planned:
        attempt = AttemptRun(
            item,
            _launcher(item, running.launchers),
            recorder.about(item.subject),
            running.narrator,
            plan.selected(item.attempt),
        )
        await attempt.run()


def _end(stream: Stream, journal: Journal, reason: str | None) -> None:
    """Close the stream. The journal of an aborted one stays, for recovery to look for what no event names."""
    stream.close(reason)
    if reason is None:
        journal.finish()
    else:
        journal.leave()


def _declare(plan: RunPlan, planned: Sequence[Planned], recorder: LedgerRecorder) -> None:
    event = declare(plan.recipe, planned, {item.attempt.key: plan.selected(item.attempt) for item in planned})
    blob = recorder.keep(plan.recipe.content, name="recipe")
    recorder.append(
        event, subject=Subject(plan.campaign), attachments=(Attachment("recipe", RECIPE_TYPE, blob),)
    )


async def _require_free(item: Planned, launchers: Mapping[str, Launcher]) -> None:
    holder = await _launcher(item, launchers).occupied(item.plan)
    if holder is not None:
        raise CollectorError(
            f"attempt {item.attempt.key!r} was not started: {holder}",
            advice="Stop what holds it, or give the attempt another port or placement in the site file.",
        )


def _launcher(item: Planned, launchers: Mapping[str, Launcher]) -> Launcher:
    name = "attach" if item.plan.target else item.attempt.launcher
    if name not in launchers:
        raise CollectorError(
            f"attempt {item.attempt.key!r} needs the launcher {name!r}, which is not at hand"
        )
    return launchers[name]


def _side_by_side(attempts: Sequence[Attempt]) -> Iterator[list[list[Attempt]]]:
    """Yield lanes that run at the same time: neighbours with one `side_by_side` name, others alone."""
    group: list[list[Attempt]] = []
    name: str | None = None
    for attempt in attempts:
        if group and (attempt.side_by_side is None or attempt.side_by_side != name):
            yield group
            group = []
        group.append([attempt])
        name = attempt.side_by_side
    if group:
        yield group


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into a cancellation of this task, once; a second one is left to Python."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def cancel() -> None:
        if task is not None:
            task.cancel()

    for number in numbers:
        loop.add_signal_handler(number, cancel)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
