"""Load cells: the runs of a protocol at one load and size, and which of them count.

1. A cell is an attempt, a protocol and a cell of it; `joined` puts those of several attempts of one candidate
   together. Only the measured phase belongs to it: a warm-up is in no figure.
2. A run counts when it went to its end, its clock did not step, nothing impossible was found in it, its rows are
   there and say what its event says, and the engine had not begun to talk nonsense. Every other run is *left out*,
   by name and with its reason.
3. A canary that was answered wrongly leaves out its own run and all that followed in the same launch, whatever
   protocol it belongs to; one that got no answer leaves out the runs that say so. It is the rule by which they are
   recorded (docs/load.md).
4. A cell that was broken off is done again whole by a run that goes on with the old one: then its runs in
   the launches of the old one are left out.
5. Runs of one cell were carried out by one plan, on what was launched, on engines and on hardware alike. Where these differ,
   those of the newest run count.
6. Rows are bytes that are read through the evidence, checked against the digest that was signed. They have one row
   for each planned request, and a second only where the first was sent on a stale connection. No two runs have the
   same rows: nanoseconds never come twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from anvil.ledger.errors import MalformedLine, PublicationRefused
from anvil.ledger.events import LoadMeasured, RecipeDeclared
from anvil.ledger.events.load import IMPOSSIBLE, ProtocolKind
from anvil.ledger.rows import Row, read_rows
from anvil.projections.evidence import Evidence
from anvil.projections.figures import ArtifactName, Source
from anvil.projections.measurements.served import Launched, Served
from anvil.projections.plans import Plans
from anvil.projections.record import Campaign, Kept, Launch

ROWS = "rows"
"""The artifact of a run that holds its rows."""

Reason = Literal[
    "retracted_or_disowned",
    "aborted",
    "clock_stepped",
    "canary_failed",
    "canary_unanswered",
    "done_again",
    "another_plan",
    "otherwise_served",
    "impossible",
    "rows_gone",
    "rows_differ",
    "rows_again",
]
"""Why a run is left out."""

_REASONS: dict[Reason, str] = {
    "retracted_or_disowned": "it was retracted, or its signer is not believed",
    "aborted": "it was ended before all was sent",
    "clock_stepped": "the clock was set while it went on",
    "canary_failed": "the engine had answered a short exact question wrongly",
    "canary_unanswered": "a short exact question before it got no answer",
    "done_again": "its cell was broken off, and was done again by a run that went on with this one",
    "another_plan": "it was carried out by another plan than the newest run",
    "otherwise_served": "what was launched for it, its engine or its hardware, is not that of the newest run",
    "impossible": "what was found in it cannot be",
    "rows_gone": "its rows are gone",
    "rows_differ": "its rows are not what its event says",
    "rows_again": "its rows are those of a run before it",
}

_PLAN = (
    "kind",
    "version",
    "arrival",
    "concurrency",
    "rate_per_s",
    "input_target_tokens",
    "output_cap_tokens",
    "ignores_eos",
    "shared_prefix_tokens",
    "parameters",
)
"""What makes two runs repetitions of one another (rule 5)."""


@dataclass(frozen=True)
class Run:
    """One repetition that counts."""

    attempt: str
    launch: int
    source: Source
    event: LoadMeasured
    rows: tuple[Row, ...]
    served: Served
    """What it was measured on."""

    @property
    def name(self) -> str:
        """What it is called among all runs of its campaign."""
        return _name(self.attempt, self.launch, self.event)


@dataclass(frozen=True)
class LeftOut:
    """One repetition that does not count, and why."""

    attempt: str
    launch: int
    entry_hash: str
    source: Source | None
    """None when it supports nothing any more."""
    event: LoadMeasured
    reason: Reason

    @property
    def name(self) -> str:
        """What it is called among all runs of its campaign."""
        return _name(self.attempt, self.launch, self.event)

    @property
    def words(self) -> str:
        """Why, in words."""
        return _REASONS[self.reason]


@dataclass(frozen=True)
class Cell:
    """One cell: its runs in the order in which they were recorded, and those that are left out."""

    candidate: str | None
    attempts: tuple[str, ...]
    protocol: str
    cell: str
    kind: ProtocolKind
    runs: tuple[Run, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every event of it that supports something: what was looked at."""
        left = (one.source for one in self.left_out if one.source is not None)
        return (*(run.source for run in self.runs), *left)

    @property
    def plan(self) -> LoadMeasured | None:
        """What one of its runs says of the plan that they share; None when no run is left."""
        return self.runs[-1].event if self.runs else None


