"""The catalogue of events: every class, the union of them, and how facts become one of them.

To add a type: write one class in the file of its family and add it to `AnyEvent`. Every fold that
ends in `assert_never` then fails to type-check until it says what the type means to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from anvil.ledger import canonical
from anvil.ledger.commitments import Commitment, Opening
from anvil.ledger.errors import MalformedEvent, UnknownEventType
from anvil.ledger.events.base import Event, Facts, Sealed, build, explain
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.events.corrections import (
    ArtifactDisclosed,
    ArtifactMissing,
    ArtifactRedacted,
    EventRetracted,
    SealedRedacted,
)
from anvil.ledger.events.engines import EngineIdentified, EngineReported, HealthObserved
from anvil.ledger.events.imports import ImportRecorded, StatementImported
from anvil.ledger.events.judgements import CaveatNoted, DecisionRecorded, GapNoted, WaiverGranted
from anvil.ledger.events.keys import (
    InitialKey,
    KeyAdded,
    KeyRevoked,
    KeyRotated,
    LedgerCreated,
    Predecessor,
    TreeState,
)
from anvil.ledger.events.launches import (
    EngineExited,
    LaunchFailed,
    LaunchStarted,
    LaunchStopped,
    LogExcerpted,
    LogRetained,
)
from anvil.ledger.events.load import LoadMeasured
from anvil.ledger.events.observations import EvidenceAttached, ObservationNoted
from anvil.ledger.events.publications import (
    ExcerptApproved,
    PublicationReleased,
    PublicationWithdrawn,
    TripwireExcepted,
)
from anvil.ledger.events.recipes import RecipeDeclared
from anvil.ledger.events.results import CheckImported, LoadImported, SuiteImported
from anvil.ledger.events.streams import StreamAbandoned, StreamClosed, StreamOpened
from anvil.ledger.events.suites import SuiteCompleted
from anvil.ledger.events.surroundings import HostObserved, RestorationChecked, WeightsInspected
from anvil.ledger.upcasts import UPCASTS, Upcast, upcast

AnyEvent = (
    LedgerCreated
    | KeyAdded
    | KeyRotated
    | KeyRevoked
    | StreamOpened
    | StreamClosed
    | StreamAbandoned
    | ObservationNoted
    | EvidenceAttached
    | EventRetracted
    | SealedRedacted
    | ArtifactRedacted
    | ArtifactMissing
    | ArtifactDisclosed
    | RecipeDeclared
    | HostObserved
    | WeightsInspected
    | LaunchStarted
    | LaunchFailed
    | HealthObserved
    | EngineIdentified
    | EngineReported
    | EngineExited
    | LogRetained
    | LogExcerpted
    | LaunchStopped
    | CheckCompleted
    | SuiteCompleted
    | LoadMeasured
    | RestorationChecked
    | CaveatNoted
    | GapNoted
    | WaiverGranted
    | DecisionRecorded
    | ImportRecorded
    | StatementImported
    | CheckImported
    | SuiteImported
    | LoadImported
    | PublicationReleased
    | PublicationWithdrawn
    | ExcerptApproved
    | TripwireExcepted
)

CATALOGUE: Mapping[str, type[Event]] = {cls.event_type: cls for cls in get_args(AnyEvent)}
"""Event type to the class of it."""

__all__ = [
    "CATALOGUE",
    "AnyEvent",
    "ArtifactDisclosed",
    "ArtifactMissing",
    "ArtifactRedacted",
    "CaveatNoted",
    "CheckCompleted",
    "CheckImported",
    "DecisionRecorded",
    "EngineExited",
    "EngineIdentified",
    "EngineReported",
    "Event",
    "EventRetracted",
    "EvidenceAttached",
    "ExcerptApproved",
    "Facts",
    "GapNoted",
    "HealthObserved",
    "HostObserved",
    "ImportRecorded",
    "InitialKey",
    "KeyAdded",
    "KeyRevoked",
    "KeyRotated",
    "LaunchFailed",
    "LaunchStarted",
    "LaunchStopped",
    "LedgerCreated",
    "LoadImported",
    "LoadMeasured",
    "LogExcerpted",
    "LogRetained",
    "ObservationNoted",
    "Predecessor",
    "PublicationReleased",
    "PublicationWithdrawn",
    "RecipeDeclared",
    "RestorationChecked",
    "Sealed",
    "SealedRedacted",
    "StatementImported",
    "StreamAbandoned",
    "StreamClosed",
    "StreamOpened",
    "SuiteCompleted",
    "SuiteImported",
    "TreeState",
    "TripwireExcepted",
    "WaiverGranted",
    "WeightsInspected",
    "build",
    "decode",
    "explain",
    "is_known",
    "known_types",
]


def known_types() -> tuple[str, ...]:
    """Return every type and version that this build reads, the old ones that it brings up to date included."""
    return (*CATALOGUE, *UPCASTS)


def is_known(event_type: str) -> bool:
    """Say whether this build reads a type in that version."""
    return event_type in CATALOGUE or event_type in UPCASTS


def decode(
    event_type: str,
    facts: Mapping[str, Any],
    sealed: Mapping[str, Opening | str],
    *,
    steps: Mapping[str, Upcast] = UPCASTS,
    catalogue: Mapping[str, type[Event]] = CATALOGUE,
) -> AnyEvent:
    """Return the event that a header states, brought to its newest version.

    `sealed` gives for each sealed field of the header its opening, or the hex commitment when there
    is none. An opening is taken as it is: whoever read it has checked it against the commitment.

    Raises:
        UnknownEventType: this build does not know the type or its version.
        MalformedEvent: the facts do not fit the type, hold what must be sealed, or seal what it has no field for.
        MalformedCanonical: an opened value is not canonical JSON.
    """
    try:
        newest, current = upcast(event_type, facts, steps)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise MalformedEvent(f"{event_type}: the facts are not of that type, {error!r}") from error
    cls = catalogue.get(newest)
    if cls is None:
        family = event_type.partition("/")[0]
        known = sorted(t for t in catalogue if t.partition("/")[0] == family)
        raise UnknownEventType(
            f"event type {event_type!r} is not in this build's catalogue"
            + (f"; it knows {', '.join(known)}" if known else ""),
            advice="A newer anvil may know it.",
        )
    stray = set(current) & {"type", *cls.sealed_fields} | (set(sealed) - {*cls.sealed_fields})
    if newest == event_type and stray:
        raise MalformedEvent(f"{event_type}: fields in a place that is not theirs: {sorted(stray)!r:.200}")
    fields = dict(current)
    for name in cls.sealed_fields:
        held = sealed.get(name)
        if isinstance(held, Opening):
            fields[name] = canonical.decode(held.value)
        else:
            fields[name] = None if held is None else Commitment(held)
    return build(cls, fields)  # type: ignore[return-value]  # the catalogue holds the union's classes
