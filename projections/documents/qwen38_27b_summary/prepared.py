"""Everything that the document's template can print, and the evidence limit that follows from it.

1. Lanes and experiments are the attempts of a campaign (`anvil.projections.recorded.experiments`). What was recorded
   and what an imported document says give the same figures by the same names; where there are both, the record goes
   on from the document.
2. The limit names, by candidate, what the document rests on, and says everything that figures alone would hide.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.errors import PublicationRefused
from anvil.projections.conclusions import Conclusions, stale, waived
from anvil.projections.continuing import together
from anvil.projections.contradictions import in_imported
from anvil.projections.document import NOTHING_RUN, Prepared
from anvil.projections.documents.qwen38_27b_summary import earlier
from anvil.projections.documents.qwen38_27b_summary.contradictions import contradictions
from anvil.projections.documents.qwen38_27b_summary.model import NAME, SCHEMA
from anvil.projections.documents.qwen38_27b_summary.recorded import Lanes
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Group
from anvil.projections.imported import Imported, evidence_limits, imported, limit_of
from anvil.projections.limits import EvidenceLimit
from anvil.projections.record import Campaign
from anvil.projections.recorded.campaign import Recorded
from anvil.projections.recorded.observations import Observations
from anvil.projections.recorded.summaries import failed_in
from anvil.projections.withdrawals import withdrawals


def prepare(evidence: Evidence, campaign: Campaign, _candidate: str) -> Prepared:
    """Return what can be printed of a campaign's lanes and experiments.

    Raises:
        PublicationRefused: nothing was recorded of it, and no such document was imported into it.
    """
    said = Conclusions.of(evidence, campaign)
    source = imported(evidence, campaign, SCHEMA)
    recorded = Recorded.of(evidence, campaign)
    seen = Observations.of(evidence, campaign)
    gone = withdrawals(evidence, campaign, NAME).notes
    aged = stale(evidence, campaign)
    beside: list[str] = [
        *waived(evidence, campaign),
        *(one.note for one in aged),
        *evidence_limits(evidence, campaign),
    ]
    if recorded is None:
        if source is None:
            raise PublicationRefused(
                f"nothing was run in campaign {campaign.name!r}, and no {SCHEMA} was imported into it",
                advice=NOTHING_RUN,
            )
        root = earlier.figures(source, said, seen)
        notes = (*gone, *in_imported(contradictions(root)), *seen.notes(), *beside)
        limit = limit_of(source, said.quoted(), notes, aged)
        return Prepared(root, limit)
    lanes = Lanes(recorded, said)
    root = lanes.group
    if source is not None:
        before = earlier.figures(source, said, seen)
        beside = [*in_imported(contradictions(before)), *beside]
        root = Group({**together(before, root).fields, "gaps": before.fields["gaps"]})
    notes = (*gone, *_notes(lanes, source), *beside)
    limit = EvidenceLimit(
        tuple(lanes.claims()), (), notes, said.quoted(), tuple(failed_in(recorded)), recorded.candidates, aged
    )
    return Prepared(root, limit)


def _notes(lanes: Lanes, source: Imported | None) -> Iterator[str]:
    if source is not None:
        date = source.figure("document", "date").value
        yield f"What was not recorded here is taken from a document that somebody published ({date})."
        yield from source.losses()
    yield from lanes.notes()
