"""Everything that the document's template can print, and the evidence limit that follows from it.

1. A campaign's candidates stand side by side, as many as there are. What was recorded and what an imported document
   says give the same figures by the same names; where there are both, the record goes on from the document.
2. Attempts whose settings are not those of their candidate's first attempt are experiments, and belong into another
   document: they are named, and not counted.
3. The limit names, by candidate, what each part of the document rests on, and says everything that figures
   alone would hide: what did not pass, what was left out, what disagrees, which label says something else than
   was counted.
4. What other tools measured stands in a section of its own. Where a campaign holds nothing else, everything but that
   is null or empty, on the evidence of the files that were looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.errors import PublicationRefused
from anvil.projections.conclusions import Conclusions, stale, waived
from anvil.projections.continuing import together
from anvil.projections.contradictions import in_imported
from anvil.projections.document import NOTHING_RUN, Prepared
from anvil.projections.documents.qualification_summary import earlier
from anvil.projections.documents.qualification_summary.contradictions import contradictions
from anvil.projections.documents.qualification_summary.model import NAME, SCHEMA
from anvil.projections.documents.qualification_summary.recorded import Summary
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Unsupported
from anvil.projections.imported import Imported, evidence_limits, imported, limit_of
from anvil.projections.limits import EvidenceLimit
from anvil.projections.plans import Plans
from anvil.projections.record import Campaign
from anvil.projections.recorded.campaign import Recorded
from anvil.projections.recorded.experiments import Experiment, divided, undivided
from anvil.projections.recorded.importedcomparisons import listed
from anvil.projections.recorded.importedevidence import ImportedEvidence
from anvil.projections.recorded.observations import Observations
from anvil.projections.recorded.summaries import failed_in
from anvil.projections.withdrawals import withdrawals


def prepare(evidence: Evidence, campaign: Campaign, _candidate: str) -> Prepared:
    """Return what can be printed of a campaign's candidates.

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
    brought = ImportedEvidence.of(evidence, campaign)
    if recorded is None and source is not None:
        root = earlier.figures(source, said, seen)
        notes = (*gone, *in_imported(contradictions(root)), *seen.notes(), *brought.notes(), *beside)
        return Prepared(
            _with(root, brought, evidence, campaign), limit_of(source, said.quoted(), notes, aged)
        )
    if recorded is None:
        recorded = _without_runs(evidence, campaign, brought)
    experiments = divided(recorded)[1]
    summary = Summary(recorded.without(one.attempt.key for one in experiments), said)
    root = summary.group
    if source is not None:
        before = earlier.figures(source, said, seen)
        beside = [*in_imported(contradictions(before)), *beside]
        root = together(before, root)
        root = type(root)({**root.fields, "caveats": before.fields["caveats"]})
    notes = (*gone, *_notes(recorded, summary, source, experiments), *brought.notes(), *beside)
    limit = EvidenceLimit(
        tuple(summary.claims()),
        (),
        notes,
        said.quoted(),
        tuple(failed_in(summary.recorded)),
        recorded.candidates,
        aged,
    )
    return Prepared(_with(root, brought, evidence, campaign), limit)


def _without_runs(evidence: Evidence, campaign: Campaign, brought: ImportedEvidence) -> Recorded:
    """Return a campaign of which there is nothing but what other tools measured (rule 4).

    Raises:
        PublicationRefused: there is not even that.
    """
    if not brought.results:
        raise PublicationRefused(
            f"nothing was run in campaign {campaign.name!r}, and no {SCHEMA} was imported into it",
            advice=NOTHING_RUN,
        )
    plans = Plans.of(evidence, campaign)
    return Recorded(evidence, campaign, plans, looked_at=brought.looked_at(), days=brought.days())


def _with(root: Group, brought: ImportedEvidence, evidence: Evidence, campaign: Campaign) -> Group:
    """Return the figures with those of other tools beside them (rule 4)."""
    date = root.fields["date"]
    if not isinstance(date, Figure):
        raise Unsupported("the date of a document is a figure")
    fields = {**brought.group(date).fields, "comparisons": listed(evidence, campaign, date)}
    return Group({**root.fields, "imported": Group(fields)})


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