@dataclass(frozen=True)
class _Seen:
    """One run as it was recorded, before anything is said of it."""

    launch: int
    kept: Kept
    served: Served
    event: LoadMeasured
    is_after_nonsense: bool
    is_done_again: bool


def cells(evidence: Evidence, campaign: Campaign) -> tuple[Cell, ...]:
    """Return every cell of a campaign, by attempt, in the order in which they came up.

    One whose runs all support nothing any more has no `sources`, and gives no figure.

    Raises:
        PublicationRefused: rows are not at hand although no event says that they are gone, or are no rows.
    """
    plans = Plans.of(evidence, campaign)
    made = []
    taken: set[str] = set()
    for attempt, launches in campaign.attempts.items():
        groups: dict[tuple[str, str], list[_Seen]] = {}
        candidates = [plans.candidate_of(launch) for launch in launches]
        for launch in launches:
            again = _done_again(campaign, attempt, launch)
            for seen in _seen(evidence, campaign, launch, again):
                groups.setdefault((seen.event.protocol, seen.event.cell), []).append(seen)
        of = next((one for one in reversed(candidates) if one is not None), None)
        made += [_cell(evidence, of, attempt, key, group, taken) for key, group in groups.items()]
    return tuple(made)


def joined(every: Iterable[Cell]) -> tuple[Cell, ...]:
    """Return cells with those of one candidate, protocol and cell put together (rules 1 and 5)."""
    groups: dict[tuple[str | None, str, str], list[Cell]] = {}
    for cell in every:
        groups.setdefault((cell.candidate, cell.protocol, cell.cell), []).append(cell)
    return tuple(_together(group) for group in groups.values())


def _done_again(campaign: Campaign, attempt: str, launch: Launch) -> frozenset[tuple[str, str]]:
    """Return the cells that a later run, which goes on with that of a launch, has done again (rule 4)."""
    streams = {kept.stream for kept in launch.events}
    return frozenset(
        (protocol.protocol, cell.cell)
        for kept in campaign.recipes
        if isinstance(kept.event, RecipeDeclared) and kept.event.continues in streams
        for planned in kept.event.attempts
        if planned.key == attempt
        for protocol in planned.protocols
        for cell in protocol.cells
    )


def _seen(
    evidence: Evidence, campaign: Campaign, launch: Launch, again: frozenset[tuple[str, str]]
) -> Iterator[_Seen]:
    """Yield the measured runs of a launch; a canary before a warm-up counts as well (rule 3)."""
    is_nonsense, launched = False, Launched.of(evidence, campaign, launch)
    for kept in launch.events:
        if isinstance(kept.event, LoadMeasured):
            is_nonsense = is_nonsense or kept.event.canary == "failed"
            if kept.event.phase == "measured":
                is_again = (kept.event.protocol, kept.event.cell) in again
                yield _Seen(launch.number, kept, launched.at(kept.index), kept.event, is_nonsense, is_again)


def _cell(
    evidence: Evidence,
    candidate: str | None,
    attempt: str,
    key: tuple[str, str],
    group: list[_Seen],
    taken: set[str],
) -> Cell:
    runs, left = [], []
    for seen in group:
        made = _run(evidence, attempt, seen, taken)
        if isinstance(made, Run):
            runs.append(made)
        else:
            left.append(made)
    cell = Cell(candidate, (attempt,), *key, group[-1].event.kind, tuple(runs), tuple(left))
    return _of_one_plan(cell)


def _together(group: list[Cell]) -> Cell:
    first, *_ = group
    if len(group) == 1:
        return first
    whole = replace(
        first,
        attempts=tuple(name for cell in group for name in cell.attempts),
        runs=tuple(run for cell in group for run in cell.runs),
        left_out=tuple(one for cell in group for one in cell.left_out),
    )
    return _of_one_plan(whole)


