"""The state of campaigns: what was planned, launched, tested, and what is incomplete and why.

A fold: `step` takes the state and one event to the next state, and never changes what it was given.
The `match` ends in `assert_never`, so that a new event type cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from anvil.ledger.events import (
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
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate
from anvil.projections.seen import Seen

UNNAMED = "-"
"""The campaign or attempt of events that name none."""


@dataclass(frozen=True)
class CheckState:
    """What became of one check in one attempt: the newest result. A retracted one is none."""

    outcome: str
    passed: int
    expected: int
    failure: str | None
    entry_hash: str


@dataclass(frozen=True)
class AttemptState:
    """One launch of a candidate under a recipe: the newest, in `stream`. Earlier ones stay in the log."""

    key: str
    plan: DeclaredAttempt | None = None
    stream: str | None = None
    launches: int = 0
    is_ready: bool | None = None
    exit_code: int | None = None
    has_exited: bool = False
    is_stopped: bool = False
    checks: Mapping[str, CheckState] = field(default_factory=dict)

    def incomplete(self, streams: Mapping[str, str]) -> dict[str, str]:
        """Return each selected check without a verdict, and why it has none."""
        selected = () if self.plan is None else self.plan.checks
        reasons = {name: self._why(streams) for name in selected if name not in self.checks}
        for name, check in self.checks.items():
            if check.outcome == "incomplete":
                reasons[name] = check.failure or "incomplete"
        return reasons

    def _why(self, streams: Mapping[str, str]) -> str:
        if not self.launches:
            return "not_launched"
        if self.has_exited:
            return "engine_exited"
        if self.is_ready is False:
            return "not_ready"
        return {"open": "still_running", "abandoned": "recording_lost", "aborted": "aborted"}.get(
            streams.get(self.stream or "", ""), "no_result"
        )


@dataclass(frozen=True)
class CampaignState:
    """One campaign. What people said is by entry hash, without what was retracted."""

    name: str
    recipe: str | None = None
    candidates: Mapping[str, DeclaredCandidate] = field(default_factory=dict)
    attempts: Mapping[str, AttemptState] = field(default_factory=dict)
    observations: frozenset[str] = frozenset()
    caveats: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaigns:
    """Everything that is known, by campaign, and how each stream stands."""

    campaigns: Mapping[str, CampaignState] = field(default_factory=dict)
    streams: Mapping[str, str] = field(default_factory=dict)


def fold(events: Iterable[Seen], state: Campaigns | None = None) -> Campaigns:
    """Return the state after `events`."""
    current = state or Campaigns()
    for seen in events:
        current = step(current, seen)
    return current


def step(state: Campaigns, seen: Seen) -> Campaigns:  # noqa: C901  # one line a type, on purpose
    """Return the state after one more event."""
    event, header = seen.event, seen.header
    match event:
        case StreamOpened():
            return _stream(state, header.stream, "open")
        case StreamClosed():
            return _stream(state, header.stream, event.outcome)
        case StreamAbandoned():
            return _stream(state, event.abandoned, "abandoned")
        case EventRetracted():
            return _retract(state, event.target)
        case RecipeDeclared():
            return _declare(state, seen, event)
        case LaunchStarted():
            return _launch(state, seen)
        case HealthObserved():
            return _attempt(state, seen, lambda a: replace(a, is_ready=event.is_ready))
        case EngineExited():
            return _attempt(state, seen, lambda a: replace(a, has_exited=True, exit_code=event.exit_code))
        case LaunchStopped():
            return _attempt(state, seen, lambda a: replace(a, is_stopped=True))
        case CheckCompleted():
            return _check(state, seen, event)
        case ObservationNoted():
            noted = {seen.entry_hash}
            return _campaign(state, seen, lambda c: replace(c, observations=c.observations | noted))
        case CaveatNoted():
            text = {seen.entry_hash: event.text}
            return _campaign(state, seen, lambda c: replace(c, caveats={**c.caveats, **text}))
        case GapNoted():
            text = {seen.entry_hash: event.text}
            return _campaign(state, seen, lambda c: replace(c, gaps={**c.gaps, **text}))
        case (
            LedgerCreated()
            | KeyAdded()
            | KeyRotated()
            | KeyRevoked()
            | SealedRedacted()
            | ArtifactRedacted()
            | ArtifactDisclosed()
            | HostObserved()
            | WeightsInspected()
            | EngineIdentified()
            | EngineReported()
            | LogRetained()
            | SuiteCompleted()
            | LoadMeasured()
            | RestorationChecked()
            | WaiverGranted()
            | DecisionRecorded()
            | PublicationReleased()
            | PublicationWithdrawn()
            | ExcerptApproved()
            | TripwireExcepted()
        ):
            return state  # says nothing about how far a campaign has come
        case _:
            assert_never(event)


def _stream(state: Campaigns, stream: str, how: str) -> Campaigns:
    return replace(state, streams={**state.streams, stream: how})


def _campaign(state: Campaigns, seen: Seen, change: Callable[[CampaignState], CampaignState]) -> Campaigns:
    name = seen.header.subject.campaign or UNNAMED
    changed = change(state.campaigns.get(name, CampaignState(name)))
    return replace(state, campaigns={**state.campaigns, name: changed})


def _attempt(state: Campaigns, seen: Seen, change: Callable[[AttemptState], AttemptState]) -> Campaigns:
    key = seen.header.subject.attempt or UNNAMED

    def changed(campaign: CampaignState) -> CampaignState:
        attempt = change(campaign.attempts.get(key, AttemptState(key)))
        return replace(campaign, attempts={**campaign.attempts, key: attempt})

    return _campaign(state, seen, changed)


def _declare(state: Campaigns, seen: Seen, event: RecipeDeclared) -> Campaigns:
    def changed(campaign: CampaignState) -> CampaignState:
        attempts = dict(campaign.attempts)
        for plan in event.attempts:
            attempts[plan.key] = replace(attempts.get(plan.key, AttemptState(plan.key)), plan=plan)
        candidates = {**campaign.candidates, **{c.key: c for c in event.candidates}}
        return replace(campaign, recipe=event.recipe, attempts=attempts, candidates=candidates)

    return _campaign(state, seen, changed)


def _launch(state: Campaigns, seen: Seen) -> Campaigns:
    def launched(attempt: AttemptState) -> AttemptState:
        return replace(
            attempt,
            stream=seen.header.stream,
            launches=attempt.launches + 1,
            is_ready=None,
            exit_code=None,
            has_exited=False,
            is_stopped=False,
            checks={},
        )

    return _attempt(state, seen, launched)


def _check(state: Campaigns, seen: Seen, event: CheckCompleted) -> Campaigns:
    found = CheckState(event.outcome, event.passed, event.expected, event.failure, seen.entry_hash)
    name = event.selected_as
    return _attempt(state, seen, lambda a: replace(a, checks={**a.checks, name: found}))


def _retract(state: Campaigns, target: str) -> Campaigns:
    """Take back a result or what somebody said."""

    def without(attempt: AttemptState) -> AttemptState:
        checks = {name: check for name, check in attempt.checks.items() if check.entry_hash != target}
        return replace(attempt, checks=checks)

    campaigns = {
        name: replace(
            campaign,
            attempts={key: without(attempt) for key, attempt in campaign.attempts.items()},
            observations=campaign.observations - {target},
            caveats={key: text for key, text in campaign.caveats.items() if key != target},
            gaps={key: text for key, text in campaign.gaps.items() if key != target},
        )
        for name, campaign in state.campaigns.items()
    }
    return replace(state, campaigns=campaigns)
