"""The record as documents see it: each campaign's events by launch, and what became of them since.

1. A fold: `step` takes the state and one event to the next state, and never changes what it was given.
   The `match` ends in `assert_never`, so that a new event type cannot be forgotten.
2. Events are grouped by *launch*. A second launch of one attempt is a second attempt: what failed is
   not covered by what passed later. What a person says of an attempt belongs to its newest launch.
3. A correction never removes an event here. It says that the event is retracted, that its signer is
   disowned from an index on, or which of its artifacts are gone; `anvil.projections.evidence` reads it.
4. What is kept of an event is what it states and the names of its artifacts: no envelope, no bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import assert_never

from anvil.ledger.events import (
    AnyEvent,
    ArtifactDisclosed,
    ArtifactRedacted,
    CaveatNoted,
    CheckCompleted,
    DecisionRecorded,
    EngineExited,
    EngineIdentified,
    EngineReported,
    EventRetracted,
    ExcerptApproved,
    GapNoted,
    HealthObserved,
    HostObserved,
    KeyAdded,
    KeyRevoked,
    KeyRotated,
    LaunchStarted,
    LaunchStopped,
    LedgerCreated,
    LoadMeasured,
    LogRetained,
    ObservationNoted,
    PublicationReleased,
    PublicationWithdrawn,
    RecipeDeclared,
    RestorationChecked,
    SealedRedacted,
    StreamAbandoned,
    StreamClosed,
    StreamOpened,
    SuiteCompleted,
    TripwireExcepted,
    WaiverGranted,
    WeightsInspected,
)
from anvil.ledger.header import ArtifactEntry, Subject
from anvil.projections.figures import ArtifactName
from anvil.projections.seen import Seen

UNNAMED = "-"
"""The campaign or attempt of events that name none."""


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

    @classmethod
    def of(cls, seen: Seen) -> Kept:
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
    """One campaign: its recipes, its launches by attempt, and what is said of all of it, each in order."""

    name: str
    recipes: tuple[Kept, ...] = ()
    attempts: Mapping[str, tuple[Launch, ...]] = field(default_factory=dict)
    general: tuple[Kept, ...] = ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Every launch, attempts in the order in which they came up."""
        return tuple(launch for launches in self.attempts.values() for launch in launches)


@dataclass(frozen=True)
class Record:
    """Everything that documents are made of, as of `size` entries."""

    size: int = 0
    campaigns: Mapping[str, Campaign] = field(default_factory=dict)
    retracted: frozenset[str] = frozenset()
    gone: frozenset[ArtifactName] = frozenset()
    disowned: Mapping[str, int] = field(default_factory=dict)
    synthetic: frozenset[str] = frozenset()
    ended: Mapping[str, str] = field(default_factory=dict)


def fold(events: Iterable[Seen], state: Record | None = None, *, as_of: int | None = None) -> Record:
    """Return the state after `events`, those after the index `as_of` left out."""
    current = state or Record()
    for seen in takewhile(lambda seen: as_of is None or seen.index <= as_of, events):
        current = step(current, seen)
    return current


def step(state: Record, seen: Seen) -> Record:  # noqa: C901  # one line a type, on purpose
    """Return the state after one more event."""
    event, header = seen.event, seen.header
    state = replace(state, size=seen.index + 1)
    match event:
        case StreamOpened():
            marked = {header.stream} if event.synthetic else set()
            return _ended(replace(state, synthetic=state.synthetic | marked), header.stream, "open")
        case StreamClosed():
            return _ended(state, header.stream, event.outcome)
        case StreamAbandoned():
            return _ended(state, event.abandoned, "abandoned")
        case EventRetracted():
            return replace(state, retracted=state.retracted | {event.target})
        case ArtifactRedacted():
            return replace(state, gone=state.gone | {ArtifactName(event.target, event.artifact)})
        case KeyRevoked():
            first = min(event.last_good.size, state.disowned.get(event.key, event.last_good.size))
            return replace(state, disowned={**state.disowned, event.key: first})
        case RecipeDeclared():
            return _declared(state, seen, event)
        case LaunchStarted():
            return _about_attempt(state, seen, is_new=True)
        case (
            HealthObserved()
            | EngineIdentified()
            | EngineReported()
            | EngineExited()
            | LogRetained()
            | LaunchStopped()
            | CheckCompleted()
            | SuiteCompleted()
            | LoadMeasured()
        ):
            return _about_attempt(state, seen, is_new=False)
        case ObservationNoted() if header.subject.attempt is not None:
            return _about_attempt(state, seen, is_new=False)
        case (
            ObservationNoted()
            | HostObserved()
            | WeightsInspected()
            | RestorationChecked()
            | CaveatNoted()
            | GapNoted()
            | WaiverGranted()
            | DecisionRecorded()
        ):
            return _general(state, seen)
        case (
            LedgerCreated()
            | KeyAdded()
            | KeyRotated()
            | SealedRedacted()
            | ArtifactDisclosed()
            | PublicationReleased()
            | PublicationWithdrawn()
            | ExcerptApproved()
            | TripwireExcepted()
        ):
            return state  # changes nothing that a figure rests on
        case _:
            assert_never(event)


def _ended(state: Record, stream: str, how: str) -> Record:
    return replace(state, ended={**state.ended, stream: how})


def _campaign(state: Record, seen: Seen) -> Campaign:
    name = seen.header.subject.campaign or UNNAMED
    return state.campaigns.get(name, Campaign(name))


def _with(state: Record, campaign: Campaign) -> Record:
    return replace(state, campaigns={**state.campaigns, campaign.name: campaign})


def _general(state: Record, seen: Seen) -> Record:
    campaign = _campaign(state, seen)
    return _with(state, replace(campaign, general=(*campaign.general, Kept.of(seen))))


def _declared(state: Record, seen: Seen, event: RecipeDeclared) -> Record:
    campaign = _campaign(state, seen)
    attempts = {**dict.fromkeys((plan.key for plan in event.attempts), ()), **campaign.attempts}
    return _with(state, replace(campaign, recipes=(*campaign.recipes, Kept.of(seen)), attempts=attempts))


def _about_attempt(state: Record, seen: Seen, *, is_new: bool) -> Record:
    campaign, subject = _campaign(state, seen), seen.header.subject
    key = subject.attempt or UNNAMED
    launches = campaign.attempts.get(key, ())
    if is_new or not launches:
        number = 1 + (launches[-1].number if launches else 0) if is_new else 0
        launches = (*launches, Launch(key, number, subject.candidate))
    *earlier, newest = launches
    newest = replace(newest, events=(*newest.events, Kept.of(seen)))
    return _with(state, replace(campaign, attempts={**campaign.attempts, key: (*earlier, newest)}))
