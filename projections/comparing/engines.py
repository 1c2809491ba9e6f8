"""What engines say beside the figures: how many draft tokens they accepted, and how many windows their cache holds.

1. Drafts are counted by the engine while a run goes on: what its counters say after, less what they said before, over
   the runs that count. *Acceptance* is accepted / drafted, exact. A gauge, such as the rate of a last batch, is no count.
2. KV tokens and the window are what the engine reported at the start of the launches that the runs belong to; of
   several numbers none is taken. *Full-window concurrency* is KV tokens / window.
3. What is not known is null, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.events import EngineReported
from anvil.ledger.events.load import EngineCounter
from anvil.projections.comparing.sides import Side
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Source
from anvil.projections.measurements import Cell, Run

DRAFTED, ACCEPTED = "draft_tokens", "accepted_draft_tokens"
KV_TOKENS, WINDOW = "kv_capacity_tokens", "context_tokens"


@dataclass(frozen=True)
class Acceptance:
    """How many draft tokens were accepted of how many; `why` says why one of the three is null."""

    accepted: Fraction | None
    drafted: Fraction | None
    rate: Fraction | None
    why: str | None


@dataclass(frozen=True)
class Cache:
    """How many tokens the KV cache holds, the window, and how many windows that is; `why` as above."""

    kv_tokens: Fraction | None
    window_tokens: Fraction | None
    concurrency: Fraction | None
    why: str | None
    sources: tuple[Source, ...]
    """The events that say so."""


def acceptance(cell: Cell) -> Acceptance:
    """Return what the engine accepted of its drafts in a cell (rule 1)."""
    accepted, no_accepted = _total(cell.runs, ACCEPTED)
    drafted, no_drafted = _total(cell.runs, DRAFTED)
    why = no_drafted or no_accepted
    if accepted is None or drafted is None:
        return Acceptance(accepted, drafted, None, why)
    if not drafted:
        return Acceptance(accepted, drafted, None, "nothing was drafted")
    return Acceptance(accepted, drafted, accepted / drafted, None)


def _total(runs: Iterable[Run], name: str) -> tuple[Fraction | None, str | None]:
    """Return what was counted in all runs, or None and why not."""
    total, seen = Fraction(0), False
    for run in runs:
        counter = next((one for one in run.event.counters if one.name == name), None)
        if counter is None:
            missing = run.event.counters_missing
            return (
                None,
                f"the engine's counters are missing: {missing}" if missing else f"it counts no {name}",
            )
        counted, why = _counted(counter)
        if counted is None:
            return None, why
        total, seen = total + counted, True
    return (total, None) if seen else (None, "no run counts")


def _counted(counter: EngineCounter) -> tuple[Fraction | None, str | None]:
    if counter.before is None or counter.after is None:
        return None, f"{counter.name} was not read before and after each run"
    counted = Fraction(counter.after) - Fraction(counter.before)
    return (None, f"{counter.name} was set back") if counted < 0 else (counted, None)


def cache(evidence: Evidence, one: Side) -> Cache:
    """Return what engines reported of their KV cache (rule 2)."""
    ran = {(run.attempt, run.launch) for cell in one.cells for run in cell.runs}
    events = [
        kept
        for launch in one.launches
        if not ran or (launch.attempt, launch.number) in ran
        for kept in launch.events
        if isinstance(kept.event, EngineReported)
    ]
    sources = evidence.sources(events)
    kv_tokens, no_tokens = _reported(sources, KV_TOKENS)
    window, no_window = _reported(sources, WINDOW)
    whole = kv_tokens / window if kv_tokens is not None and window else None
    return Cache(kv_tokens, window, whole, no_tokens or no_window, sources)


def _reported(sources: Iterable[Source], name: str) -> tuple[Fraction | None, str | None]:
    """Return the number that engines reported, or None and why not."""
    found = {
        Fraction(figure.number)
        for source in sources
        if isinstance(source.event, EngineReported)
        for figure in source.event.figures
        if figure.name == name and figure.number is not None
    }
    words = name.replace("_", " ")
    if not found:
        return None, f"the engine reported no {words}"
    if len(found) > 1:
        return None, f"several {words} were reported: {', '.join(map(str, sorted(found)))}"
    return found.pop(), None
