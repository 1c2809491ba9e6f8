"""What people concluded of a campaign, as figures of a document: caveats, gaps, decisions.

They are the operator's own and `declared`. Beside what an imported file says they stand after it; a decision
of one's own takes the place of the file's.
"""

from __future__ import annotations

from dataclasses import dataclass

from anvil.ledger.events import CaveatNoted, DecisionRecorded, GapNoted
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Source
from anvil.projections.limits import Quoted
from anvil.projections.record import Campaign


@dataclass(frozen=True)
class Conclusions:
    """What stands of it: nothing that was retracted or replaced."""

    sources: tuple[Source, ...]
    about: dict[str, str | None]
    """Which candidate each event names, by entry hash."""

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign) -> Conclusions:
        """Return what was concluded of a campaign."""
        about = {kept.entry_hash: kept.subject.candidate for kept in campaign.general}
        return cls(evidence.sources(campaign.general), about)

    def texts(self, kind: type[CaveatNoted | GapNoted]) -> list[Figure]:
        """Return the words of each caveat or gap."""
        return [source.stated("text") for source in self.sources if isinstance(source.event, kind)]

    def verdicts(self, candidate: str | None) -> list[Figure]:
        """Return the newest decision about a candidate, or about the whole campaign; nothing before there is one."""
        decisions = [source for source in self.sources if isinstance(source.event, DecisionRecorded)]
        replaced = {s.event.supersedes for s in decisions if isinstance(s.event, DecisionRecorded)}
        for source in reversed(decisions):
            fits = self.about.get(source.entry_hash) in (None, candidate)
            if fits and source.entry_hash not in replaced and isinstance(source.event, DecisionRecorded):
                return [source.stated("verdicts", at) for at in range(len(source.event.verdicts))]
        return []

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
