"""The comparison itself: for each cell that may be compared each metric, with operands, n, difference and interval.

1. Operands are means over runs, as documents print them; the difference is of what was not rounded.
2. A difference has both operands, the runs behind it, an interval and the smallest effect that so many runs
   could have shown (`anvil.projections.measurements.deltas`).
3. Two sides that are a declared experiment are called so (`experiments`). It is an A/B when nothing differs but
   what the experiment names, or but one thing.
4. What was imported is compared by rules of its own (`importedobstacles`, `importedmeasures`). Nobody knows how it was
   planned: it is never an A/B.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from anvil.ledger.metrics import AGGREGATE
from anvil.projections.comparing.differences import Difference, differences, is_planned
from anvil.projections.comparing.engines import Acceptance, Cache, acceptance, cache
from anvil.projections.comparing.experiments import Experiment, experiment, order, protocol_differences
from anvil.projections.comparing.importedcells import Any_, ImportedCell, said_differences
from anvil.projections.comparing.importedcells import matched as matched_imports
from anvil.projections.comparing.importedmeasures import Wanted, imported_measure, unsupported, wanted
from anvil.projections.comparing.importedobstacles import Unknown, imported_obstacles
from anvil.projections.comparing.obstacles import Obstacle, notes, obstacles
from anvil.projections.comparing.sides import Key, Side
from anvil.projections.evidence import Evidence
from anvil.projections.measurements import Cell, Delta, Measure, Statistic, delta, measure
from anvil.projections.measurements.measures import Unit

_METRICS: tuple[tuple[str, Statistic, Unit], ...] = (
    ("ttft.visible/1", "mean_of_run_p50", "ms"),
    ("ttfo.any/1", "mean_of_run_p50", "ms"),
    ("e2e/1", "mean_of_run_p50", "ms"),
    ("prefill.effective/1", "mean_of_run_p50", "tok/s"),
    ("decode.last_output/1", "mean_of_run_p50", "tok/s"),
    (AGGREGATE, "mean_of_runs", "tok/s"),
)


@dataclass(frozen=True)
class Shown:
    """One metric on both sides."""

    metric: str
    control: Measure
    treatment: Measure
    delta: Delta


@dataclass(frozen=True)
class Pair:
    """One cell on both sides; `metrics` is empty when something stands in the way."""

    key: Key
    control: Cell | ImportedCell
    treatment: Cell | ImportedCell
    obstacles: tuple[Obstacle, ...]
    notes: tuple[str, ...]
    metrics: tuple[Shown, ...]
    accepted: tuple[Acceptance, Acceptance] | None
    """What engines accepted of their drafts, on both sides; None where a side was imported."""


@dataclass(frozen=True)
class Comparison:
    """Two sides next to each other."""

    control: Side
    treatment: Side
    differences: tuple[Difference, ...]
    not_stated: tuple[Difference, ...]
    """What is planned of one side, and what nobody states of the other: no differences."""
    unplanned: tuple[Side, ...]
    """The sides that no recipe plans, imported ones among them."""
    pairs: tuple[Pair, ...]
    only_control: tuple[Key, ...]
    only_treatment: tuple[Key, ...]
    experiment: Experiment | None
    """The declared experiment that the sides are; None when they are none."""
    caches: tuple[Cache, Cache]
    """What engines reported of their KV cache, on both sides."""

    @property
    def events(self) -> frozenset[str]:
        """The events that it rests on, by entry hash."""
        sides = (self.control, self.treatment)
        measured = (source.entry_hash for one in sides for cell in one.cells for source in cell.sources)
        brought = (source.entry_hash for one in sides for cell in one.imported for source in cell.sources)
        planned = (kept.entry_hash for one in sides for kept in one.campaign.recipes)
        reported = (source.entry_hash for cache in self.caches for source in cache.sources)
        return frozenset((*measured, *brought, *planned, *reported))

    @property
    def is_imported(self) -> bool:
        """Whether a side has something that was imported (rule 4)."""
        return bool(self.control.imported or self.treatment.imported)

    @property
    def mixed(self) -> tuple[str, ...]:
        """What the attempts of one side do not have in common, by name."""
        return tuple(one.name for one in self.differences if one.is_mixed)

    @property
    def unnamed(self) -> tuple[Difference, ...]:
        """What differs besides what the experiment names; everything when there is none."""
        found = self.experiment
        return tuple(one for one in self.differences if found is None or not found.names(one.name))

    @property
    def changed(self) -> tuple[str, ...]:
        """What was planned otherwise, by name, with what the experiment names and no plan shows."""
        named = () if self.experiment is None else self.experiment.changes
        return tuple(dict.fromkeys((*(one.name for one in self.differences), *named)))

    @property
    def is_ab(self) -> bool:
        """Whether exactly one thing was planned otherwise, or what one experiment names (rule 3).

        It is none where a side is several attempts that were not planned alike, since nobody knows of which a figure is,
        nor where no recipe says how a side was planned.
        """
        if self.is_imported or self.unplanned or self.mixed:
            return False
        return len(self.differences) == 1 if self.experiment is None else not self.unnamed


def compare(
    evidence: Evidence, control: Side, treatment: Side, accepted: frozenset[Unknown] = frozenset()
) -> Comparison:
    """Compare two sides, cell by cell. Of what was imported may be unknown what is `accepted` as such.

    Raises:
        PublicationRefused: rows are not at hand although no event says that they are gone.
    """
    by_candidate = max(len(control.candidates), len(treatment.candidates)) > 1
    called = _both(control.protocol, treatment.protocol)
    before, after = (one.keyed(by_candidate=by_candidate, protocol=called) for one in (control, treatment))
    sides = (control, treatment)
    found = experiment(evidence, control, treatment)
    matched = [(key, cell, after[key]) for key, cell in before.items() if key in after]
    planned, not_stated = differences(evidence, control, treatment)
    if called is not None:
        of_protocols = protocol_differences((cell, other) for _, cell, other in matched)
        planned = (*planned, *(Difference(*each) for each in of_protocols))
    alone = (
        [cell for key, cell in before.items() if key not in after],
        [cell for key, cell in after.items() if key not in before],
    )
    brought, *left = matched_imports(
        (*control.imported, *alone[0]), (*treatment.imported, *alone[1]), by_candidate=by_candidate
    )
    pairs = (_pair(key, cell, other, sides, found) for key, cell, other in matched)
    return Comparison(
        control,
        treatment,
        (*planned, *(Difference(*each) for each in said_differences(brought))),
        not_stated,
        tuple(one for one in sides if not is_planned(evidence, one)),
        (*pairs, *(_imported(one, other, sides, accepted, by_candidate) for one, other in brought)),
        tuple(_key(cell, by_candidate) for cell in left[0]),
        tuple(_key(cell, by_candidate) for cell in left[1]),
        found,
        (cache(evidence, control), cache(evidence, treatment)),
    )


def _both(control: str | None, treatment: str | None) -> str | None:
    """Return what the protocol of both sides is called; None where they do not name one each."""
    if control is None or treatment is None:
        return None
    return control if control == treatment else f"{control} against {treatment}"


def _pair(
    key: Key, control: Cell, treatment: Cell, sides: tuple[Side, Side], found: Experiment | None
) -> Pair:
    is_of_protocols = found is not None and found.declared.protocol is not None
    allowed = frozenset(found.changes) if found is not None and is_of_protocols else frozenset()
    against = obstacles(control, treatment, sides, allowed)
    shown = () if against else tuple(_shown(control, treatment, *metric) for metric in _METRICS)
    also = (order(control, treatment, sides),) if is_of_protocols else ()
    accepted = (acceptance(control), acceptance(treatment))
    return Pair(key, control, treatment, against, (*also, *notes(control, treatment, sides)), shown, accepted)


def _imported(
    control: Any_, treatment: Any_, sides: tuple[Side, Side], accepted: frozenset[Unknown], by_candidate: bool
) -> Pair:
    """Return a pair of which a side at least was imported (rule 4)."""
    against, said = imported_obstacles(control, treatment, sides, accepted)
    common = wanted(control, treatment)
    if not common and not against:
        against = (Obstacle("metrics that both have by one definition", "none", "none"),)
    shown = () if against else tuple(_brought(control, treatment, one) for one in common)
    few = (
        []
        if against
        else [
            _few(name, cell, common, at)
            for at, name, cell in ((0, "control", control), (1, "treatment", treatment))
        ]
    )
    notes_ = (*said, *(note for notes_of in few for note in notes_of))
    return Pair(_key(control, by_candidate), control, treatment, against, notes_, shown, None)


def beside(pair: Pair) -> tuple[Shown, ...]:
    """Return the metrics of a pair of which a side was imported, whatever stands in the way of comparing them."""
    return tuple(_brought(pair.control, pair.treatment, one) for one in wanted(pair.control, pair.treatment))


def _few(name: str, cell: Any_, common: Iterable[Wanted], at: int) -> list[str]:
    return [
        f"{name}: n-unsupported, a p50 of {samples} samples: {', '.join(labels)}"
        for samples, labels in unsupported(cell, common, at).items()
    ]


def _brought(control: Any_, treatment: Any_, one: Wanted) -> Shown:
    before, after = imported_measure(control, one, 0), imported_measure(treatment, one, 1)
    return Shown(one.label, before, after, delta(before, after, "treatment against control"))


def _key(cell: Any_, by_candidate: bool) -> Key:
    return cell.candidate if by_candidate else None, cell.protocol, cell.cell


def _shown(control: Cell, treatment: Cell, metric: str, statistic: Statistic, unit: Unit) -> Shown:
    before = measure(control, metric, statistic, unit)
    after = measure(treatment, metric, statistic, unit)
    return Shown(metric, before, after, delta(before, after, "treatment against control"))
