"""Load cells of files that other tools wrote: the runs of one tool's protocol at one load and size.

1. Runs of a side with the same tool, protocol, concurrency, rate and target of prompt tokens are repetitions of one
   another: one cell. Of several candidates each has cells of its own.
2. Which candidate and attempt a run is about is what its file says, or who imported it.
3. What a file says of what was tested (hardware, engine, image, model, …) goes along; of several files all that they
   say.
4. A cell is found on the other side by tool, protocol and load. What is left is found by its load alone: its
   concurrency, its rate, and its target where both have one. That has to be one on each side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.events import LoadImported, LoadMeasured
from anvil.ledger.events.imports import IdentityField, Topic
from anvil.ledger.statistics import exact
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Source
from anvil.projections.imported import Imported, every
from anvil.projections.importedfigures import Measured, measured
from anvil.projections.measurements import Cell
from anvil.projections.record import Campaign

_IDENTITY: tuple[Topic, ...] = ("runtime", "candidate", "setting")
"""What differs without being an obstacle; hardware is compared by itself."""


@dataclass(frozen=True)
class ImportedRun:
    """One run of a load: its rows and figures, and the file that it stands in."""

    measured: Measured
    event: LoadImported
    file: Imported

    def said(self, topic: Topic) -> dict[str, str]:
        """Return what the file says about a topic, by name."""
        values = (value for one in self.file.about(topic) for value in one.event.values)
        return {value.name: value.text for value in values if value.text is not None}

    @property
    def sources(self) -> Iterator[Source]:
        """The events that it rests on."""
        yield self.file.source
        yield self.measured.source


@dataclass(frozen=True)
class Shape:
    """What loads have in common that can be compared, whoever made them; null where nobody says."""

    concurrency: int | None
    rate: Fraction | None
    target: int | None

    def is_like(self, other: Shape) -> bool:
        """Say whether two loads are the same as far as both say (rule 4)."""
        sizes = {size for size in (self.target, other.target) if size is not None}
        return (self.concurrency, self.rate) == (other.concurrency, other.rate) and len(sizes) < 2

    @property
    def words(self) -> str:
        """What it is called."""
        parts = (
            None if self.concurrency is None else f"c{self.concurrency}",
            None if self.rate is None else f"rate-{self.rate}",
            None if self.target is None else f"{self.target}-tokens",
        )
        return " ".join(part for part in parts if part) or "any load"


@dataclass(frozen=True)
class ImportedCell:
    """One cell: its runs in the order in which they were imported."""

    candidate: str | None
    attempts: tuple[str, ...]
    tool: str
    called: str
    shape: Shape
    runs: tuple[ImportedRun, ...]

    @property
    def protocol(self) -> str:
        """What its protocol is called, with the tool that has it."""
        return f"{self.tool} {self.called}"

    @property
    def cell(self) -> str:
        """What it is called within its protocol."""
        return self.shape.words

    @property
    def sources(self) -> tuple[Source, ...]:
        """Every event of it."""
        return tuple(source for run in self.runs for source in run.sources)

    def said(self) -> Mapping[str, str]:
        """Return what its files say of what was tested, by name (rule 3)."""
        found: dict[str, dict[str, None]] = {}
        for run in self.runs:
            for topic in _IDENTITY:
                for name, text in run.said(topic).items():
                    found.setdefault(name, {})[text] = None
        return {name: " and ".join(texts) for name, texts in found.items()}

    def not_said(self) -> tuple[IdentityField, ...]:
        """Return what one of its files does not say, or says in words that are not published."""
        missing = (name for run in self.runs for name in _missing(run))
        return tuple(dict.fromkeys(missing))


def _missing(run: ImportedRun) -> tuple[IdentityField, ...]:
    event = run.file.source.event
    return (*event.not_said, *event.withheld) if event.type == "import.recorded/1" else ()


def imported_cells(evidence: Evidence, campaign: Campaign) -> tuple[ImportedCell, ...]:
    """Return the cells of every file that was imported into a campaign, by attempt.

    Raises:
        PublicationRefused: rows are not at hand although no event says that they are gone, or are no rows.
    """
    files = {(one.stream, one.file.value): one for one in every(evidence, campaign)}
    groups: dict[tuple[str | None, str | None, str, str, Shape], list[ImportedRun]] = {}
    for one in measured(evidence, campaign):
        event = one.event
        if isinstance(event, LoadImported):
            about = (one.subject.candidate, one.subject.attempt)
            run = ImportedRun(one, event, files[one.stream, event.source])
            groups.setdefault((*about, event.tool, event.called, _shape(event)), []).append(run)
    return tuple(
        ImportedCell(candidate, () if attempt is None else (attempt,), tool, called, shape, tuple(runs))
        for (candidate, attempt, tool, called, shape), runs in groups.items()
    )


def together(every_cell: Iterable[ImportedCell]) -> tuple[ImportedCell, ...]:
    """Return cells with those of several attempts of one candidate put together (rule 1)."""
    groups: dict[tuple[str | None, str, str, Shape], list[ImportedCell]] = {}
    for cell in every_cell:
        groups.setdefault((cell.candidate, cell.tool, cell.called, cell.shape), []).append(cell)
    return tuple(
        ImportedCell(
            candidate,
            tuple(name for cell in group for name in cell.attempts),
            tool,
            called,
            shape,
            tuple(run for cell in group for run in cell.runs),
        )
        for (candidate, tool, called, shape), group in groups.items()
    )


def _shape(event: LoadImported) -> Shape:
    rate = None if event.request_rate is None else exact(event.request_rate)
    return Shape(event.concurrency, rate, event.target_tokens)


def shape_of(cell: Cell | ImportedCell) -> Shape | None:
    """Return the load of a cell, whoever measured it; null where no run of it counts."""
    if isinstance(cell, ImportedCell):
        return cell.shape
    plan: LoadMeasured | None = cell.plan
    if plan is None:
        return None
    rate = None if plan.rate_per_s is None else exact(plan.rate_per_s)
    return Shape(plan.concurrency, rate, plan.input_target_tokens)


Any_ = Cell | ImportedCell


def matched(
    control: Iterable[Any_], treatment: Iterable[Any_], *, by_candidate: bool
) -> tuple[list[tuple[Any_, Any_]], list[Any_], list[Any_]]:
    """Return pairs of which at least one was imported, and what is left on both sides (rule 4)."""
    before, after = list(control), list(treatment)
    pairs: list[tuple[Any_, Any_]] = []
    for is_exact in (True, False):
        for cell in list(before):
            found = [other for other in after if _is_pair(cell, other, is_exact, by_candidate)]
            back = [other for other in before if found and _is_pair(other, found[0], is_exact, by_candidate)]
            if len(found) == len(back) == 1:
                pairs.append((cell, found[0]))
                before.remove(cell)
                after.remove(found[0])
    return pairs, before, after


def _is_pair(one: Any_, other: Any_, is_exact: bool, by_candidate: bool) -> bool:
    is_imported = isinstance(one, ImportedCell) or isinstance(other, ImportedCell)
    if not is_imported or (by_candidate and one.candidate != other.candidate):
        return False
    if is_exact:
        both = isinstance(one, ImportedCell) and isinstance(other, ImportedCell)
        return both and (one.protocol, shape_of(one)) == (other.protocol, shape_of(other))
    shapes = shape_of(one), shape_of(other)
    return shapes[0] is not None and shapes[1] is not None and shapes[0].is_like(shapes[1])


def said_differences(pairs: Iterable[tuple[Any_, Any_]]) -> list[tuple[str, str, str]]:
    """Return what files of both sides say otherwise of what was tested; hardware is compared by itself."""
    found: dict[tuple[str, str, str], None] = {}
    for one, other in pairs:
        if isinstance(one, ImportedCell) and isinstance(other, ImportedCell):
            before, after = one.said(), other.said()
            for name in before:
                if name in after and before[name] != after[name]:
                    found[name, before[name], after[name]] = None
    return list(found)
