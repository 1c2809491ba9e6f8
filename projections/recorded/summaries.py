"""What every summary of recorded runs says first: what is synthetic, missing, failed or without effect."""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.wording import counted
from anvil.projections.recorded import gates, launches, reports, runtime, suites
from anvil.projections.recorded.campaign import Recorded
from anvil.projections.recorded.checks import Checks
from anvil.projections.recorded.observations import Observations

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
    yield from Observations.of(recorded.evidence, recorded.campaign).notes()
    yield from launches.again(recorded)
    yield from failed_in(recorded)
    yield from runtime.disagreements(recorded)
    labels: dict[str, list[str]] = {}
    for candidate in recorded.candidates:
        for label in Checks.of(recorded, candidate).labels():
            labels.setdefault(label, []).append(candidate)
    yield from (f"{label} ({', '.join(candidates)})." for label, candidates in labels.items())


def failed_in(recorded: Recorded) -> Iterator[str]:
    """Yield what failed or has no result: launches, checks, suites, restoration gates."""
    yield from launches.failed(recorded)
    for candidate in recorded.candidates:
        yield from Checks.of(recorded, candidate).failed()
    yield from suites.failed(recorded.attempts)
    yield from gates.failed(recorded)


def differing(recorded: Recorded) -> Iterator[str]:
    """Yield where attempts of one candidate reported different numbers, of which one is printed."""
    for candidate in recorded.candidates:
        for name in REPORTED:
            if numbers := reports.differing(recorded.attempts_of(candidate), name):
                what = name.replace("_", " ")
                yield f"Attempts of {candidate} reported different {what}: {', '.join(numbers)}."
