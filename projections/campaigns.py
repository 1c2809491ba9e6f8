"""The state of campaigns: what was planned, launched, tested, and what is incomplete and why.

A fold: `step` takes the state and one event to the next state, and never changes what it was given.
The `match` ends in `assert_never`, so that a new event type cannot be forgotten. Within one call of `fold` the
mappings by campaign, attempt and stream are its own and change in place: a copy for each event would cost the
square of their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, assert_never

from anvil.ledger.events import (
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
from anvil.ledger.events.recipes import DeclaredCandidate
from anvil.projections import attempts as of_attempt
from anvil.projections import standing
from anvil.projections.attempts import AttemptState, Runs
from anvil.projections.importedresults import AnyResult, ImportedDecision, ImportedFile, ImportedResult
from anvil.projections.judgements import Decision, Note, Waiver
from anvil.projections.publications import Publication, Published, withdrawn
from anvil.projections.seen import Seen
from anvil.projections.standing import Correction, Standing

T = TypeVar("T")

UNNAMED = "-"
"""The campaign or attempt of events that name none."""


@dataclass(frozen=True)
class CampaignState:
    """One campaign: its attempts, each with its runs. What people said is by entry hash, without what was retracted."""

    name: str
    recipe: str | None = None
    candidates: Mapping[str, DeclaredCandidate] = field(default_factory=dict)
    attempts: Mapping[str, Runs] = field(default_factory=dict)
    observations: Mapping[str, int] = field(default_factory=dict)
    caveats: Mapping[str, Note] = field(default_factory=dict)
    gaps: Mapping[str, Note] = field(default_factory=dict)
    waivers: Mapping[str, Waiver] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    imports: Mapping[str, ImportedFile] = field(default_factory=dict)
    """The files that were imported, by the entry hash of the event that says so."""
    publications: Published = field(default_factory=dict)
    """What was released of it, also what was withdrawn."""
    disowned: Mapping[str, int] = field(default_factory=dict)
    """Of each revoked key that signed events of it which do not count, the index of the first of them."""


@dataclass(frozen=True)
class Campaigns:
    """Everything that is known, by campaign, how each stream stands, and how each event that others name.

    `collecting` names for the stream of a recovery the one that it collects; null while it has named none.
    `disowned` counts the events that a revoked key signed after its last good state: they change nothing but what
    was published, since that is out.
    """

    campaigns: Mapping[str, CampaignState] = field(default_factory=dict)
    streams: Mapping[str, str] = field(default_factory=dict)
    collecting: Mapping[str, str | None] = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    disowned: int = 0
    revoked: Mapping[str, int] = field(default_factory=dict)
    """Where each key was revoked that was."""
    begins: Mapping[str, int] = field(default_factory=dict)
    """Ledger to the index of its first event; a restored ledger holds its predecessor's too."""

    def decisions(self) -> dict[str, Decision]:
        """Return every decision, by entry hash."""
        return {name: each for c in self.campaigns.values() for name, each in c.decisions.items()}


def fold(events: Iterable[Seen], state: Campaigns | None = None) -> Campaigns:
    """Return the state after `events`."""
    current = _mapped(state or Campaigns(), _Own)
    for seen in events:
        current = step(current, seen)
    return _mapped(current, dict)


class _Own(dict[str, T]):
    """A mapping that one call of `fold` made for itself, and may change in place."""


def _put(mapping: Mapping[str, T], key: str, value: T) -> Mapping[str, T]:
    """Return the mapping with one more member; the same one where it may be changed in place."""
    if isinstance(mapping, _Own):
        mapping[key] = value
        return mapping
    return {**mapping, key: value}


def _copied(mapping: Mapping[str, T], members: Mapping[str, T] | None = None) -> dict[str, T]:
    """Return a mapping of the same kind with these members, or with its own."""
    found = mapping if members is None else members
    return _Own(found) if isinstance(mapping, _Own) else dict(found)


def _mapped(state: Campaigns, kind: type[dict[str, Any]]) -> Campaigns:
    """Return the state with mappings of that kind, none of them shared."""
    campaigns = {n: replace(one, attempts=kind(one.attempts)) for n, one in state.campaigns.items()}
    return replace(state, campaigns=kind(campaigns), streams=kind(state.streams))


