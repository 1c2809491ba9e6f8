"""Everything that the document's template can print, and the evidence limit that follows from it.

1. A campaign's candidates stand side by side, as many as there are. What was recorded and what an imported document
   says give the same figures by the same names; where there are both, the record goes on from the document.
2. Attempts whose settings are not those of their candidate's first attempt are experiments, and belong into another
   document: they are named, and not counted.
3. The limit names, by candidate, what each part of the document rests on, and says everything that figures
   alone would hide: what did not pass, what was left out, what disagrees, which label says something else than
   was counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.errors import PublicationRefused
from anvil.projections.conclusions import Conclusions
from anvil.projections.continuing import together
from anvil.projections.contradictions import in_imported
from anvil.projections.document import NOTHING_RUN, Prepared
from anvil.projections.documents.qualification_summary import earlier
from anvil.projections.documents.qualification_summary.contradictions import contradictions
from anvil.projections.documents.qualification_summary.model import SCHEMA
from anvil.projections.documents.qualification_summary.recorded import Summary
from anvil.projections.evidence import Evidence
from anvil.projections.imported import Imported, evidence_limits, imported, limit_of
from anvil.projections.limits import EvidenceLimit
from anvil.projections.record import Campaign
from anvil.projections.recorded.campaign import Recorded
from anvil.projections.recorded.experiments import Experiment, divided, undivided
from anvil.projections.recorded.observations import Observations
from anvil.projections.recorded.summaries import failed_in


def prepare(evidence: Evidence, campaign: Campaign, _candidate: str) -> Prepared:
    """Return what can be printed of a campaign's candidates.

    Raises:
        PublicationRefused: nothing was recorded of it, and no such document was imported into it.
    """
    said = Conclusions.of(evidence, campaign)
    source = imported(evidence, campaign, SCHEMA)
    recorded = Recorded.of(evidence, campaign)
    seen, beside = Observations.of(evidence, campaign), evidence_limits(evidence, campaign)
    if recorded is None:
        if source is None:
            raise PublicationRefused(
                f"nothing was run in campaign {campaign.name!r}, and no {SCHEMA} was imported into it",
                advice=NOTHING_RUN,
            )
        root = earlier.figures(source, said, seen)
        limit = limit_of(source, said.quoted(), (*in_imported(contradictions(root)), *seen.notes(), *beside))
        return Prepared(root, limit)
    experiments = divided(recorded)[1]
    summary = Summary(recorded.without(one.attempt.key for one in experiments), said)
    root = summary.group
    if source is not None:
        before = earlier.figures(source, said, seen)
        beside = [*in_imported(contradictions(before)), *beside]
        root = together(before, root)
        root = type(root)({**root.fields, "caveats": before.fields["caveats"]})
    notes = (*_notes(recorded, summary, source, experiments), *beside)
    limit = EvidenceLimit(
        tuple(summary.claims()),
        (),
        notes,
        said.quoted(),
        tuple(failed_in(summary.recorded)),
        recorded.candidates,
    )
    return Prepared(root, limit)


def _notes(
    recorded: Recorded, summary: Summary, source: Imported | None, experiments: tuple[Experiment, ...]
) -> Iterator[str]:
    if source is not None:
        date = source.figure("document", "date").value
        yield f"What was not recorded here is taken from a document that somebody published ({date})."
        yield from source.losses()
    if experiments:
        told = ", ".join(f"{one.name} ({one.change().value})" for one in experiments)
        yield f"Not shown here, since their settings are not those of their candidate's first attempt: {told}."
    yield from undivided(recorded, experiments)
    yield from summary.notes()
