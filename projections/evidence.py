"""Evidence status: how strong an event is, computed from what is attached to it and never simply typed.

1. What a program saw starts at `retained-complete`, since collectors attach their raw output. An event
   whose type keeps raw bytes and that names none is no stronger than somebody's word:
   `operator-observed-incomplete`. A log that was cut is a `retained-bounded-log`.
2. What a person says starts at what the person states, and is weakened: a status that says that bytes
   were kept needs an artifact, and complete evidence misses nothing.
3. An artifact that is gone makes its event `artifact-missing`, whatever it was.
4. A choice (a recipe's value, a decision, a caveat) is `declared`.
5. Bytes attached later raise an event to what they support, and are part of its support then. A choice and
   somebody else's claim never rise; what a tool's file holds stays that, and an observation that says of something
   that it was not kept does not become complete.
6. A published document is a claim of somebody else about another run, and so is each statement of it:
   `external-prior`, unless the raw evidence that the statement names by digest is attached.
7. What the file of a measuring tool holds, or says, is an `imported-artifact`. The file itself is named by the event
   that records the import; a figure of it rests on both.
8. Of an observation in parts each part stands by itself: what is attached, then or later, raises those parts
   that it is said to support. The observation as a whole is as strong as the weakest of them.
9. A retracted event, and one by a key that was disowned by then, supports nothing: it is no source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never, get_args

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
from anvil.ledger.events.observations import ClaimPart
from anvil.ledger.public import EvidenceStatus
from anvil.projections.figures import RANKED, ArtifactName, Part, Source, Support, is_stronger, weakest
from anvil.projections.record import Kept, Record

KEEPS_BYTES: frozenset[EvidenceStatus] = frozenset(
    {"retained-complete", "retained-bounded-log", "imported-artifact"}
)
"""The statuses which say that bytes were kept."""

Content = Callable[[ArtifactName], bytes | None]
"""From an artifact's name to its bytes; None for a private one."""


def nothing(_name: ArtifactName) -> None:
    """Return None: no bytes are at hand."""


PARTS: tuple[ClaimPart, ...] = get_args(ClaimPart)
"""The parts of an observation."""

NEVER_RISES: frozenset[EvidenceStatus] = frozenset({"declared", "external-prior"})
"""The statuses of what is no observation of ours."""

_ASKED_THE_ENDPOINT = frozenset({"version_endpoint", "models_endpoint", "props_endpoint", "log_line"})


@dataclass(frozen=True)
class Evidence:
    """The record, asked event by event."""

    record: Record
    read: Content = nothing
    """What gives the bytes of an artifact, such as the rows that a figure is computed from."""

    def content(self, source: Source, name: str) -> bytes | None:
        """Return the bytes of a public artifact of an event; None when an event says that they are gone.

        A figure that is computed from them rests on the event with its artifacts: `Source.stated`, `derive`.
        """
        found = ArtifactName(source.entry_hash, name)
        return None if found in self.record.gone else self.read(found)

    def source(self, kept: Kept) -> Source | None:
        """Return an event as evidence, or None when it supports nothing (rule 9)."""
        if not self._counts(kept):
            return None
        own, later = self._own_status(kept), tuple(self._later(kept))
        parts = tuple(self._parts(kept, later))
        status = weakest(part.status for part in parts) if parts else self.status(kept)
        rests = Support()
        for found in later if status != own else ():
            rests |= found.support
        names = tuple(artifact.name for artifact in kept.artifacts)
        return Source(kept.entry_hash, kept.event, names, status, rests, parts)

    def _parts(self, kept: Kept, later: tuple[Source, ...]) -> Iterator[Part]:
        """Yield the parts of an observation that says something in parts (rule 8)."""
        event = kept.event
        if not isinstance(event, ObservationNoted) or event.claims is None or event.status in NEVER_RISES:
            return
        alone = Support(frozenset((kept.entry_hash,)))
        attached = frozenset(ArtifactName(kept.entry_hash, artifact.name) for artifact in kept.artifacts)
        for name in PARTS:
            is_supported = name in event.claims.supported
            support = Support(alone.events, attached) if is_supported else alone
            status = self._own_status(kept) if is_supported else without_bytes(event)
            for found in later:
                raises = isinstance(found.event, EvidenceAttached) and name in found.event.supports
                raised = at_most(event, found.status)
                if raises and is_stronger(raised, status):
                    status, support = raised, support | found.support
            yield Part(name, status, support)

    def sources(self, events: Iterable[Kept]) -> tuple[Source, ...]:
        """Return those of `events` that support something, in order."""
        return tuple(source for kept in events if (source := self.source(kept)) is not None)

    def gone(self, kept: Kept) -> tuple[str, ...]:
        """Return the names of an event's artifacts whose bytes are gone."""
        named = (artifact.name for artifact in kept.artifacts)
        return tuple(name for name in named if ArtifactName(kept.entry_hash, name) in self.record.gone)

    def status(self, kept: Kept) -> EvidenceStatus:
        """Return how strong an event is, with what was attached to it later (rule 5)."""
        own = self._own_status(kept)
        if status_of(kept.event, has_artifact=bool(kept.artifacts)) in NEVER_RISES:
            return own
        return strongest((own, *(at_most(kept.event, found.status) for found in self._later(kept))))

    def _own_status(self, kept: Kept) -> EvidenceStatus:
        if self.gone(kept):
            return "artifact-missing"
        return status_of(kept.event, has_artifact=bool(kept.artifacts))

    def _later(self, kept: Kept) -> Iterator[Source]:
        for found in self.record.attached.get(kept.entry_hash, ()):
            if self._counts(found):
                names = tuple(artifact.name for artifact in found.artifacts)
                yield Source(found.entry_hash, found.event, names, self._own_status(found))

    def _counts(self, kept: Kept) -> bool:
        """Rule 9."""
        return kept.entry_hash not in self.record.retracted and not self.record.is_disowned(kept)