def step(state: Campaigns, seen: Seen) -> Campaigns:  # noqa: C901  # one line a type, on purpose
    """Return the state after one more event."""
    event, header = seen.event, seen.header
    if seen.is_disowned:
        return _disown(state, seen)
    match event:
        case StreamOpened():
            is_recovery = event.purpose == "recovery"
            opened = (
                replace(state, collecting={**state.collecting, header.stream: None}) if is_recovery else state
            )
            return _stream(opened, header.stream, "open")
        case StreamClosed():
            return _stream(state, header.stream, event.outcome)
        case StreamAbandoned():
            # A recovery that was itself interrupted went on with what it collected.
            dead = state.collecting.get(event.abandoned) or event.abandoned
            state = replace(state, collecting={**state.collecting, header.stream: dead})
            return _stream(state, event.abandoned, "abandoned")
        case EventRetracted():
            return _retract(_stand(state, seen, event), event.target)
        case SealedRedacted() | ArtifactRedacted() | ArtifactMissing() | EvidenceAttached():
            return _stand(state, seen, event)
        case RecipeDeclared():
            return _declare(state, seen, event)
        case LaunchStarted():
            return _attempt(state, seen, AttemptState.launched)
        case LaunchFailed():
            return _attempt(state, seen, lambda a: a._replace(launch_failure=event.failure))
        case HealthObserved():
            return _attempt(state, seen, lambda a: a.observed(seen, event))
        case EngineExited():
            return _attempt(state, seen, lambda a: a._replace(has_exited=True, exit_code=event.exit_code))
        case LaunchStopped():
            return _attempt(state, seen, lambda a: a._replace(is_stopped=True))
        case CheckCompleted():
            return _attempt(state, seen, lambda a: a.checked(seen, event))
        case SuiteCompleted():
            return _attempt(state, seen, lambda a: a.repeated(seen, event))
        case LoadMeasured():
            return _attempt(state, seen, lambda a: a.measured(seen, event))
        case ObservationNoted():
            said = {seen.entry_hash: seen.index}
            return _campaign(state, seen, lambda c: replace(c, observations={**c.observations, **said}))
        case CaveatNoted():
            caveat = {seen.entry_hash: Note(seen.index, seen.entry_hash, event.text, event.about)}
            return _campaign(state, seen, lambda c: replace(c, caveats={**c.caveats, **caveat}))
        case GapNoted():
            gap = {seen.entry_hash: Note(seen.index, seen.entry_hash, event.text)}
            return _campaign(state, seen, lambda c: replace(c, gaps={**c.gaps, **gap}))
        case WaiverGranted():
            return _waive(state, seen, event)
        case DecisionRecorded():
            return _decide(_stand(state, seen, event), seen, event)
        case ImportRecorded():
            taken_in = {seen.entry_hash: ImportedFile.of(event, header.stream, seen.index)}
            return _campaign(state, seen, lambda c: replace(c, imports={**c.imports, **taken_in}))
        case StatementImported():
            return _statement(state, seen, event)
        case CheckImported() | SuiteImported() | LoadImported():
            return _result(state, seen, event)
        case LedgerCreated():
            return replace(state, begins={**state.begins, event.origin: seen.index})
        case KeyRevoked():
            return replace(state, revoked={**state.revoked, event.key: seen.index})
        case PublicationReleased():
            return _released(state, seen, event)
        case PublicationWithdrawn():
            return _campaign(
                state, seen, lambda c: replace(c, publications=withdrawn(c.publications, seen, event))
            )
        case (
            KeyAdded()
            | KeyRotated()
            | ArtifactDisclosed()
            | HostObserved()
            | WeightsInspected()
            | EngineIdentified()
            | EngineReported()
            | LogRetained()
            | LogExcerpted()
            | RestorationChecked()
            | ExcerptApproved()
            | TripwireExcepted()
        ):
            return state  # says nothing about how far a campaign has come
        case _:
            assert_never(event)


def _stream(state: Campaigns, stream: str, how: str) -> Campaigns:
    streams = _put(state.streams, stream, how)
    return state if streams is state.streams else replace(state, streams=streams)


def _campaign(state: Campaigns, seen: Seen, change: Callable[[CampaignState], CampaignState]) -> Campaigns:
    name = seen.header.subject.campaign or UNNAMED
    known = state.campaigns.get(name)
    if known is None:
        known = CampaignState(name, attempts=_Own() if isinstance(state.campaigns, _Own) else {})
    campaigns = _put(state.campaigns, name, change(known))
    return state if campaigns is state.campaigns else replace(state, campaigns=campaigns)


def _attempt(state: Campaigns, seen: Seen, change: Callable[[AttemptState], AttemptState]) -> Campaigns:
    key, stream = seen.header.subject.attempt or UNNAMED, seen.header.stream
    stream_of_run = state.collecting.get(stream, stream)

    def changed(campaign: CampaignState) -> CampaignState:
        runs = of_attempt.change(campaign.attempts.get(key, ()), key, stream_of_run, change)
        attempts = _put(campaign.attempts, key, runs)
        return campaign if attempts is campaign.attempts else replace(campaign, attempts=attempts)

    return _campaign(state, seen, changed)


