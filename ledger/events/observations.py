"""What a person saw, in words and in parts that can be counted, and evidence for it that was found later."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Facts, Sealed
from anvil.ledger.events.checks import FailureClass, Outcome
from anvil.ledger.events.engines import Reachability
from anvil.ledger.events.recipes import Setting
from anvil.ledger.public import (
    Count,
    EntryHash,
    EvidenceStatus,
    Label,
    ProductName,
    PublicText,
    Role,
    Version,
    Word,
)

_OPERATOR: frozenset[Role] = frozenset({"operator"})

LostThing = Literal[
    "request-bodies", "response-bodies", "check-results", "log", "inspect-output", "sample-rows"
]
"""What is often not kept."""

LossReason = Literal[
    "never-captured", "container-recreated", "container-removed", "written-over", "deleted", "not-known"
]
"""Why it was not."""


ClaimPart = Literal["words", "engine", "hardware", "health", "checks"]
"""A part of what a person says that bytes can support by itself. Settings are choices, and need no evidence."""


class ObservedCheck(Facts):
    """What a person saw of one check. How often it passed, never more than it was tried."""

    check: Label
    """Which check, by our name for it."""
    thinking: Literal["default", "disabled", "enabled"]
    """Whether it asked for thinking; `default` leaves it to the server."""
    outcome: Outcome
    """The verdict."""
    failure: FailureClass | None
    """Why it did not pass; null when it did, or the person does not say."""
    expected: Count
    """How many requests were to pass."""
    passed: Count
    """How many passed."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.passed > self.expected:
            raise ValueError("more passed than were expected")
        if (self.outcome == "passed") != (self.failure is None and self.passed == self.expected):
            raise ValueError("a check passed exactly when all that was expected passed and nothing failed")
        return self


class ObservedHardware(Facts):
    """On which GPUs, as a person reads it from a box or a screen."""

    gpus: Count
    """How many."""
    product: ProductName | None
    """Which product, from the reviewed list; null when it is not on it."""
    memory_gib: Count | None
    """The memory of each, as its maker gives it; null when not said."""
    architecture: Word | None
    """Its architecture: `sm_120`; null when not said."""


class NotKept(Facts):
    """Something that would have been evidence and was not kept."""

    what: LostThing
    """What."""
    reason: LossReason
    """Why."""


class Claims(Facts):
    """What a person saw, in parts. Null and empty: nothing is said of it."""

    engine: Word | None
    """Which engine."""
    version: Version | Word | None
    """Its version, or the tag of its image."""
    hardware: ObservedHardware | None
    """On which GPUs."""
    settings: Annotated[tuple[Setting, ...], Field(strict=False)]
    """Settings that differ from what the recipe declares, or that it does not name."""
    health: Reachability | None
    """What became of the health request."""
    http_status: Count | None
    """The status it answered with; null unless reached."""
    checks: Annotated[tuple[ObservedCheck, ...], Field(strict=False)]
    """The checks."""
    not_kept: Annotated[tuple[NotKept, ...], Field(strict=False)]
    """What was not kept of all this."""
    supported: Annotated[tuple[ClaimPart, ...], Field(strict=False)]
    """Which of these parts, and whether the words, the attached bytes support; the rest is the person's word."""

    @model_validator(mode="after")
    def _answered_when_reached(self) -> Self:
        if self.http_status is not None and self.health != "reached":
            raise ValueError("only a health request that reached something has a status")
        return self


class ObservationNoted(Event):
    """A person's statement about the subject, with the evidence status that the person claims for it.

    The words are sealed unless they were given for publication. A projection may weaken the status to
    what the attached artifacts support and never strengthens it. Of a statement in parts a status which says
    that bytes were kept holds for those that it names as supported, and for no other.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["observation.noted/2"] = "observation.noted/2"
    status: EvidenceStatus
    """How strong the person says the evidence is."""
    public_text: PublicText | None
    """The statement, when it may be published."""
    claims: Claims | None
    """What the statement says in parts that can be counted; null for words alone."""
    text: Sealed[str | None]
    """The statement, when it may not."""

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        if (self.public_text is None) == (self.text is None):
            raise ValueError("a statement is either public_text or text")
        if self.claims is not None and self.status == "declared":
            raise ValueError("what somebody saw is an observation, and not declared")
        return self


class EvidenceAttached(Event):
    """Bytes that support an earlier event, found or made after it. They are this event's artifacts.

    The evidence status of the earlier event, or of the parts of an observation that are named, rises to what
    these bytes support, and falls again when they are redacted or lost. Bytes that the earlier event names itself, and that were lost, come back by it.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["evidence.attached/1"] = "evidence.attached/1"
    target: EntryHash
    """The event that the bytes support."""
    status: EvidenceStatus
    """How strong the person says that the evidence is with them."""
    restores: Annotated[tuple[Label, ...], Field(strict=False)]
    """The artifacts of that event, by name, whose very bytes these are."""
    supports: Annotated[tuple[ClaimPart, ...], Field(strict=False)]
    """Which parts of an observation in parts they support; empty for any other event, which they support whole."""
    public_text: PublicText | None
    """What the bytes are and where they were found, if somebody said so and it may be published."""
    text: Sealed[str | None]
    """The same, when it may not."""

    @model_validator(mode="after")
    def _said_at_most_once(self) -> Self:
        if self.public_text is not None and self.text is not None:
            raise ValueError("what is said of the bytes is either public_text or text")
        return self
