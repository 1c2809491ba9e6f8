"""The whole run: recipe declared, attempts one after another or side by side, stream closed.

1. Nothing is launched when a port or a GPU that any attempt needs is taken; what holds it is named. Ports that
   are left to us are chosen before, and held until their engines start.
2. What an earlier run left behind is collected before (`recovery`).
3. Attempts run in the recipe's order, each in a stream of its own. Those that the recipe puts side by
   side run at the same time; one lane's events never wait for the other's.
4. An engine that cannot be launched, or is another one than before, ends its own attempt, which is recorded with the
   reason; the run goes on with the next. Only what concerns all ends the run: no container engine, no room, a ledger that
   cannot be written.
5. An interrupt, SIGTERM or SIGHUP ends the run in order: engines are kept and stopped, streams are closed as
   aborted with the reason. So does a disk that has too little left (`space`), looked at before the run,
   before each attempt and before each check.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from anvil.collectors.checks import History
from anvil.collectors.journal import Journal
from anvil.collectors.launchers.interface import Launcher, LaunchFailed, Provenance
from anvil.collectors.launchers.ports import HeldPort
from anvil.collectors.recipes import Attempt, Recipe
from anvil.collectors.recipes.parts import Selected
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.recovery import name_kept, name_loads, unnamed
from anvil.collectors.running.attempt import FREE_IT, AttemptRun
from anvil.collectors.running.declaring import SelectedCells, Selection, declare
from anvil.collectors.running.holding import FOLDER, held
from anvil.collectors.running.host import HostStep
from anvil.collectors.running.judges import foreseen
from anvil.collectors.running.measuring import Measuring
from anvil.collectors.running.narration import Narrator
from anvil.collectors.running.planning import Planned, needs_port, plan_attempt
from anvil.collectors.running.restoration import plan_of, restoration
from anvil.collectors.running.resuming import Continued
from anvil.collectors.running.sameness import AnotherEngine
from anvil.collectors.running.space import DiskFull, Space, cells_bytes, estimate_bytes
from anvil.collectors.running.suites import chosen_suites, suite_artifacts, suite_bytes
from anvil.collectors.running.weights import WeightsStep
from anvil.collectors.site import Site
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import AnvilError, CollectorError
from anvil.ledger.header import Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

RECIPE_TYPE = "application/toml"


@dataclass(frozen=True)
class RunPlan:
    """What is to be run: a recipe, on this host, into this campaign.

    `only` names checks, suites and protocols, none for all. `continued` is the run that this one goes on with.
    """

    recipe: Recipe
    attempts: tuple[Attempt, ...]
    site: Site
    campaign: str
    only: frozenset[str] = frozenset()
    base_url: str | None = None
    continued: Continued | None = None

    def selected(self, attempt: Attempt) -> Selection:
        """Return what this run carries out in an attempt."""
        if self.continued is not None:
            return self.continued.left(attempt)
        return Selection(
            tuple(check for check in attempt.checks if self._is_wanted(check)),
            tuple(SelectedCells.of(item) for item in attempt.protocols if self._is_wanted(item)),
            tuple(suite for suite in attempt.suites if self._is_wanted(suite)),
        )

    def _is_wanted(self, chosen: Selected) -> bool:
        return not self.only or chosen.name in self.only or chosen.id in self.only


@dataclass(frozen=True)
class Running:
    """What a run goes on with: the ledger, launchers by name, who is told, and where it writes."""

    ledger: Ledger
    launchers: Mapping[str, Launcher]
    narrator: Narrator
    journals: Path
    space: Space

    @property
    def loads(self) -> Path:
        """Where the load client writes down what comes."""
        return self.journals.parent / "loads"

    @property
    def holds(self) -> Path:
        """Where it is said which process carries out the run of a stream."""
        return self.journals.parent / FOLDER


@dataclass(frozen=True)
class Done:
    """What a run came to: the streams it was recorded in, and by attempt why it could not be carried out."""

    streams: tuple[str, ...]
    not_launched: Mapping[str, LaunchFailed]
    other_engines: Mapping[str, AnotherEngine] = field(default_factory=dict)


async def carry_out(plan: RunPlan, running: Running) -> Done:
    """Run everything and return what it came to.

    Raises:
        CollectorError: something is taken or missing, then nothing was launched; or there is no container
            engine any more.
        DiskFull: a disk has less left than the site asks for; what ran until then is recorded.
    """
    running.space.require("the run was not started")
    selections = [(attempt, plan.selected(attempt)) for attempt in plan.attempts]
    estimate = estimate_bytes((attempt, selected.checks) for attempt, selected in selections)
    estimate += sum(cells_bytes(selected.protocols) for _, selected in selections)
    suites = (chosen_suites(plan.recipe, selected.suites) for _, selected in selections)
    estimate += sum(suite_bytes(suite) for several in suites for suite in several)
    running.narrator.say(running.space.outlook(estimate))
    if plan.continued is None:
        _foretell(selections, running.narrator)
    with ExitStack() as ports:
        groups = [
            [_lane(plan, running, attempt, ports) for attempt in group]
            for group in _side_by_side(plan.attempts)
        ]
        for lane in (lane for lanes in groups for lane in lanes):
            await _require_free(lane.planned, running.launchers)
        gates = plan_of(plan.recipe, plan.site, plan.campaign, running.journals.parent, running.narrator)
        async with restoration(gates, running.ledger):
            return await _groups(plan, running, groups)


def _foretell(selections: Sequence[tuple[Attempt, Selection]], narrator: Narrator) -> None:
    """Say what is selected and lacks what it needs; it is carried out all the same."""
    for attempt, selected in selections:
        for lack in foreseen(attempt, selected.checks):
            narrator.say(f"{attempt.key}: {lack.name} will be prerequisite_failed: {lack.why}")


async def _groups(plan: RunPlan, running: Running, groups: Sequence[Sequence[_Lane]]) -> Done:
    """Run the groups one after another, the lanes of each at the same time."""
    not_launched: dict[str, LaunchFailed] = {}
    others: dict[str, AnotherEngine] = {}
    for lanes in groups:
        # Somebody may have taken it while earlier attempts ran.
        holders = [await _holder(lane.planned, running.launchers) for lane in lanes]
        runs = (lane.run(plan, running, holder) for lane, holder in zip(lanes, holders, strict=True))
        ends = await asyncio.gather(*runs, return_exceptions=True)
        of_their_own = (LaunchFailed, AnotherEngine)
        failures = [
            end for end in ends if isinstance(end, BaseException) and not isinstance(end, of_their_own)
        ]
        for other in failures[1:]:
            running.narrator.say(f"another lane failed too: {other}")
        if failures:
            raise failures[0]
        for lane, end in zip(lanes, ends, strict=True):
            if isinstance(end, LaunchFailed):
                not_launched[lane.planned.attempt.key] = end
            elif isinstance(end, AnotherEngine):
                others[lane.planned.attempt.key] = end
    return Done(tuple(lane.stream.id for lanes in groups for lane in lanes), not_launched, others)


@dataclass(frozen=True)
class _Lane:
    """One attempt and the stream that it will be recorded in."""

    stream: Stream
    planned: Planned

    async def run(self, plan: RunPlan, running: Running, holder: str | None) -> None:
        with held(running.holds, self.stream.id):
            await self._alone(plan, running, holder)

    async def _alone(self, plan: RunPlan, running: Running, holder: str | None) -> None:
        journal = Journal.create(running.journals, self.stream.id)
        self.stream.open("run")
        recorder = LedgerRecorder(running.ledger, self.stream, journal)
        try:
            await self._run(plan, running, recorder, holder)
        except asyncio.CancelledError:
            self._end_early(running, recorder, journal, "interrupted")
            raise
        except LaunchFailed:
            self.stream.close("launch_failed")
            journal.finish()  # all that it holds is named
            raise
        except DiskFull:
            self._end_early(running, recorder, journal, "disk_full")
            raise
        except AnotherEngine:
            self._end_early(running, recorder, journal, "another_engine")
            raise
        except BaseException:
            self._end_early(running, recorder, journal, "failed")
            raise
        self.stream.close()
        journal.finish()

    def _end_early(self, running: Running, recorder: LedgerRecorder, journal: Journal, reason: str) -> None:
        """Name what no event names yet and close the stream; what cannot be named stays for recovery."""
        ledger = running.ledger
        try:
            name_loads(recorder, ledger, self.stream.id, running.loads, self.planned.secrets)
            name_kept(recorder, unnamed(ledger, self.stream.id, journal.lines()))
        except (AnvilError, OSError):
            try:
                self.stream.close(reason)
            finally:
                journal.leave()
            return
        self.stream.close(reason)
        journal.finish()

    async def _run(
        self, plan: RunPlan, running: Running, recorder: LedgerRecorder, holder: str | None
    ) -> None:
        selected = plan.selected(self.planned.attempt)
        campaign = Subject(plan.campaign)
        continues = None if plan.continued is None else plan.continued.stream
        event = declare(plan.recipe, [self.planned], {self.planned.attempt.key: selected}, continues)
        keeping = recorder.about(campaign)
        blob = keeping.keep(plan.recipe.content, name="recipe")
        attachments = [Attachment("recipe", RECIPE_TYPE, blob)]
        for name, file, content in suite_artifacts(plan.recipe.suite_files):
            kind = f"application/{file.rpartition('.')[2]}"
            attachments.append(Attachment(name, kind, keeping.keep(content, name=name)))
        recorder.append(event, subject=campaign, attachments=attachments)
        launcher = _launcher(self.planned, running.launchers)
        about = recorder.about(self.planned.subject)
        looking = WeightsStep(about, running.narrator, running.journals.parent, running.ledger.blobs.get)
        async with HostStep(about, self.planned):
            weights = await looking.run(self.planned)
            attempt = AttemptRun(
                self.planned,
                launcher,
                about,
                running.narrator,
                selected.checks,
                running.space,
                Measuring(
                    self.planned,
                    about,
                    running.narrator,
                    running.space,
                    running.loads,
                    self.stream.id,
                    selected.protocols,
                    [item.pair for item in plan.recipe.experiments if item.pair is not None],
                    {} if plan.continued is None else plan.continued.rungs,
                ),
                History() if plan.continued is None else plan.continued.history(),
                weights,
                chosen_suites(plan.recipe, selected.suites),
                () if plan.continued is None else plan.continued.identified,
            )
            await attempt.run(holder)


def _lane(plan: RunPlan, running: Running, attempt: Attempt, ports: ExitStack) -> _Lane:
    stream = Stream(running.ledger, running.ledger.signer("collector"))
    provenance = Provenance(running.ledger.origin, stream.id, attempt.key)
    held = None
    if needs_port(attempt, plan.site, plan.base_url):
        held = ports.enter_context(HeldPort())
    planned = plan_attempt(attempt, plan.site, provenance, plan.campaign, base_url=plan.base_url, held=held)
    return _Lane(stream, planned)


async def _require_free(item: Planned, launchers: Mapping[str, Launcher]) -> None:
    holder = await _holder(item, launchers)
    if holder is not None:
        raise CollectorError(f"attempt {item.attempt.key!r} was not started: {holder}", advice=FREE_IT)


async def _holder(item: Planned, launchers: Mapping[str, Launcher]) -> str | None:
    return await _launcher(item, launchers).occupied(item.plan)


def _launcher(item: Planned, launchers: Mapping[str, Launcher]) -> Launcher:
    name = "attach" if item.plan.target else item.attempt.launcher
    if name not in launchers:
        raise CollectorError(
            f"attempt {item.attempt.key!r} needs the launcher {name!r}, which is not at hand"
        )
    return launchers[name]


def _side_by_side(attempts: Sequence[Attempt]) -> Iterator[list[Attempt]]:
    """Yield attempts that run at the same time: neighbours with one `side_by_side` name, others alone."""
    group: list[Attempt] = []
    name: str | None = None
    for attempt in attempts:
        if group and (attempt.side_by_side is None or attempt.side_by_side != name):
            yield group
            group = []
        group.append(attempt)
        name = attempt.side_by_side
    if group:
        yield group
