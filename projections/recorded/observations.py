"""What people saw of a campaign, as statements with their evidence status.

1. Shown is what may be published: the words that were given for publication, and what is said in parts that can be
   counted, put in words here. A statement of which nothing may be shown is counted in the limit.
2. All of a campaign are shown, in the order in which they were recorded, whatever they are about: candidate and
   attempt stand beside. One that was retracted is none.
3. The status is the one that the event has now, with what was attached to it later. Words that claim a stronger one
   are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from anvil.ledger.events import ObservationNoted
from anvil.ledger.events.observations import Claims
from anvil.ledger.wording import counted
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Listing, Source, compose, derive
from anvil.projections.limits import require_modest
from anvil.projections.record import Campaign, Kept


class Observation(BaseModel):
    """What a person saw of the candidate or the attempt, in the words given for publication, in parts, or both."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    candidate: str | None = Field(None, description="Which candidate it is about.")
    attempt: str | None = Field(None, description="Which attempt it is about.")
    statement: str | None = Field(None, description="The words.")
    seen: str | None = Field(None, description="What is said in parts that can be counted.")
    evidence_status: str


@dataclass(frozen=True)
class Observations:
    """The observations of a campaign that stand, in order."""

    events: tuple[tuple[Kept, Source, ObservationNoted], ...]

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign) -> Observations:
        """Return what people saw of a campaign."""
        return cls(tuple(_standing(evidence, campaign)))

    def listing(self, basis: Figure) -> Listing:
        """Return those that can be shown (rule 1); without one, `basis` is what was looked at.

        That there are some weakens none of them: it is no observation itself.

        Raises:
            PublicationRefused: the words of one claim more than its evidence (rule 3).
        """
        members = tuple(_member(*one) for one in self.events if not _is_silent(one[2]))
        size = len(members)
        if members:
            basis = derive(
                "how many people's observations can be shown", lambda *_: size, *(r for r, _ in members)
            )
        return Listing(basis, members)

    def notes(self) -> Iterator[str]:
        """Yield how many are left out, or are without their words (rule 1)."""
        silent = sum(1 for *_, event in self.events if _is_silent(event))
        if silent:
            yield f"What people observed and did not write for publication is not shown: {counted(silent, 'observation')}."
        wordless = sum(1 for *_, e in self.events if e.public_text is None and not _is_silent(e))
        if wordless:
            yield f"Shown without their words, which are not for publication: {counted(wordless, 'observation')}."


def _standing(evidence: Evidence, campaign: Campaign) -> Iterator[tuple[Kept, Source, ObservationNoted]]:
    for kept in sorted(campaign.every(), key=lambda kept: kept.index):
        source = evidence.source(kept) if isinstance(kept.event, ObservationNoted) else None
        if source is not None and isinstance(source.event, ObservationNoted):
            yield kept, source, source.event


def _is_silent(event: ObservationNoted) -> bool:
    return event.public_text is None and event.claims is None


def _member(kept: Kept, source: Source, event: ObservationNoted) -> tuple[Figure, Group]:
    """Return an observation as a group, and why it is one of them: the event itself."""
    statement = source.stated("public_text")
    require_modest(statement)
    status = Figure(source.status, "how strong its evidence is", source.support, source.status)
    parts = [] if event.claims is None else list(_parts(source, event.claims))
    rule = "what is said in parts that can be counted"
    seen = compose(rule, lambda *words: "; ".join(words), *parts) if parts else source.marked(rule, None)
    return source.marked("what a person observed", None, "declared"), Group(
        {
            "candidate": source.marked("which candidate it is about", kept.subject.candidate, "declared"),
            "attempt": source.marked("which attempt it is about", kept.subject.attempt, "declared"),
            "statement": statement,
            "seen": seen,
            "evidence_status": status,
        }
    )


def _parts(source: Source, claims: Claims) -> Iterator[Figure]:
    """Yield each thing that is said in parts, in words."""

    def words(text: str, *paths: tuple[str | int, ...]) -> Figure:
        return compose("a part of it", lambda *_: text, *(source.stated("claims", *path) for path in paths))

    engine = " ".join(text for text in (claims.engine, claims.version) if text is not None)
    if engine:
        yield words(f"engine {engine}", ("engine",), ("version",))
    if claims.hardware is not None:
        gpus, product = (
            claims.hardware.gpus,
            claims.hardware.product or "a GPU that is not on the reviewed list",
        )
        yield words(f"{counted(gpus, 'GPU')}: {product}", ("hardware", "gpus"), ("hardware", "product"))
    for at, setting in enumerate(claims.settings):
        yield words(f"{setting.name} {_spelled(setting.value)}", ("settings", at, "value"))
    if claims.health is not None:
        answer = "" if claims.http_status is None else f" with status {claims.http_status}"
        yield words(f"health {claims.health.replace('_', ' ')}{answer}", ("health",), ("http_status",))
    for at, check in enumerate(claims.checks):
        thinking = "" if check.thinking == "default" else f", thinking {check.thinking}"
        failure = "" if check.failure is None else f" ({check.failure})"
        told = f"{check.check}{thinking}: {check.passed}/{check.expected} {check.outcome}{failure}"
        yield words(told, *(("checks", at, field) for field in ("outcome", "failure", "passed", "expected")))
    for at, lost in enumerate(claims.not_kept):
        told = f"not kept: {lost.what.replace('-', ' ')} ({lost.reason.replace('-', ' ')})"
        yield words(told, ("not_kept", at, "what"), ("not_kept", at, "reason"))


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
