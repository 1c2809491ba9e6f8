"""What people concluded of a campaign, as figures of a document: caveats, gaps, decisions.

1. They are the operator's own and `declared`. Beside what an imported file says they stand after it; a decision
   of one's own takes the place of the file's.
2. A decision that stands and is stale is printed, and the evidence limit says why it is: what became of which event
   that it rests on, by the same rules as `anvil status` (`anvil.projections.judgements`); pages say it in short beside its
   words. So is a waiver, in the limit. Of events of
   other campaigns a document knows nothing, and a publication holds none: these `anvil status` tells alone.
3. A gate that somebody let pass is named in the limit, with why and until when. Whether that day is over is for the
   reader: a document does not change with the calendar.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.events import CaveatNoted, DecisionRecorded, GapNoted, WaiverGranted
from anvil.ledger.wording import ended
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Source
from anvil.projections.judgements import Decision, Reason, in_short, reasons
from anvil.projections.limits import Quoted, Stale
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
    for kept, source in _standing(evidence, campaign, candidate):
        granted = source.event
        if isinstance(granted, WaiverGranted):
            yield (
                f"Waived (event {kept.index}): {granted.gate}, by the {granted.granted_by}, until "
                f"{granted.expires[:10]}: {ended(granted.reason)}"
            )
            if found := _reasons(evidence.record, campaign, kept, granted.about):
                yield _told(f"Waiver {kept.index}", found)


def stale(evidence: Evidence, campaign: Campaign, candidate: str | None = None) -> tuple[Stale, ...]:
    """Return each decision that stands and is stale (rule 2); with a candidate, of those that can be about it."""
    return tuple(_stale(evidence, campaign, candidate))


def _stale(evidence: Evidence, campaign: Campaign, candidate: str | None) -> Iterator[Stale]:
    for kept, source in _standing(evidence, campaign, candidate):
        event = source.event
        if isinstance(event, DecisionRecorded):
            marks = evidence.record.standing.in_force(kept.entry_hash)
            if all(mark.how != "superseded" for mark in marks):
                called = f"Decision {kept.index} ({', '.join(event.verdicts)})"
                if found := _reasons(evidence.record, campaign, kept, event.rests_on):
                    yield Stale(kept.index, kept.entry_hash, in_short(found), _told(called, found))


def _standing(evidence: Evidence, campaign: Campaign, candidate: str | None) -> Iterator[tuple[Kept, Source]]:
    """Yield what people concluded and did not take back."""
    for kept in campaign.general:
        is_elsewhere = candidate is not None and kept.subject.candidate not in (None, candidate)
        source = None if is_elsewhere else evidence.source(kept)
        if source is not None:
            yield kept, source


@dataclass(frozen=True)
class _Cited:
    """An event that a judgement rests on."""

    index: int
    is_disowned: bool


def _told(called: str, found: list[Reason]) -> str:
    return f"{called} is stale: event {'; event '.join(map(str, found)).removesuffix('.')}."


def _reasons(record: Record, campaign: Campaign, kept: Kept, cited: tuple[str, ...]) -> list[Reason]:
    """Return why a judgement is stale, of the events of this campaign; a document knows no others."""
    known = {each.entry_hash: each for each in campaign.every()}
    decisions = {
        each.entry_hash: Decision(
            each.index,
            each.entry_hash,
            each.event.verdicts,
            each.event.sentence,
            tuple(name for name in each.event.rests_on if name in known),
            each.event.supersedes,
        )
        for each in known.values()
        if isinstance(each.event, DecisionRecorded)
    }

    def find(name: str) -> _Cited | None:
        found = known.get(name)
        return None if found is None else _Cited(found.index, record.is_disowned(found))

    own = tuple(name for name in cited if name in known)
    return list(reasons(kept.index, own, record.standing, decisions, find))
