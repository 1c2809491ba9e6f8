"""The record as documents see it: each campaign's events by launch, and what became of them since.

1. A fold: from a state and events to the next state, never changing what it was given. The `match` ends
   in `assert_never`, so that a new event type cannot be forgotten. Within one call of `fold` the state
   grows in place and is frozen at the end: a copy for each event would cost the square of their number.
2. Events are grouped by *launch*. A second launch of one attempt is a second attempt: what failed is
   not covered by what passed later. Runs side by side are told apart by their streams. What a person says of
   an attempt belongs to its newest launch, and so does what recovery adds in a stream of its own.
3. A correction never removes an event here. It says that the event is retracted, that its signer is
   disowned from an index on, or which of its artifacts are gone; `anvil.projections.evidence` reads it. One by a key
   that was disowned by then changes nothing (`Record.counting`): a thief takes nothing back.
4. What is kept of an event is what it states and the names of its artifacts: no envelope, no bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import assert_never

from anvil.ledger.events import (
    AnyEvent,
    ArtifactDisclosed,
    ArtifactMissing,
    ArtifactRedacted,
    CaveatNoted,
    CheckCompleted,
    CheckImported,
    DecisionRecorded,
    EngineExited,
    EngineIdentified,
    EngineReported,
    EventRetracted,
    EvidenceAttached,
    ExcerptApproved,
    GapNoted,
    HealthObserved,
    HostObserved,
    ImportRecorded,
    KeyAdded,
    KeyRevoked,
    KeyRotated,
    LaunchFailed,
    LaunchStarted,
    LaunchStopped,
    LedgerCreated,
    LoadImported,
    LoadMeasured,
    LogExcerpted,
    LogRetained,
    ObservationNoted,
    PublicationReleased,
    PublicationWithdrawn,
    RecipeDeclared,
    RestorationChecked,
    SealedRedacted,
    StatementImported,
    StreamAbandoned,
    StreamClosed,
    StreamOpened,
    SuiteCompleted,
    SuiteImported,
    TripwireExcepted,
    WaiverGranted,
    WeightsInspected,
)
from anvil.ledger.header import ArtifactEntry, Subject
from anvil.projections.figures import ArtifactName
from anvil.projections.seen import Seen
from anvil.projections.standing import Correction, Said, Standing
from anvil.projections.standing import step as step_of

UNNAMED = "-"
"""The campaign or attempt of events that name none."""

_CORRECTIONS = (
    EventRetracted,
    SealedRedacted,
    ArtifactRedacted,
    ArtifactMissing,
    ArtifactDisclosed,
    EvidenceAttached,
    KeyRevoked,
)


@dataclass(frozen=True, slots=True)
class Kept:
    """One event, as much of it as documents need."""

    index: int
    entry_hash: str
    at: str
    stream: str
    key: str
    subject: Subject
    artifacts: tuple[ArtifactEntry, ...]
    event: AnyEvent
    ledger: str
    """The ledger in which it was recorded first; each host has its own."""
    is_synthetic: bool = False
    """Whether its stream says that it is made for a test or a demonstration."""

    @classmethod
    def of(cls, seen: Seen, *, is_synthetic: bool = False) -> Kept:
        """Return what is kept of an event."""
        header = seen.header
        return cls(
            seen.index,
            seen.entry_hash,
            header.at,
            header.stream,
            header.key,
            header.subject,
            header.artifacts,
            seen.event,
            header.ledger,
            is_synthetic,
        )


@dataclass(frozen=True)
class Launch:
    """One launch of an attempt, from 1; 0 when nobody saw the launch itself. Its events in order."""

    attempt: str
    number: int
    candidate: str | None
    events: tuple[Kept, ...] = ()


@dataclass(frozen=True)
class Campaign:
    """One campaign: its recipes, its launches by attempt, what is said of all of it, what was published; each in order."""

    name: str
    recipes: tuple[Kept, ...] = ()
    attempts: Mapping[str, tuple[Launch, ...]] = field(default_factory=dict)
    general: tuple[Kept, ...] = ()
    publications: tuple[Kept, ...] = ()
    """Its releases, and what withdrew them."""

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Every launch, attempts in the order in which they came up."""
        return tuple(launch for launches in self.attempts.values() for launch in launches)

    def every(self) -> Iterator[Kept]:
        """Yield every event of it."""
        yield from self.recipes
        yield from self.general
        yield from self.publications
        yield from (kept for launch in self.launches for kept in launch.events)


