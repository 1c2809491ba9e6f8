"""Events that name an earlier event and change how it is to be read. Nothing stored is ever edited."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger import canonical
from anvil.ledger.commitments import Opening
from anvil.ledger.events.base import Event
from anvil.ledger.public import Count, Digest, EntryHash, Label, PublicText, Role, SaltHex

_OPERATOR: frozenset[Role] = frozenset({"operator"})


class EventRetracted(Event):
    """A person takes an event back: it stays in the log and no longer supports anything."""

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["event.retracted/1"] = "event.retracted/1"
    target: EntryHash
    """The event that is retracted."""
    reason: PublicText
    """Why, for every reader."""


class SealedRedacted(Event):
    """The value and salt of one sealed field were deleted for good. Appended before they are."""

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["sealed.redacted/1"] = "sealed.redacted/1"
    target: EntryHash
    """The event whose field it is."""
    field: Label
    """The name of the field."""
    reason: PublicText
    """Why, for every reader."""


class ArtifactRedacted(Event):
    """The bytes of one artifact, and for a private one its digest, were deleted for good.

    Appended before they are. Bytes that are an artifact elsewhere too go everywhere at once, or stay.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["artifact.redacted/1"] = "artifact.redacted/1"
    target: EntryHash
    """The event that carries the artifact."""
    artifact: Label
    """The artifact's name in that event."""
    reason: PublicText
    """Why, for every reader."""


class ArtifactMissing(Event):
    """The bytes of one artifact are lost: nobody deleted them on purpose, and they are not in the blob store.

    The loss is then known and said, and what rested on the bytes no longer does. When they are found again,
    `evidence.attached` brings them back.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["artifact.missing/1"] = "artifact.missing/1"
    target: EntryHash
    """The event that carries the artifact."""
    artifact: Label
    """The artifact's name in that event."""
    reason: PublicText
    """How it was lost, for every reader."""


class ArtifactDisclosed(Event):
    """A private artifact becomes public, for good: its commitment is opened for everybody.

    Of some only the digest and size do: whoever has the bytes can then show that they are the ones. Of others the
    bytes do too; they are then a public artifact of that event. That can be said later of what was disclosed by its
    digest alone, never the other way round.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["artifact.disclosed/2"] = "artifact.disclosed/2"
    target: EntryHash
    """The event that carries the artifact."""
    artifact: Label
    """The artifact's name in that event."""
    extent: Literal["digest", "bytes"]
    """What everybody may have: its digest and size alone, or its bytes too."""
    digest: Digest
    """The digest of its bytes."""
    size: Count
    """How many bytes it has."""
    salt: SaltHex
    """The salt that, with digest and size, gives the commitment in that event."""
    reason: PublicText | None
    """Why, for every reader; null when nobody said."""
    exceptions: Annotated[tuple[EntryHash, ...], Field(strict=False)]
    """The exceptions of the tripwire that were used when it looked at the bytes."""

    def opens(self) -> str:
        """Return the commitment that salt, digest and size give: only an artifact that shows it is meant."""
        value = canonical.encode({"digest": self.digest, "size": self.size})
        return Opening(bytes.fromhex(self.salt), value).commitment()
