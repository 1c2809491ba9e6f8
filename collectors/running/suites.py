"""The suites of an attempt, carried out after its checks.

1. They behave as checks do: each selected one leaves exactly one event, whatever happens to the engine, the disk
   or the run.
2. A repetition during which the engine ended says nothing about the model. It and all that is left are
   `engine_exited`; so many repetitions are incomplete, and what came back before keeps its verdict.
3. Where an engine is launched once more, the suite that it broke off keeps its event, and the next one goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anvil.collectors.checks import UnderTest
from anvil.collectors.checks.judging import Judgement
from anvil.collectors.recipes import Recipe, SelectedSuite
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.planning import Planned
from anvil.collectors.suites import Chosen, Obstacle, SuiteRun, chosen, suite_run
from anvil.ledger.drafts import Attachment
from anvil.ledger.events import Event

_EXCHANGE_BYTES = 64 << 10  # a request, its response and their part of an event
_TOKEN_BYTES = 6  # as in `space`


@dataclass(frozen=True)
class Watched:
    """What is asked of an attempt while its suites run.

    `obstacle` says why nothing can be sent now, `broke_off` whether the engine ended during what was judged so,
    `is_over` whether what is left waits for another launch.
    """

    obstacle: Callable[[], Awaitable[Obstacle | None]]
    broke_off: Callable[[Judgement], Awaitable[bool]]
    is_over: Callable[[], Awaitable[bool]]


class SuitesLeft:
    """The suites of one attempt that have left no event yet."""

    def __init__(
        self,
        planned: Planned,
        recorder: LedgerRecorder,
        narrator: Narrator,
        append: Callable[[Event, Sequence[Attachment]], None],
        selected: Iterable[Chosen],
    ) -> None:
        self._planned = planned
        self._recorder = recorder
        self._narrator = narrator
        self._append = append
        self._left = list(selected)

    async def run(self, under_test: UnderTest, watched: Watched) -> None:
        """Carry out what is left.

        Raises:
            AnvilError: what was seen could not be kept.
        """
        for one in tuple(self._left):
            if await watched.is_over():
                return
            run = self._begin(under_test, one)
            self._narrator.begin(f"{self._planned.attempt.key}: suite {one.selected_as}")
            try:
                event = await run.carry_out(watched.obstacle, watched.broke_off)
            except asyncio.CancelledError:  # what had come back already is named before the run ends
                self._append(run.broken_off(None, "the run was interrupted"), run.attachments)
                raise
            self._append(event, run.attachments)
            self._left.remove(one)
            self._narrator.judged(one.selected_as, event)

    def none(self, under_test: UnderTest, why: str) -> None:
        """Record each suite that is left as one that could not be carried out."""
        for one in self._left:
            run = self._begin(under_test, one)
            event = run.broken_off("prerequisite_failed", why)
            self._append(event, run.attachments)
            self._narrator.judged(one.selected_as, event)

    def _begin(self, under_test: UnderTest, one: Chosen) -> SuiteRun:
        recorder = self._recorder.about(self._planned.subject, one.selected_as)
        return suite_run(replace(under_test, recorder=recorder), one)


def chosen_suites(recipe: Recipe, selected: Iterable[SelectedSuite]) -> tuple[Chosen, ...]:
    """Return suites of a recipe as they are carried out; they were judged when it was read."""
    return tuple(chosen(one, recipe.suite_files.get(one.file or "")) for one in selected)


def suite_artifacts(files: Mapping[str, bytes]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the files of external suites as they are kept with a recipe: artifact, file and bytes.

    The artifacts are numbered in the order of the files' names, so that they are found again.
    """
    for number, file in enumerate(sorted(files), start=1):
        yield f"suite-{number}", file, files[file]


def suite_bytes(one: Chosen) -> int:
    """Return roughly how many bytes a suite will keep; answers are taken as short."""
    prompt = _TOKEN_BYTES * int(one.parameters.model_dump().get("target_tokens", 0))
    source = one.suite.source
    media = len(source.content) if source is not None else 0
    return one.expected_requests * (prompt + _EXCHANGE_BYTES) + media