@dataclass(frozen=True)
class Record:
    """Everything that documents are made of, as of `size` entries."""

    size: int = 0
    campaigns: Mapping[str, Campaign] = field(default_factory=dict)
    attached: Mapping[str, tuple[Kept, ...]] = field(default_factory=dict)
    """Evidence found later, by the event that it supports."""
    disowned: Mapping[str, int] = field(default_factory=dict)
    """Key to the index from which on it is not believed."""
    corrections: tuple[Kept, ...] = ()
    """The events that say all this, in order."""
    begins: Mapping[str, int] = field(default_factory=dict)
    """Ledger to the index of its first event; a restored ledger holds its predecessor's too."""
    synthetic: frozenset[str] = frozenset()
    """The synthetic streams that are open; events remember it of theirs."""

    @cached_property
    def counting(self) -> tuple[Kept, ...]:
        """The corrections that count (rule 3), in order: what is retracted, gone and standing follows from these alone."""
        return tuple(kept for kept in self.corrections if not self.is_disowned(kept))

    @cached_property
    def retracted(self) -> frozenset[str]:
        """The events that were taken back."""
        events = (kept.event for kept in self.counting)
        return frozenset(event.target for event in events if isinstance(event, EventRetracted))

    @cached_property
    def lost(self) -> Mapping[ArtifactName, str]:
        """Artifacts of which somebody said that they are gone, and the event that says so; not those found again."""
        lost: dict[ArtifactName, str] = {}
        for kept in self.counting:
            event = kept.event
            if isinstance(event, ArtifactMissing):
                lost[ArtifactName(event.target, event.artifact)] = kept.entry_hash
            elif isinstance(event, EvidenceAttached):
                for name in event.restores:
                    lost.pop(ArtifactName(event.target, name), None)
        return lost

    @cached_property
    def gone(self) -> frozenset[ArtifactName]:
        """The artifacts that were redacted, or lost as far as nobody took that back."""
        events = (kept.event for kept in self.counting)
        redacted = (ArtifactName(e.target, e.artifact) for e in events if isinstance(e, ArtifactRedacted))
        lost = (name for name, said in self.lost.items() if said not in self.retracted)
        return frozenset((*redacted, *lost))

    @cached_property
    def standing(self) -> Standing:
        """How events stand after all that was said of them later, as `anvil status` has it (`standing`)."""
        standing = Standing()
        every = (kept for kept in self.every() if isinstance(kept.event, DecisionRecorded))
        decisions = (kept for kept in every if not self.is_disowned(kept))
        for kept in sorted((*self.counting, *decisions), key=lambda kept: kept.index):
            if isinstance(kept.event, Correction):
                standing = step_of(
                    standing, Said(kept.index, kept.entry_hash, bool(kept.artifacts)), kept.event
                )
        return standing

    def is_disowned(self, kept: Kept) -> bool:
        """Say whether an event was signed by a key that did not count by then."""
        disowned_from = self.disowned.get(kept.key)
        return disowned_from is not None and kept.index >= disowned_from

    def every(self) -> Iterator[Kept]:
        """Yield every event that is kept."""
        for campaign in self.campaigns.values():
            yield from campaign.every()
        yield from (kept for found in self.attached.values() for kept in found)


def fold(events: Iterable[Seen], state: Record | None = None, *, as_of: int | None = None) -> Record:
    """Return the state after `events`, those after the index `as_of` left out."""
    growing = _Growing(state or Record())
    for seen in takewhile(lambda seen: as_of is None or seen.index <= as_of, events):
        growing.add(seen)
    return growing.frozen()


def step(state: Record, seen: Seen) -> Record:
    """Return the state after one more event."""
    return fold((seen,), state)


class _GrowingCampaign:
    """A campaign that is being added to."""

    def __init__(self, campaign: Campaign) -> None:
        self.name = campaign.name
        self.recipes = list(campaign.recipes)
        self.general = list(campaign.general)
        self.publications = list(campaign.publications)
        self.attempts = {
            key: [(one.number, one.candidate, list(one.events)) for one in launches]
            for key, launches in campaign.attempts.items()
        }

    def frozen(self) -> Campaign:
        attempts = {
            key: tuple(Launch(key, number, of, tuple(events)) for number, of, events in launches)
            for key, launches in self.attempts.items()
        }
        return Campaign(
            self.name, tuple(self.recipes), attempts, tuple(self.general), tuple(self.publications)
        )