def _run(evidence: Evidence, attempt: str, seen: _Seen, taken: set[str]) -> Run | LeftOut:
    """Return a run as it counts, or why not; `taken` are the digests of rows that count already."""
    source = evidence.source(seen.kept)
    reason = _unfit(evidence, seen, source)
    if source is not None and reason is None:
        rows = _rows(evidence, source, seen.event)
        digests = {str(item.digest) for item in seen.kept.artifacts if item.name == ROWS}
        if rows is not None and not digests & taken:
            taken |= digests
            return Run(attempt, seen.launch, source, seen.event, rows, seen.served)
        reason = "rows_differ" if rows is None else "rows_again"
    why = reason or "retracted_or_disowned"
    return LeftOut(attempt, seen.launch, seen.kept.entry_hash, source, seen.event, why)


def _unfit(evidence: Evidence, seen: _Seen, source: Source | None) -> Reason | None:
    """Return why a run does not count, before its rows are looked at (rule 2)."""
    if source is None:
        return "retracted_or_disowned"
    if seen.event.outcome != "completed":
        return "aborted" if seen.event.outcome == "aborted" else "clock_stepped"
    if seen.is_done_again:
        return "done_again"
    if seen.is_after_nonsense:
        return "canary_failed"
    if seen.event.canary == "unanswered":
        return "canary_unanswered"
    if not IMPOSSIBLE.isdisjoint(seen.event.findings):
        return "impossible"
    has_rows = ROWS in source.artifacts and ROWS not in evidence.gone(seen.kept)
    return None if has_rows else "rows_gone"


def _rows(evidence: Evidence, source: Source, event: LoadMeasured) -> tuple[Row, ...] | None:
    """Return the rows of a run, or None when they are not what its event says (rules 2 and 6)."""
    content = evidence.content(source, ROWS)
    if content is None:
        raise PublicationRefused(
            f"the rows of event {source.entry_hash} are not at hand, and no event says that they are gone",
            advice="Figures of a load are computed from its rows. `anvil verify` names what is missing.",
        )
    try:
        head, rows = read_rows(content)
    except MalformedLine as error:
        named = ArtifactName(source.entry_hash, ROWS)
        raise PublicationRefused(
            f"artifact {named.name} of event {named.event} are no rows: {error}"
        ) from error
    newest = {row.index: row for row in rows}
    outcomes = [row.outcome for row in newest.values()]
    is_same = (
        head.parser_version == event.parser_version
        and head.concurrency == event.concurrency
        and not head.stepped
        and not head.aborted
        and outcomes.count("completed") == event.completed
        and outcomes.count("failed") == event.failed
        and newest.keys() == set(range(event.expected))
        and _are_sent_once(rows)
    )
    return rows if is_same else None


def _are_sent_once(rows: tuple[Row, ...]) -> bool:
    """Say whether each request has one row, or two of which the first failed on a stale connection (rule 6)."""
    stale = {(row.index, 1) for row in rows if row.attempt == 1 and row.failure == "connection_stale"}
    sent = [(row.index, row.attempt) for row in rows]
    again = {(row.index, 1) for row in rows if row.attempt == 2}
    return len(set(sent)) == len(sent) and again <= stale


def are_one_plan(one: Cell, other: Cell) -> bool:
    """Say whether two cells were carried out by one plan (rule 5) and read by one parser."""
    before, after = one.plan, other.plan
    if before is None or after is None:
        return False
    return _plan(before) == _plan(after) and before.parser_version == after.parser_version


def _of_one_plan(cell: Cell) -> Cell:
    """Return a cell with those runs that are repetitions of its newest (rule 5)."""
    if not cell.runs:
        return cell
    newest = cell.runs[-1]
    runs, others = [], []
    for run in cell.runs:
        reason: Reason | None = None
        if _plan(run.event) != _plan(newest.event):
            reason = "another_plan"
        elif not run.served.is_like(newest.served):
            reason = "otherwise_served"
        if reason is None:
            runs.append(run)
        else:
            left = LeftOut(run.attempt, run.launch, run.source.entry_hash, run.source, run.event, reason)
            others.append(left)
    return replace(cell, runs=tuple(runs), left_out=(*cell.left_out, *others))


def _plan(event: LoadMeasured) -> tuple[object, ...]:
    return tuple(getattr(event, name) for name in _PLAN)


def _name(attempt: str, launch: int, event: LoadMeasured) -> str:
    again = f", launch {launch}" if launch > 1 else ""
    return f"run {event.run} of {event.protocol} {event.cell} of attempt {attempt}{again}"
