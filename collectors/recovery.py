"""After a crash: what a dead run left is collected, and only then stopped.

1. The run's stream is ended by an event in another stream, so that silence is not taken for an end.
2. Its engines are found by what the launchers left, and their logs, states and exits are kept before
   they are stopped and removed. One whose launch no event tells of yet is told of first.
3. Bytes that had arrived and that no event names yet are named now: those of a check or a suite by an
   incomplete result of it, those of a load by the event of its run, others by a caveat. Nothing is judged.
4. The journal goes last. Recovery has one of its own, so that one that is itself interrupted is ended
   and begun again like any run; it names nothing twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from anvil.collectors.checks import CHECKS
from anvil.collectors.journal import Journal, KeptLine, left_behind
from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.collectors.launchers.interface import Launcher, Running
from anvil.collectors.protocols.leftover import loads_of, recover_loads
from anvil.collectors.recorder import LedgerRecorder
from anvil.collectors.reports import patterns_of
from anvil.collectors.running.holding import FOLDER, let_go
from anvil.collectors.running.keeping import EngineEnd
from anvil.collectors.running.narration import Narrator
from anvil.collectors.suites import KEPT_FOR
from anvil.collectors.withholding import Secrets
from anvil.ledger.artifacts import blob_of
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.entry import stated
from anvil.ledger.envelope import Envelope
from anvil.ledger.events import (
    AnyEvent,
    CaveatNoted,
    HealthObserved,
    LaunchStarted,
    LaunchStopped,
    LoadMeasured,
    RecipeDeclared,
    StreamAbandoned,
    StreamOpened,
)
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.events.suites import SuiteCompleted
from anvil.ledger.header import Header, Subject
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream

STOP_S = 30.0
PURPOSE = "recovery"
_READ = frozenset(
    kind.event_type
    for kind in (StreamOpened, StreamAbandoned, RecipeDeclared, LaunchStarted, HealthObserved, LaunchStopped)
)
_STOPPED = "the recording stopped before a verdict; these bytes had arrived"


@dataclass(frozen=True)
class Recovery:
    """What recovering needs: the ledger, the launchers that may have left engines, and where journals lie."""

    ledger: Ledger
    launchers: Iterable[Launcher]
    journals: Path
    secrets: Secrets
    narrator: Narrator

    async def run(self) -> int:
        """Collect what dead runs of this ledger left; return how many runs had left something.

        Raises:
            AnvilError: something could not be kept; what is left is found again.
        """
        found = 0
        journals = list(left_behind(self.journals))
        has_containers = any(self._may_have_containers(left.stream) for left in journals)
        orphans = await self._orphans(is_news=has_containers)
        for left in journals:
            mine = [orphan for orphan in orphans if orphan.provenance.stream == left.stream]
            found += await self._collect(left.stream, left.lines, mine)
            left.finish()
            orphans = [orphan for orphan in orphans if orphan not in mine]
        for orphan in orphans:  # its journal is gone, it runs all the same
            found += await self._collect(orphan.provenance.stream, (), [orphan])
        let_go(self.journals.parent / FOLDER)
        return found

    @property
    def _loads(self) -> Path:
        return self.journals.parent / "loads"

    async def _orphans(self, *, is_news: bool) -> list[Running]:
        """Return the engines that dead runs left; `is_news`: whether one may have left a container."""
        found: list[Running] = []
        for launcher in self.launchers:
            try:
                found += await launcher.orphans(self.ledger.origin, self.secrets)
            except EngineUnreachable:  # most hosts have no container engine, and that is fine
                if is_news:
                    self.narrator.say("no container engine answers: containers of the dead run stay")
        return found

    def _may_have_containers(self, dead: str) -> bool:
        known, head = read_dead(self.ledger, dead), self.ledger.head(dead)
        # One that was killed may have launched what no event tells of yet.
        is_open = head is None or head.state == "open"
        possible = known.launchers if is_open else known.launched
        return any(known.launchers.get(attempt) == "docker" for attempt in possible)

    async def _collect(self, dead: str, lines: Sequence[KeptLine], orphans: Sequence[Running]) -> bool:
        """Collect what one dead run left, and say whether there was anything."""
        known, head = read_dead(self.ledger, dead), self.ledger.head(dead)
        is_open = head is not None and head.state == "open" and dead not in known.abandoned
        loads = loads_of(self._loads, dead)
        if not (is_open or orphans or loads or unnamed(self.ledger, dead, lines)):
            return False
        self.narrator.say(f"collecting what the run {dead} left")
        stream = Stream(self.ledger, self.ledger.signer("collector"))
        journal = Journal.create(self.journals, stream.id)
        try:
            stream.open(PURPOSE)
            with stream:
                if head is not None and is_open:
                    stream.append(
                        [Draft(StreamAbandoned(
                            abandoned=dead, last_seq=head.seq, last_header=head.header_hash, reason="crashed"
                        ))]
                    )  # fmt: skip
                recorder = LedgerRecorder(self.ledger, stream, journal)
                name_loads(recorder, self.ledger, dead, self._loads, self.secrets)
                for orphan in orphans:
                    await self._end(orphan, recorder, known)
                name_kept(recorder, unnamed(self.ledger, dead, lines))
        except BaseException:
            journal.leave()
            raise
        journal.finish()
        return True

    async def _end(self, orphan: Running, recorder: LedgerRecorder, known: DeadRun) -> None:
        attempt = orphan.provenance.attempt
        subject = known.subjects.get(attempt, Subject(attempt=attempt))
        if attempt not in known.launched:
            recorder.append(orphan.started(), subject=subject)
        end = EngineEnd(
            recorder,
            subject,
            self.secrets,
            STOP_S,
            before_ready=attempt not in known.ready,
            patterns=patterns_of(known.engines.get(attempt)),
            is_recovered=True,
        )
        self.narrator.say(f"{attempt}: log kept, {await end.of(orphan)}")


def unnamed(ledger: Ledger, stream: str, lines: Sequence[KeptLine]) -> list[KeptLine]:
    """Return the lines of the run in `stream` whose bytes are there and which no event names.

    Equal bytes may have arrived more than once; events name them in the order of the lines.
    """
    named = read_dead(ledger, stream).named
    found = []
    for line in lines:
        key = (Subject(**line.subject), line.digest)
        if named[key]:
            named[key] -= 1
        elif ledger.blobs.measure(line.digest) == BlobRef(line.digest, line.size):
            found.append(line)
    return found


@dataclass(frozen=True)
class DeadRun:
    """What the log says of a dead run: subjects, engines and launchers of its attempts, and how far each came.

    `launched` are the attempts whose engine is not removed, `ready` those whose engine answered.
    `named` counts how often an event of the run, or of a recovery since, names bytes by subject and digest.
    `abandoned` are the streams that an event since has ended.
    """

    subjects: dict[str, Subject] = field(default_factory=dict)
    engines: dict[str, str] = field(default_factory=dict)
    launchers: dict[str, str] = field(default_factory=dict)
    launched: set[str] = field(default_factory=set)
    ready: set[str] = field(default_factory=set)
    named: Counter[tuple[Subject, str]] = field(default_factory=Counter)
    abandoned: set[str] = field(default_factory=set)


def read_dead(ledger: Ledger, stream: str) -> DeadRun:
    """Return what the log says of the run that was recorded in `stream`, from its first event on."""
    found = DeadRun()
    start = ledger.store.first_of_stream(stream)
    streams = {stream}
    for row in () if start is None else ledger.store.rows(start, ledger.store.size()):
        header = Header.parse(Envelope.parse(row.entry).header)
        event = stated(row.entry_index, header) if header.event in _READ else None
        if isinstance(event, StreamOpened) and event.purpose == PURPOSE:
            streams.add(header.stream)
        if isinstance(event, StreamAbandoned):
            found.abandoned.add(event.abandoned)
        if header.stream in streams:
            _take_in(found, header, event)
            blobs = (blob_of(ledger.store, artifact) for artifact in header.artifacts)
            found.named.update((header.subject, blob.digest) for blob in blobs if blob is not None)
    return found


def _take_in(found: DeadRun, header: Header, event: AnyEvent | None) -> None:
    attempt = header.subject.attempt or ""
    match event:
        case RecipeDeclared():
            for plan in event.attempts:
                found.subjects[plan.key] = Subject(header.subject.campaign, plan.candidate, plan.key)
                found.engines[plan.key] = plan.engine
                found.launchers[plan.key] = plan.launcher
        case LaunchStarted():
            found.launched.add(attempt)
        case HealthObserved() if event.is_ready:
            found.ready.add(attempt)
        case LaunchStopped() if event.is_removed:  # what is found now is another launch
            found.launched.discard(attempt)
            found.ready.discard(attempt)
        case _:
            pass


def name_loads(
    recorder: LedgerRecorder, ledger: Ledger, stream: str, root: Path, secrets: Secrets
) -> list[LoadMeasured]:
    """Tell of the loads that the run in `stream` left (rule 3); wait for a load client that still writes."""
    return recover_loads(recorder, loads_of(root, stream), read_dead(ledger, stream).named, secrets)


def name_kept(recorder: LedgerRecorder, lines: Sequence[KeptLine]) -> None:
    """Name bytes by events (rule 3)."""
    for (subject, check, selected_as), group in groupby(lines, key=_about):
        attachments = _attachments(group)
        recorder.append(_what_became_of(check, selected_as), subject=subject, attachments=attachments)


def _what_became_of(check: str, selected_as: str) -> CheckCompleted | SuiteCompleted | CaveatNoted:
    suite = check.removeprefix(KEPT_FOR)
    if suite != check:
        return _incomplete_suite(suite, selected_as or suite)
    return _incomplete(check, selected_as or check) if check in CHECKS else _caveat()


def _about(line: KeptLine) -> tuple[Subject, str, str]:
    return Subject(**line.subject), line.check or "", line.selected_as or ""


def _attachments(lines: Iterable[KeptLine]) -> tuple[Attachment, ...]:
    found: dict[str, Attachment] = {}
    for line in lines:
        name = line.name if line.name not in found else f"{line.name}-{len(found)}"
        found[name] = Attachment(name, "application/octet-stream", BlobRef(line.digest, line.size))
    return tuple(found.values())


def _incomplete(check: str, selected_as: str) -> CheckCompleted:
    return CheckCompleted(
        check=check,
        selected_as=selected_as,
        version=CHECKS[check].version,
        outcome="incomplete",
        failure=None,
        expected=1,
        passed=0,
        requests=(),
        parameters=(),
        findings=(),
        visible_budget_tokens=0,
        reasoning_budget_tokens=0,
        prompts=(),
        messages=[["check", _STOPPED]],
    )


def _incomplete_suite(suite: str, selected_as: str) -> SuiteCompleted:
    return SuiteCompleted(
        suite=suite,
        selected_as=selected_as,
        version=None,
        digest=None,
        purpose=None,
        outcome="incomplete",
        failure=None,
        required_rate=None,
        expected=0,
        passed=0,
        items=(),
        requests=(),
        parameters=(),
        visible_budget_tokens=0,
        reasoning_budget_tokens=0,
        prompts=(),
        messages=[["suite", _STOPPED]],
    )


def _caveat() -> CaveatNoted:
    return CaveatNoted(text="The recording stopped here; these bytes had arrived before.", about=())