class _Growing:
    """A record that is being added to."""

    def __init__(self, record: Record) -> None:
        self._size = record.size
        self._campaigns = {name: _GrowingCampaign(one) for name, one in record.campaigns.items()}
        self._attached = {target: list(found) for target, found in record.attached.items()}
        self._disowned = dict(record.disowned)
        self._corrections = list(record.corrections)
        self._begins = dict(record.begins)
        self._synthetic = set(record.synthetic)

    def frozen(self) -> Record:
        return Record(
            self._size,
            {name: campaign.frozen() for name, campaign in self._campaigns.items()},
            {target: tuple(found) for target, found in self._attached.items()},
            dict(self._disowned),
            tuple(self._corrections),
            dict(self._begins),
            frozenset(self._synthetic),
        )

    def add(self, seen: Seen) -> None:  # noqa: C901  # one line a type, on purpose
        event, header = seen.event, seen.header
        self._size = seen.index + 1
        if isinstance(event, _CORRECTIONS):
            self._corrections.append(self._kept(seen))
        match event:
            case StreamOpened():
                if event.synthetic:
                    self._synthetic.add(header.stream)
            case StreamClosed():
                self._synthetic.discard(header.stream)
            case StreamAbandoned():
                self._synthetic.discard(event.abandoned)
            case EvidenceAttached():
                self._attached.setdefault(event.target, []).append(self._kept(seen))
            case KeyRevoked():
                first = self._begins.get(header.ledger, 0) + event.last_good.size
                self._disowned[event.key] = min(first, self._disowned.get(event.key, first))
            case LedgerCreated():
                self._begins[event.origin] = seen.index
            case RecipeDeclared():
                self._declared(seen, event)
            case LaunchStarted() | LaunchFailed():
                self._about_attempt(seen, is_new=True)
            case (
                HealthObserved()
                | EngineIdentified()
                | EngineReported()
                | EngineExited()
                | LogExcerpted()
                | LogRetained()
                | LaunchStopped()
                | CheckCompleted()
                | SuiteCompleted()
                | LoadMeasured()
            ):
                self._about_attempt(seen, is_new=False)
            case ObservationNoted() if header.subject.attempt is not None:
                self._about_attempt(seen, is_new=False)
            case (
                ObservationNoted()
                | HostObserved()
                | WeightsInspected()
                | RestorationChecked()
                | CaveatNoted()
                | GapNoted()
                | WaiverGranted()
                | DecisionRecorded()
                | ImportRecorded()
                | StatementImported()
                | ArtifactDisclosed()
                | CheckImported()
                | SuiteImported()
                | LoadImported()
            ):
                self._campaign(seen).general.append(self._kept(seen))
            case PublicationReleased() | PublicationWithdrawn():
                self._campaign(seen).publications.append(self._kept(seen))
            case KeyAdded() | KeyRotated() | ExcerptApproved() | TripwireExcepted():
                pass  # changes nothing that a figure rests on
            case EventRetracted() | SealedRedacted() | ArtifactRedacted() | ArtifactMissing():
                pass  # a correction, of which follows what it follows from once all keys are known (rule 3)
            case _:
                assert_never(event)

    def _kept(self, seen: Seen) -> Kept:
        return Kept.of(seen, is_synthetic=seen.header.stream in self._synthetic)

    def _campaign(self, seen: Seen) -> _GrowingCampaign:
        name = seen.header.subject.campaign or UNNAMED
        if name not in self._campaigns:
            self._campaigns[name] = _GrowingCampaign(Campaign(name))
        return self._campaigns[name]

    def _declared(self, seen: Seen, event: RecipeDeclared) -> None:
        campaign = self._campaign(seen)
        campaign.recipes.append(self._kept(seen))
        for plan in event.attempts:
            campaign.attempts.setdefault(plan.key, [])

    def _about_attempt(self, seen: Seen, *, is_new: bool) -> None:
        subject = seen.header.subject
        launches = self._campaign(seen).attempts.setdefault(subject.attempt or UNNAMED, [])
        if is_new or not launches:
            number = 1 + (launches[-1][0] if launches else 0) if is_new else 0
            launches.append((number, subject.candidate, []))
        in_stream = (one for one in reversed(launches) if one[2] and one[2][0].stream == seen.header.stream)
        launch = launches[-1] if is_new else next(in_stream, launches[-1])
        launch[2].append(self._kept(seen))
