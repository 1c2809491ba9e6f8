"""What people concluded of a campaign, as figures of a document: caveats, gaps, decisions.

1. They are the operator's own and `declared`. Beside what an imported file says they stand after it; a decision
   of one's own takes the place of the file's.
2. A decision that stands and is stale is printed, and the evidence limit says why it is: what became of which event
   that it rests on, as `anvil status` says it (`anvil.projections.judgements`, rule 1).
3. A gate that somebody let pass is named in the limit, with why and until when. Whether that day is over is for the
   reader: a document does not change with the calendar.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anvil.ledger.events import CaveatNoted, DecisionRecorded, GapNoted, WaiverGranted
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Source
from anvil.projections.limits import Quoted
from anvil.projections.record import Campaign, Kept, Record


@dataclass(frozen=True)
class Conclusions:
    """What stands of it: nothing that was retracted or replaced."""

    sources: tuple[Source, ...]
    about: dict[str, str | None]
    """Which candidate each event names, by entry hash."""
    attempts: dict[str, str | None]
    """Which attempt, likewise."""

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign) -> Conclusions:
        """Return what was concluded of a campaign."""
        about = {kept.entry_hash: kept.subject.candidate for kept in campaign.general}
        attempts = {kept.entry_hash: kept.subject.attempt for kept in campaign.general}
        return cls(evidence.sources(campaign.general), about, attempts)

    def texts(self, kind: type[CaveatNoted | GapNoted]) -> list[Figure]:
        """Return the words of each caveat or gap."""
        return [source.stated("text") for source in self.sources if isinstance(source.event, kind)]

    def verdicts(self, candidate: str | None, experiments: frozenset[str] = frozenset()) -> list[Figure]:
        """Return the newest decision about a candidate, or about the whole campaign; nothing before there is one.

        One about an attempt counts for its candidate, unless the attempt is one of the `experiments`.
        """
        for source, event in self._decisions():
            is_elsewhere = self.attempts.get(source.entry_hash) in experiments
            if self.about.get(source.entry_hash) in (None, candidate) and not is_elsewhere:
                return [source.stated("verdicts", at) for at in range(len(event.verdicts))]
        return []

    def sentences(self, attempt: str) -> Iterator[Figure]:
        """Yield the sentence of each decision about one attempt, newest first."""
        for source, _ in self._decisions():
            if self.attempts.get(source.entry_hash) == attempt:
                yield source.stated("sentence")

    def _decisions(self) -> Iterator[tuple[Source, DecisionRecorded]]:
        """Yield the decisions that stand, newest first."""
        decisions = [(s, s.event) for s in self.sources if isinstance(s.event, DecisionRecorded)]
        replaced = {event.supersedes for _, event in decisions}
        for source, event in reversed(decisions):
            if source.entry_hash not in replaced:
                yield source, event

    def quoted(self) -> tuple[Quoted, ...]:
        """Return caveats and gaps as an evidence limit quotes them."""
        return tuple(
            Quoted(
                "caveat" if isinstance(source.event, CaveatNoted) else "gap",
                source.event.text,
                source.entry_hash,
            )
            for source in self.sources
            if isinstance(source.event, CaveatNoted | GapNoted)
        )


def waived(evidence: Evidence, campaign: Campaign, candidate: str | None = None) -> Iterator[str]:
    """Yield each waiver that stands (rule 3); with a candidate, of those that can be about it."""
    for kept in campaign.general:
        is_elsewhere = candidate is not None and kept.subject.candidate not in (None, candidate)
        if not isinstance(kept.event, WaiverGranted) or is_elsewhere:
            continue
        source = evidence.source(kept)
        if source is None or not isinstance(source.event, WaiverGranted):
            continue
        granted = source.event
        yield (
            f"Waived (event {kept.index}): {granted.gate}, by the {granted.granted_by}, until {granted.expires[:10]}: "
            f"{granted.reason}"
        )


def stale(evidence: Evidence, campaign: Campaign, candidate: str | None = None) -> Iterator[str]:
    """Yield of each decision that stands why it is stale (rule 2); with a candidate, of those that can be about it."""
    record = evidence.record
    known = {kept.entry_hash: kept for kept in record.every()}
    own = [kept for kept in campaign.general if isinstance(kept.event, DecisionRecorded)]
    for kept in own:
        is_elsewhere = candidate is not None and kept.subject.candidate not in (None, candidate)
        stands = evidence.source(kept) is not None and kept.entry_hash not in _replaced(record, known)
        if isinstance(kept.event, DecisionRecorded) and stands and not is_elsewhere:
            reasons = list(_reasons(record, known, kept, kept.event.rests_on))
            if reasons:
                verdicts = ", ".join(kept.event.verdicts)
                yield f"Decision {kept.index} ({verdicts}) is stale: it rests on {'; '.join(reasons)}."


def _replaced(record: Record, known: Mapping[str, Kept]) -> frozenset[str]:
    """Return the decisions in whose place another stands."""
    return frozenset(
        kept.event.supersedes
        for kept in known.values()
        if isinstance(kept.event, DecisionRecorded)
        and kept.event.supersedes is not None
        and kept.entry_hash not in record.retracted
    )


def _reasons(
    record: Record, known: Mapping[str, Kept], decision: Kept, cited: Iterable[str]
) -> Iterator[str]:
    for entry_hash in cited:
        kept = known.get(entry_hash)
        name = f"event {entry_hash[:16]}" if kept is None else f"event {kept.index}"
        happened = []
        if entry_hash in record.retracted:
            happened.append("was retracted")
        if kept is not None and record.is_disowned(kept):
            happened.append("was signed by a key that was revoked from before it on")
        if entry_hash in _replaced(record, known):
            happened.append("was superseded")
        happened += [f"lost its artifact {one}" for one in _gone_since(record, entry_hash, decision.index)]
        if not happened and kept is not None and isinstance(kept.event, DecisionRecorded):
            is_stale = any(_reasons(record, known, kept, kept.event.rests_on))
            happened += ["is stale itself"] if is_stale else []
        if happened:
            yield f"{name}, which {' and '.join(happened)}"


def _gone_since(record: Record, entry_hash: str, index: int) -> Iterator[str]:
    """Yield the artifacts of an event that were redacted or lost after an index: what was gone before was known."""
    for name, said in {**record.lost, **record.redacted}.items():
        is_in_force = name in record.redacted or said not in record.retracted
        if name.event == entry_hash and is_in_force and record.corrections.get(said, -1) > index:
            yield name.name
