"""What people concluded of a campaign, as figures of a document: caveats, gaps, decisions.

They are the operator's own and `declared`. Beside what an imported file says they stand after it; a decision
of one's own takes the place of the file's.
"""

from __future__ import annotations

from collections.abc import Iterator
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
