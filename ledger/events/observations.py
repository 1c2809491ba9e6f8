"""What a person saw, in the person's words, and the evidence for it that was found later."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Sealed
from anvil.ledger.public import EntryHash, EvidenceStatus, Label, PublicText, Role

_OPERATOR: frozenset[Role] = frozenset({"operator"})


class ObservationNoted(Event):
    """A person's statement about the subject, with the evidence status that the person claims for it.

    The words are sealed unless they were given for publication. A projection may weaken the status to
    what the attached artifacts support and never strengthens it.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["observation.noted/1"] = "observation.noted/1"
    status: EvidenceStatus
    """How strong the person says the evidence is."""
    public_text: PublicText | None
    """The statement, when it may be published."""
    text: Sealed[str | None]
    """The statement, when it may not."""

    @model_validator(mode="after")
    def _said_once(self) -> Self:
        if (self.public_text is None) == (self.text is None):
            raise ValueError("a statement is either public_text or text")
        return self


class EvidenceAttached(Event):
    """Bytes that support an earlier event, found or made after it. They are this event's artifacts.

    The evidence status of the earlier event rises to what these bytes support, and falls again when they
    are redacted or lost. Bytes that the earlier event names itself, and that were lost, come back by it.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["evidence.attached/1"] = "evidence.attached/1"
    target: EntryHash
    """The event that the bytes support."""
    status: EvidenceStatus
    """How strong the person says that the evidence is with them."""
    restores: Annotated[tuple[Label, ...], Field(strict=False)]
    """The artifacts of that event, by name, whose very bytes these are."""
    public_text: PublicText | None
    """What the bytes are and where they were found, if somebody said so and it may be published."""
    text: Sealed[str | None]
    """The same, when it may not."""

    @model_validator(mode="after")
    def _said_at_most_once(self) -> Self:
        if self.public_text is not None and self.text is not None:
            raise ValueError("what is said of the bytes is either public_text or text")
        return self
