"""What a person saw, in the person's words."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from anvil.ledger.events.base import Event, Sealed
from anvil.ledger.public import EvidenceStatus, PublicText, Role


class ObservationNoted(Event):
    """A person's statement about the subject, with the evidence status that the person claims for it.

    The words are sealed unless they were given for publication. A projection may weaken the status to
    what the attached artifacts support and never strengthens it.
    """

    signed_by: ClassVar[frozenset[Role]] = frozenset({"operator"})
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
