"""What became of the runs of an attempt: each by itself, so that no later one covers an earlier one.

1. A run of an attempt is what one stream holds of it: declared, launched, checked, ended. An engine that
   is launched once more in the same stream goes on with the same checks; a new stream is a new run.
2. What recovery adds in a stream of its own belongs to the run that it collects.
3. A check or a suite that has no verdict has a reason: its own failure class, or how its run ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from anvil.ledger.events import CheckCompleted, HealthObserved, LoadMeasured, SuiteCompleted
from anvil.ledger.events.engines import Reachability
from anvil.ledger.events.recipes import DeclaredAttempt
from anvil.ledger.events.suites import SuiteItem
from anvil.projections.loads import CellState, Key, RunState, cells
from anvil.projections.seen import Seen

_ENDED = {"open": "still_running", "abandoned": "recording_lost", "aborted": "aborted"}


@dataclass(frozen=True)
class CheckState:
    """What became of one check or suite in one run: the newest result. A retracted one is none."""

    outcome: str
    passed: int
    expected: int
    failure: str | None
    entry_hash: str
    is_recovered: bool = False
    """Whether recovery says so, of a run that was gone."""


@dataclass(frozen=True)
class SuiteState(CheckState):
    """What became of one suite in one run: how many repetitions passed, and how steady they are."""

    items: tuple[SuiteItem, ...] = ()
    is_stable: bool | None = None
    required_rate: str | None = None
    purpose: str | None = None

    def by_modality(self) -> dict[str, tuple[int, int]]:
        """Return for each modality how many repetitions passed of how many."""
        found: dict[str, tuple[int, int]] = {}
        for item in self.items:
            passed, expected = found.get(item.modality, (0, 0))
            found[item.modality] = (passed + item.passed, expected + item.repetitions)
        return found


_NOTHING: Mapping[Any, Any] = {}


class AttemptState(NamedTuple):
    """One run of an attempt, in `stream`. A named tuple: a changed copy of one is made for each event."""

    key: str
    stream: str | None = None
    plan: DeclaredAttempt | None = None
    launches: int = 0
    health: Reachability | None = None
    is_ready: bool | None = None
    has_answered: bool = False
    """Whether a request for the first token got an answer that was kept."""
    exit_code: int | None = None
    has_exited: bool = False
    is_stopped: bool = False
    launch_failure: str | None = None
    checks: Mapping[str, CheckState] = _NOTHING
    suites: Mapping[str, SuiteState] = _NOTHING
    last: tuple[str, str] | None = None
    """The newest result: `check` or `suite`, and its name."""
    loads: Mapping[Key, tuple[RunState, ...]] = _NOTHING
    """The measured runs of load cells, in order."""
    continues: str | None = None
    """The stream of the run that this one goes on with."""

    @property
    def cells(self) -> tuple[CellState, ...]:
        """Its load cells: those that were planned, whether they were begun or not."""
        return tuple(cells(() if self.plan is None else self.plan.protocols, self.loads))

    def why_unfinished(self, streams: Mapping[str, str]) -> str:
        """Return why a cell that was planned is not measured to its end."""
        return self._why(streams)

    def incomplete(self, streams: Mapping[str, str]) -> dict[str, str]:
        """Return each selected check without a verdict, and why it has none."""
        selected = () if self.plan is None else self.plan.checks
        return self._incomplete("check", selected, self.checks, streams)

    def incomplete_suites(self, streams: Mapping[str, str]) -> dict[str, str]:
        """Return each selected suite without a verdict, and why it has none."""
        selected = () if self.plan is None else self.plan.suites
        return self._incomplete("suite", selected, self.suites, streams)

    def ended(self, streams: Mapping[str, str]) -> str | None:
        """Return how its stream stands: `open`, `completed`, `aborted`, `abandoned`; null if nobody knows."""
        return streams.get(self.stream or "")

    def _incomplete(
        self,
        kind: str,
        selected: tuple[str, ...],
        results: Mapping[str, CheckState],
        streams: Mapping[str, str],
    ) -> dict[str, str]:
        reasons = {name: self._why(streams) for name in selected if name not in results}
        for name, result in results.items():
            if result.outcome == "incomplete":
                is_last = self.last == (kind, name)
                reasons[name] = result.failure or self._broken_off(result, streams, is_last=is_last)
        return reasons

    def _why(self, streams: Mapping[str, str]) -> str:
        if not self.launches:
            return "not_launched"
        if self.has_exited:
            return "engine_exited"
        if self.is_ready is False:
            return "not_ready"
        return _ENDED.get(self.ended(streams) or "", "no_result")

    def _broken_off(self, result: CheckState, streams: Mapping[str, str], *, is_last: bool) -> str:
        """Return why a result has neither a verdict nor a class; an error in its own code has no better word."""
        if result.is_recovered:
            return "recording_lost"
        # Of an interrupted run only the last one can have been under way.
        return "aborted" if is_last and self.ended(streams) == "aborted" else "incomplete"

    # --- the steps of a run ------------------------------------------------------------------------------

    def declared(self, plan: DeclaredAttempt, continues: str | None) -> AttemptState:
        """Return the state after a recipe that plans it."""
        return self._replace(plan=plan, continues=continues)

    def launched(self) -> AttemptState:
        """Return the state after a launch; what was judged before the engine ended holds."""
        return self._replace(
            launches=self.launches + 1,
            health=None,
            is_ready=None,
            has_answered=False,
            exit_code=None,
            has_exited=False,
            is_stopped=False,
            launch_failure=None,
        )

    def observed(self, seen: Seen, event: HealthObserved) -> AttemptState:
        """Return the state after a look at its health."""
        answered = any(artifact.name.startswith("ready_response") for artifact in seen.header.artifacts)
        return self._replace(health=event.health, is_ready=event.is_ready, has_answered=answered)

    def checked(self, seen: Seen, event: CheckCompleted) -> AttemptState:
        """Return the state after the result of a check."""
        found = CheckState(
            event.outcome,
            event.passed,
            event.expected,
            event.failure,
            seen.entry_hash,
            is_recovered=seen.header.stream != self.stream,
        )
        name = event.selected_as
        return self._replace(checks={**self.checks, name: found}, last=("check", name))

    def repeated(self, seen: Seen, event: SuiteCompleted) -> AttemptState:
        """Return the state after the result of a suite."""
        found = SuiteState(
            event.outcome,
            event.passed,
            event.expected,
            event.failure,
            seen.entry_hash,
            is_recovered=seen.header.stream != self.stream,
            items=event.items,
            is_stable=event.is_stable,
            required_rate=event.required_rate,
            purpose=event.purpose,
        )
        name = event.selected_as
        return self._replace(suites={**self.suites, name: found}, last=("suite", name))

    def measured(self, seen: Seen, event: LoadMeasured) -> AttemptState:
        """Return the state after a run of a load cell; a warm-up changes nothing."""
        if event.phase == "warm-up":
            return self
        key = (event.protocol, event.cell)
        runs = (*self.loads.get(key, ()), RunState.of(event, seen.entry_hash))
        return self._replace(loads={**self.loads, key: runs})

    def without(self, target: str) -> AttemptState:
        """Return the state without the result that was retracted."""
        loads = {
            key: tuple(run for run in runs if run.entry_hash != target) for key, runs in self.loads.items()
        }
        checks = {name: check for name, check in self.checks.items() if check.entry_hash != target}
        suites = {name: suite for name, suite in self.suites.items() if suite.entry_hash != target}
        return self._replace(checks=checks, suites=suites, loads=loads)


Runs = tuple[AttemptState, ...]
"""The runs of one attempt, in the order in which they began."""


def change(runs: Runs, key: str, stream: str | None, changed: Callable[[AttemptState], AttemptState]) -> Runs:
    """Return the runs with that of `stream` changed, which begins if there is none; null is the newest.

    One that begins has the plan of the one before it, until its own is declared.
    """
    at = next((at for at, run in enumerate(runs) if run.stream == stream), None)
    if stream is None and runs:
        at = len(runs) - 1
    if at is None:
        begun = AttemptState(key, stream, runs[-1].plan if runs else None)
        return (*runs, changed(begun))
    return (*runs[:at], changed(runs[at]), *runs[at + 1 :])


def numbers(runs: Runs) -> tuple[int | None, ...]:
    """Return for each run the number of its newest launch, counted over all runs; null when it has none."""
    found: list[int | None] = []
    before = 0
    for run in runs:
        before += run.launches
        found.append(before if run.launches else None)
    return tuple(found)
