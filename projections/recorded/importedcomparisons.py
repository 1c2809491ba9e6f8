"""Comparisons of what was imported, as a section of documents: attempts side by side, and what stands in the way.

1. Compared are attempts, or candidates where no attempt is named, of one campaign. The control is the first attempt
   that was measured here and has a like load, else the first that was imported.
2. Both operands are always shown, with the runs behind them. A difference is shown where nothing stands in the way,
   by the rules of `anvil compare`. In a document nobody accepts anything as unknown: what is not known stands in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.events import LoadImported
from anvil.projections.comparing import Obstacle, Pair, Shown, Side, beside, compare
from anvil.projections.comparing.importedcells import ImportedCell, imported_cells, together
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Listing, Support, compose, derive, weakest
from anvil.projections.measurements import Cell, cells
from anvil.projections.record import Campaign, Kept


@dataclass(frozen=True)
class ImportedComparison:
    """One cell of two attempts."""

    control: Side
    treatment: Side
    pair: Pair

    def group(self) -> Group:
        """Return everything that a template can print of it."""
        basis = self.basis
        return Group(
            {
                "control": _said(basis, "the control", self.control.name.partition("/")[2]),
                "treatment": _said(basis, "the treatment", self.treatment.name.partition("/")[2]),
                "control_load": _said(basis, "its load", _load(self.pair.control)),
                "treatment_load": _said(basis, "its load", _load(self.pair.treatment)),
                "not_compared": _listed(basis, (_obstacle(basis, one) for one in self.pair.obstacles)),
                "notes": _listed(
                    basis, (_said(basis, "what has to be said", one) for one in self.pair.notes)
                ),
                "metrics": _listed(basis, (self._metric(one) for one in beside(self.pair))),
            }
        )

    @property
    def basis(self) -> Figure:
        """That both were measured, on the events of both."""
        sources = (*self.pair.control.sources, *self.pair.treatment.sources)
        support = Support(frozenset(source.entry_hash for source in sources))
        return Figure(None, "both were measured", support, weakest(source.status for source in sources))

    def _metric(self, one: Shown) -> Group:
        delta = one.delta.figure
        if self.pair.obstacles:
            delta = derive("no difference, since something stands in the way", lambda _: None, delta)
        return Group(
            {
                "metric": _said(self.basis, "by its definition, or the tool's name", one.metric),
                "statistic": _said(self.basis, "the statistic by its name", one.control.statistic),
                "unit": _said(self.basis, "the unit", one.control.unit),
                "control": one.control.figure.places(6),
                "control_runs": one.control.counts.runs,
                "treatment": one.treatment.figure.places(6),
                "treatment_runs": one.treatment.counts.runs,
                "delta_percent": delta.places(3),
            }
        )


def comparisons(evidence: Evidence, campaign: Campaign) -> tuple[ImportedComparison, ...]:
    """Return the comparisons of a campaign (rule 1).

    Raises:
        PublicationRefused: rows are not at hand although no event says that they are gone, or are no rows.
    """
    named = _named(evidence, campaign)
    if not named:
        return ()
    own, every = cells(evidence, campaign), imported_cells(evidence, campaign)
    brought = [_side(campaign, name, own, every) for name in named]
    recorded = [_side(campaign, name, own, ()) for name in campaign.attempts if name not in named]
    for control in (*(one for one in recorded if one.cells), *brought):
        others = (one for one in brought if one.name != control.name)
        found = tuple(each for treatment in others for each in _compared(evidence, control, treatment))
        if found:
            return found
    return ()


def listed(evidence: Evidence, campaign: Campaign, nothing: Figure) -> Listing:
    """Return the comparisons of a campaign for a template; an empty list, on `nothing`, where there are none."""
    found = comparisons(evidence, campaign)
    count = len(found)
    basis = derive(
        "how many loads can be put side by side", lambda *_: count, *(f.basis for f in found[:1]), nothing
    )
    return Listing(basis, tuple((one.basis, one.group()) for one in found))


def _named(evidence: Evidence, campaign: Campaign) -> list[str]:
    """Return the attempts of imported loads, or the candidates of those that name no attempt."""
    about = (kept.subject for kept in campaign.general if _is_load(evidence, kept))
    return [name for name in dict.fromkeys(one.attempt or one.candidate for one in about) if name is not None]


def _is_load(evidence: Evidence, kept: Kept) -> bool:
    return isinstance(kept.event, LoadImported) and evidence.source(kept) is not None


def _side(campaign: Campaign, name: str, own: tuple[Cell, ...], every: tuple[ImportedCell, ...]) -> Side:
    imported = (cell for cell in every if name in (cell.attempts or (cell.candidate,)))
    return Side(
        f"{campaign.name}/{name}",
        campaign,
        (name,) if name in campaign.attempts else (),
        tuple(cell for cell in own if cell.attempts == (name,)),
        imported=together(imported),
    )


def _compared(evidence: Evidence, control: Side, treatment: Side) -> Iterator[ImportedComparison]:
    for pair in compare(evidence, control, treatment).pairs:
        if pair.accepted is None:  # of two that were measured here the document has figures of its own
            yield ImportedComparison(control, treatment, pair)


def _load(cell: Cell | ImportedCell) -> str:
    return f"{cell.protocol} {cell.cell}"


def _obstacle(basis: Figure, one: Obstacle) -> Group:
    return Group(
        {name: _said(basis, "what stands in the way", value) for name, value in one._asdict().items()}
    )


def _said(basis: Figure, rule: str, words: str) -> Figure:
    return compose(rule, lambda _: words, basis)


def _listed(basis: Figure, members: Iterator[Figure | Group]) -> Listing:
    return Listing(basis, tuple((basis, member) for member in members))
