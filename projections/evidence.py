"""Evidence status: how strong the support of an event is, computed from what is attached and what became of it.

1. An event starts at the status that its type has, or that the person claims; a claim that bytes were kept is
   believed only where there are some. It may be weakened here and is never strengthened.
2. Bytes that are redacted or lost leave `artifact-missing`.
3. Bytes attached later raise it to what they support, unless it is a choice or somebody else's claim.
4. The status of several events together is the weakest; what is declared is no observation and has no rank.
"""

from __future__ import annotations

from collections.abc import Iterable

from anvil.ledger.events import (
    CaveatNoted,
    DecisionRecorded,
    EvidenceAttached,
    GapNoted,
    LogRetained,
    ObservationNoted,
    RecipeDeclared,
    WaiverGranted,
)
from anvil.ledger.public import EvidenceStatus
from anvil.projections.seen import Seen
from anvil.projections.standing import Standing

RANKS: dict[EvidenceStatus, int] = {
    "retained-complete": 5,
    "retained-bounded-log": 4,
    "imported-artifact": 3,
    "operator-observed-incomplete": 2,
    "external-prior": 1,
    "artifact-missing": 0,
}
"""The ranked statuses. `declared` is not among them."""

_KEPT = frozenset({"retained-complete", "retained-bounded-log", "imported-artifact"})
_NO_OBSERVATION = RecipeDeclared | CaveatNoted | GapNoted | WaiverGranted | DecisionRecorded
_NEVER_RISES = frozenset({"declared", "external-prior"})


def claimed(seen: Seen) -> EvidenceStatus:
    """Return the status that an event starts with (rule 1)."""
    event = seen.event
    if isinstance(event, ObservationNoted | EvidenceAttached):
        if event.status in _KEPT and not seen.header.artifacts:
            return "operator-observed-incomplete"
        return event.status
    if isinstance(event, _NO_OBSERVATION):
        return "declared"
    if isinstance(event, LogRetained) and not event.is_whole:
        return "retained-bounded-log"
    return "retained-complete"  # collectors attach what they saw, raw


def status_of(seen: Seen, standing: Standing) -> EvidenceStatus:
    """Return the status of an event now (rules 1 to 3)."""
    status = claimed(seen)
    if status in _NEVER_RISES:
        return "artifact-missing" if standing.lacks_bytes(seen.entry_hash) else status
    own = [(seen.entry_hash, status)]
    later = [(found.entry_hash, found.status) for found in standing.supports(seen.entry_hash)]
    statuses: list[EvidenceStatus] = [
        "artifact-missing" if standing.lacks_bytes(entry_hash) else stated
        for entry_hash, stated in own + later
    ]
    return max(statuses, key=RANKS.__getitem__)


def weakest(statuses: Iterable[EvidenceStatus]) -> EvidenceStatus:
    """Return the status of several events together (rule 4)."""
    return min((s for s in statuses if s in RANKS), key=RANKS.__getitem__, default="declared")