def status_of(event: AnyEvent, *, has_artifact: bool) -> EvidenceStatus:  # noqa: C901  # one line a type
    """Return how strong an event is whose artifacts, if any, are all there."""
    match event:
        case ObservationNoted():
            return _said(event, has_artifact=has_artifact)
        case EvidenceAttached():
            if event.status in KEEPS_BYTES and not has_artifact:
                return "operator-observed-incomplete"
            return event.status
        case LogRetained():
            whole: EvidenceStatus = "retained-complete" if event.is_whole else "retained-bounded-log"
            return whole if has_artifact or not event.kept_bytes else "operator-observed-incomplete"
        case CheckCompleted() | SuiteCompleted():
            was_answered = any(request.http_status is not None for request in event.requests)
            return _seen(has_artifact or not was_answered)
        case HealthObserved():
            return _seen(has_artifact or event.health != "reached")
        case EngineIdentified():
            return _seen(has_artifact or not any(c.source in _ASKED_THE_ENDPOINT for c in event.claims))
        case ImportRecorded() | StatementImported():
            return _imported(event, has_artifact=has_artifact)
        case CheckImported() | SuiteImported() | LoadImported():
            return "imported-artifact"  # the file is kept by `import.recorded`, on which its figures rest too
        case EngineReported() | LoadMeasured() | WeightsInspected():
            return _seen(has_artifact)
        case (
            HostObserved()
            | LaunchStarted()
            | LaunchFailed()
            | LogExcerpted()
            | EngineExited()
            | LaunchStopped()
            | RestorationChecked()
            | StreamOpened()
            | StreamClosed()
            | StreamAbandoned()
        ):
            return "retained-complete"  # all that was seen stands in the event itself
        case (
            RecipeDeclared()
            | CaveatNoted()
            | GapNoted()
            | WaiverGranted()
            | DecisionRecorded()
            | LedgerCreated()
            | KeyAdded()
            | KeyRotated()
            | KeyRevoked()
            | EventRetracted()
            | SealedRedacted()
            | ArtifactRedacted()
            | ArtifactMissing()
            | ArtifactDisclosed()
            | PublicationReleased()
            | PublicationWithdrawn()
            | ExcerptApproved()
            | TripwireExcepted()
        ):
            return "declared"
        case _:
            assert_never(event)


def without_bytes(event: ObservationNoted) -> EvidenceStatus:
    """Return how strong a part of an observation is that no attached bytes support."""
    return status_of(event, has_artifact=False)


def at_most(event: AnyEvent, status: EvidenceStatus) -> EvidenceStatus:
    """Return to what bytes of a status raise an event that are attached to it later (rule 5)."""
    most: EvidenceStatus = "retained-complete"
    if isinstance(event, ImportRecorded | StatementImported | CheckImported | SuiteImported | LoadImported):
        most = "imported-artifact"
    elif isinstance(event, ObservationNoted) and _misses_something(event):
        most = "retained-bounded-log"
    return most if is_stronger(status, most) else status


def strongest(statuses: Iterable[EvidenceStatus]) -> EvidenceStatus:
    """Return the strongest of statuses; `declared` has no rank, and raises nothing."""
    return min((status for status in statuses if status != "declared"), key=RANKED.index)


def _seen(has_bytes: bool) -> EvidenceStatus:
    return "retained-complete" if has_bytes else "operator-observed-incomplete"


def _imported(event: ImportRecorded | StatementImported, *, has_artifact: bool) -> EvidenceStatus:
    is_statement = isinstance(event, StatementImported)
    if event.nature == "published-document":
        return "imported-artifact" if is_statement and has_artifact else "external-prior"
    # The file of raw evidence is an artifact of `import.recorded`, on which figures of its statements rest too.
    return "imported-artifact" if is_statement or has_artifact else "operator-observed-incomplete"


def _said(event: ObservationNoted, *, has_artifact: bool) -> EvidenceStatus:
    if event.status in KEEPS_BYTES and not has_artifact:
        return "operator-observed-incomplete"
    if event.status == "retained-complete" and _misses_something(event):
        return "retained-bounded-log"
    return event.status


def _misses_something(event: ObservationNoted) -> bool:
    return event.claims is not None and bool(event.claims.not_kept)
