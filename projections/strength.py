"""How strong an event is as things stand now, for people who ask about one event.

1. An event starts at the status that `anvil.projections.evidence` gives it.
2. Bytes that are redacted or lost leave `artifact-missing`.
3. Bytes attached later raise it to what they support, as far as they can (`anvil.projections.evidence`), unless it is a
   choice or somebody else's claim.
4. An observation in parts is as strong as the weakest of them.
"""

from __future__ import annotations

from anvil.ledger.events import ObservationNoted
from anvil.ledger.public import EvidenceStatus
from anvil.projections import evidence
from anvil.projections.figures import weakest
from anvil.projections.seen import Seen
from anvil.projections.standing import Standing


def claimed(seen: Seen) -> EvidenceStatus:
    """Return the status that an event starts with (rule 1)."""
    return evidence.status_of(seen.event, has_artifact=bool(seen.header.artifacts))


def status_of(seen: Seen, standing: Standing) -> EvidenceStatus:
    """Return the status of an event now (rules 1 to 4)."""
    stated = claimed(seen)
    own: EvidenceStatus = "artifact-missing" if standing.lacks_bytes(seen.entry_hash) else stated
    if stated in evidence.NEVER_RISES:
        return own
    later: list[tuple[EvidenceStatus, tuple[str, ...]]] = [
        (
            "artifact-missing"
            if standing.lacks_bytes(found.entry_hash)
            else evidence.at_most(seen.event, found.status),
            found.parts,
        )
        for found in standing.supports(seen.entry_hash)
    ]
    event = seen.event
    if not isinstance(event, ObservationNoted) or event.claims is None:
        return evidence.strongest((own, *(status for status, _ in later)))
    supported, otherwise = event.claims.supported, evidence.without_bytes(event)
    return weakest(
        evidence.strongest(
            (own if part in supported else otherwise, *(status for status, parts in later if part in parts))
        )
        for part in evidence.PARTS
    )
