"""What every summary of recorded runs says first: what is synthetic, missing, failed or without effect."""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.events import ObservationNoted
from anvil.ledger.wording import counted
from anvil.projections.recorded import launches, reports, runtime, suites
from anvil.projections.recorded.campaign import Recorded
from anvil.projections.recorded.checks import Checks

REPORTED = ("weight_memory_gib", "kv_capacity_tokens")
"""What engines report of themselves and documents print."""


def notes_on(recorded: Recorded) -> Iterator[str]:
    """Yield what a reader must know of a campaign first."""
    every = list(recorded.kept())
    if any(kept.is_synthetic for kept in every):
        yield "Synthetic: recorded for a test or a demonstration, and no evidence of anything."
    if absent := [attempt.key for attempt in recorded.attempts if not attempt.launches]:
        yield f"Planned, and nothing was seen of it: {', '.join(absent)}."
    if silent := sum(1 for kept in every if recorded.evidence.source(kept) is None):
        yield f"Retracted or disowned, and supporting nothing: {silent} of {counted(len(every), 'event')}."
    seen = [kept for kept in every if isinstance(kept.event, ObservationNoted)]
    if said := sum(1 for kept in seen if recorded.evidence.source(kept) is not None):
        yield f"What people observed of attempts is not shown here: {counted(said, 'observation')}."
    yield from launches.notes(recorded)
    yield from runtime.disagreements(recorded)
    for candidate in recorded.candidates:
        yield from Checks.of(recorded, candidate).notes()
    yield from suites.notes(recorded.attempts)


def differing(recorded: Recorded) -> Iterator[str]:
    """Yield where attempts of one candidate reported different numbers, of which one is printed."""
    for candidate in recorded.candidates:
        for name in REPORTED:
            if numbers := reports.differing(recorded.attempts_of(candidate), name):
                what = name.replace("_", " ")
                yield f"Attempts of {candidate} reported different {what}: {', '.join(numbers)}."
