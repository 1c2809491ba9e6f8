"""One side of a comparison: an attempt, all attempts of a candidate, or a whole campaign.

1. A side is called by a name: ``CAMPAIGN``, ``CAMPAIGN/NAME``, or ``NAME`` alone where only one thing has it. A
   NAME is an attempt or, where no attempt is called so, a candidate.
2. The cells of several attempts of one candidate are put together (`anvil.projections.measurements`).
3. ``:PROTOCOL`` after a name leaves one protocol of it. Where both sides name one, their cells are found on the other
   side by their own names alone, so that two protocols can be compared.
4. Otherwise a cell is found on the other side by its protocol and its own name; always by its candidate where a side
   has several.
5. What was imported of other tools belongs to the attempt and the candidate that its file or its importer names, and
   always to its campaign.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import LoadImported
from anvil.projections.comparing.importedcells import ImportedCell, imported_cells, together
from anvil.projections.evidence import Evidence
from anvil.projections.measurements import Cell, cells, joined
from anvil.projections.plans import Plans
from anvil.projections.record import Campaign, Launch

Key = tuple[str | None, str, str]
"""Candidate (None where a side has one only), protocol, cell."""


@dataclass(frozen=True)
class Side:
    """What stands on one side. `name` is how it is called in full."""

    name: str
    campaign: Campaign
    attempts: tuple[str, ...]
    cells: tuple[Cell, ...]
    protocol: str | None = None
    """The one protocol that is compared; None for all."""
    imported: tuple[ImportedCell, ...] = ()
    """The cells that other tools measured."""

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of its attempts."""
        return tuple(launch for name in self.attempts for launch in self.campaign.attempts.get(name, ()))

    def keyed(self, *, by_candidate: bool, protocol: str | None = None) -> dict[Key, Cell]:
        """Return its cells by what they are found by (rules 3 and 4); `protocol` is what all of theirs are called."""
        return {
            (cell.candidate if by_candidate else None, protocol or cell.protocol, cell.cell): cell
            for cell in self.cells
        }

    @property
    def candidates(self) -> frozenset[str | None]:
        """The candidates of its cells."""
        measured = {cell.candidate for cell in self.cells}
        return frozenset(measured | {cell.candidate for cell in self.imported})


def side(evidence: Evidence, name: str) -> Side:
    """Return the side that is called so (rule 1).

    Raises:
        PublicationRefused: nothing is called so, or several things are, or it has no such protocol.
    """
    whole, _, protocol = name.partition(":")
    one = _side(evidence, whole)
    if not protocol:
        return one
    left = tuple(cell for cell in one.cells if cell.protocol == protocol)
    brought = tuple(cell for cell in one.imported if protocol in (cell.called, cell.protocol))
    if not left and not brought:
        every = {cell.protocol for cell in one.cells} | {cell.called for cell in one.imported}
        known = ", ".join(sorted(every)) or "none"
        raise PublicationRefused(
            f"{one.name} has no load of a protocol {protocol!r}", advice=f"Measured there: {known}."
        )
    called = protocol if left else None
    return replace(one, name=f"{one.name}:{protocol}", cells=left, imported=brought, protocol=called)


def _side(evidence: Evidence, name: str) -> Side:
    found = list(_called(evidence, name))
    if not found:
        known = ", ".join(sorted(_names(evidence))[:12]) or "nothing yet"
        raise PublicationRefused(
            f"no campaign, attempt or candidate is called {name!r}",
            advice=f"There is {known}. `anvil status` shows all of it.",
        )
    if len(found) > 1:
        raise PublicationRefused(
            f"{name!r} is the name of several: {', '.join(one for one, _, _ in found)}",
            advice="Write CAMPAIGN/NAME.",
        )
    full, campaign, attempts = found[0]
    own = tuple(cell for cell in cells(evidence, campaign) if set(cell.attempts) <= set(attempts))
    whose = full.partition("/")[2]
    brought = (cell for cell in imported_cells(evidence, campaign) if _is_of(cell, whose))
    return Side(
        full, campaign, attempts, joined(own) if len(attempts) > 1 else own, imported=together(brought)
    )


def _is_of(cell: ImportedCell, whose: str) -> bool:
    """Say whether an imported cell is of a candidate or attempt; no name means the whole campaign (rule 5)."""
    return not whose or whose == cell.candidate or whose in cell.attempts


def _called(evidence: Evidence, name: str) -> list[tuple[str, Campaign, tuple[str, ...]]]:
    before, slash, after = name.partition("/")
    every = evidence.record.campaigns
    if slash:
        return _within(evidence, every[before], after) if before in every else []
    whole = [(name, every[name], tuple(every[name].attempts))] if name in every else []
    return [*whole, *(found for campaign in every.values() for found in _within(evidence, campaign, name))]


def _within(evidence: Evidence, campaign: Campaign, name: str) -> list[tuple[str, Campaign, tuple[str, ...]]]:
    full = f"{campaign.name}/{name}"
    if name in campaign.attempts:
        return [(full, campaign, (name,))]
    plans = Plans.of(evidence, campaign)
    of = {
        attempt: {plans.candidate_of(launch) for launch in launches}
        for attempt, launches in campaign.attempts.items()
    }
    attempts = tuple(attempt for attempt, candidates in of.items() if candidates == {name})
    return [(full, campaign, attempts)] if attempts or name in _brought(evidence, campaign) else []


def _brought(evidence: Evidence, campaign: Campaign) -> list[str]:
    """Return the candidates and attempts that imported loads name."""
    named = (
        name
        for source, kept in ((evidence.source(kept), kept) for kept in campaign.general)
        if source is not None and isinstance(source.event, LoadImported)
        for name in (kept.subject.attempt, kept.subject.candidate)
    )
    return list(dict.fromkeys(name for name in named if name is not None))


def _names(evidence: Evidence) -> list[str]:
    return [
        f"{campaign.name}/{attempt}"
        for campaign in evidence.record.campaigns.values()
        for attempt in (*campaign.attempts, *_brought(evidence, campaign))
    ]