def _declare(state: Campaigns, seen: Seen, event: RecipeDeclared) -> Campaigns:
    def changed(campaign: CampaignState) -> CampaignState:
        attempts = _copied(campaign.attempts)
        for plan in event.attempts:
            runs = attempts.get(plan.key, ())
            declared = partial(AttemptState.declared, plan=plan, continues=event.continues)
            attempts[plan.key] = of_attempt.change(runs, plan.key, seen.header.stream, declared)
        candidates = {**campaign.candidates, **{c.key: c for c in event.candidates}}
        return replace(campaign, recipe=event.recipe, attempts=attempts, candidates=candidates)

    return _campaign(state, seen, changed)


def _statement(state: Campaigns, seen: Seen, event: StatementImported) -> Campaigns:
    """Count what a file calls a caveat or a gap among those of the campaign, and keep what it says was decided."""
    text = "; ".join(value.text for value in event.values if value.text is not None)
    said = {seen.entry_hash: Note(seen.index, seen.entry_hash, text)}
    if event.topic == "caveat":
        return _campaign(state, seen, lambda c: replace(c, caveats={**c.caveats, **said}))
    if event.topic == "gap":
        return _campaign(state, seen, lambda c: replace(c, gaps={**c.gaps, **said}))
    if event.topic == "decision":
        decided = ImportedDecision.of(event, seen.header.subject.candidate, seen.index)
        added = {seen.entry_hash: decided}
        return _file(state, seen, event.source, lambda f: replace(f, decisions={**f.decisions, **added}))
    return state


def _result(state: Campaigns, seen: Seen, event: AnyResult) -> Campaigns:
    """Add a result to the file that it names."""
    found = {seen.entry_hash: ImportedResult.of(event, seen.index)}
    return _file(state, seen, event.source, lambda file: replace(file, results={**file.results, **found}))


def _file(
    state: Campaigns, seen: Seen, digest: str, change: Callable[[ImportedFile], ImportedFile]
) -> Campaigns:
    """Change the file that an event names, in the stream that recorded it."""
    wanted = (seen.header.stream, digest)

    def changed(campaign: CampaignState) -> CampaignState:
        imports = {
            name: change(file) if (file.stream, file.digest) == wanted else file
            for name, file in campaign.imports.items()
        }
        return replace(campaign, imports=imports)

    return _campaign(state, seen, changed)


def _stand(state: Campaigns, seen: Seen, event: Correction) -> Campaigns:
    return replace(state, standing=standing.step(state.standing, seen.said, event))


def _waive(state: Campaigns, seen: Seen, event: WaiverGranted) -> Campaigns:
    granted = Waiver(
        seen.index,
        seen.entry_hash,
        event.gate,
        event.granted_by,
        event.reason,
        event.expires,
        event.about,
    )
    return _campaign(state, seen, lambda c: replace(c, waivers={**c.waivers, seen.entry_hash: granted}))


def _decide(state: Campaigns, seen: Seen, event: DecisionRecorded) -> Campaigns:
    decided = Decision(
        seen.index,
        seen.entry_hash,
        event.verdicts,
        event.sentence,
        event.rests_on,
        event.supersedes,
    )
    return _campaign(state, seen, lambda c: replace(c, decisions={**c.decisions, seen.entry_hash: decided}))


def _released(state: Campaigns, seen: Seen, event: PublicationReleased) -> Campaigns:
    made = Publication.of(seen, event, state.begins.get(event.fold.origin, 0))
    return _campaign(
        state, seen, lambda c: replace(c, publications={**c.publications, seen.entry_hash: made})
    )


def _disown(state: Campaigns, seen: Seen) -> Campaigns:
    """Count an event that does not count, and keep what it released: that is out all the same."""
    state = replace(state, disowned=state.disowned + 1)
    if isinstance(seen.event, PublicationReleased):
        state = _released(state, seen, seen.event)
    if (seen.header.subject.campaign or UNNAMED) not in state.campaigns:
        return state
    first = {seen.header.key: seen.index}
    return _campaign(state, seen, lambda c: replace(c, disowned={**first, **c.disowned}))


def _retract(state: Campaigns, target: str) -> Campaigns:
    """Take back a result or what somebody said."""
    campaigns = {
        name: replace(
            campaign,
            attempts=_copied(
                campaign.attempts,
                {key: tuple(run.without(target) for run in runs) for key, runs in campaign.attempts.items()},
            ),
            observations=_without(campaign.observations, target),
            caveats=_without(campaign.caveats, target),
            gaps=_without(campaign.gaps, target),
            waivers=_without(campaign.waivers, target),
            decisions=_without(campaign.decisions, target),
            imports={
                name: replace(
                    file,
                    results=_without(file.results, target),
                    decisions=_without(file.decisions, target),
                )
                for name, file in _without(campaign.imports, target).items()
            },
        )
        for name, campaign in state.campaigns.items()
    }
    return replace(state, campaigns=_copied(state.campaigns, campaigns))


def _without(said: Mapping[str, T], target: str) -> Mapping[str, T]:
    return {key: value for key, value in said.items() if key != target}
