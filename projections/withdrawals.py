"""Earlier releases of a document that were withdrawn, as its evidence limit tells them.

1. Whoever reads a document learns that an earlier release of it was withdrawn, when and why: those are signed events of
   its campaign, which go along with a publication. Of the same document means of the same campaign and candidate.
2. Only what was withdrawn by the state that the document is made of is told, so that a state gives the same document
   for ever. One from before a withdrawal is not published for the first time after it (`anvil.projections.takenback`).
"""

from __future__ import annotations

from dataclasses import dataclass

from anvil.ledger.events import PublicationReleased, PublicationWithdrawn
from anvil.ledger.wording import ended
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure
from anvil.projections.record import Campaign


@dataclass(frozen=True)
class Withdrawals:
    """A note for each withdrawn release, in order, and figures that rest on the events behind them."""

    notes: tuple[str, ...]
    marks: tuple[Figure, ...]


def withdrawals(
    evidence: Evidence, campaign: Campaign, document: str, candidate: str | None = None
) -> Withdrawals:
    """Return what was withdrawn of a document, of one candidate or, without one, of all."""
    released = {
        kept.entry_hash: kept
        for kept in campaign.publications
        if isinstance(kept.event, PublicationReleased)
        and kept.event.document == document
        and kept.subject.candidate == candidate
    }
    notes: dict[str, str] = {}
    marks: list[Figure] = []
    for kept in campaign.publications:
        source = evidence.source(kept)
        event = kept.event
        if not isinstance(event, PublicationWithdrawn) or event.publication in notes or source is None:
            continue
        if (first := released.get(event.publication)) is not None:
            notes[event.publication] = (
                f"An earlier release of this document (event {first.index}, {first.at[:10]}) was withdrawn "
                f"(event {kept.index}, {kept.at[:10]}): {ended(event.reason)}"
            )
            behind = (evidence.source(first), source)
            marks += [
                each.marked("a release that was withdrawn", True) for each in behind if each is not None
            ]
    return Withdrawals(tuple(notes.values()), tuple(marks))
