"""What leaves the ledger: publications, their end, and what a person lets pass. The operator's key only."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event
from anvil.ledger.events.keys import TreeState
from anvil.ledger.public import Count, Digest, EntryHash, Label, PublicText, Role, Timestamp, Version

_OPERATOR: frozenset[Role] = frozenset({"operator"})


class PublicationReleased(Event):
    """A document was released, with everything that a stranger needs to verify it, as one folder.

    Appended when the folder was complete and on disk, before it got its name.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["publication.released/1"] = "publication.released/1"
    document: Label
    """Which document."""
    document_digest: Digest
    """The digest of its JSON."""
    manifest: Digest
    """The digest of the folder's `manifest.json`, which has those of all other files."""
    fold: TreeState
    """The state of the ledger that the document is made of."""
    template: Digest
    """The digest of its layout."""
    policy: Digest
    """The digest of the tripwire that looked at it: which detectors, in which version."""
    keyring: Digest
    """The digest of the snapshot of the ledger's keys."""
    attempts_shown: Count
    """How many attempts the document lists, or, where it lists none, has figures of."""
    attempts_existing: Count
    """How many there were of its candidate; more than are shown when some have no evidence that stands."""
    exceptions: Annotated[tuple[EntryHash, ...], Field(strict=False)]
    """The exceptions of the tripwire that were used."""
    software: Version
    """The version of anvil that made it."""


class PublicationWithdrawn(Event):
    """A publication is no longer to be relied on. Copies stay where they are; whoever asks is told."""

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["publication.withdrawn/1"] = "publication.withdrawn/1"
    publication: EntryHash
    """The event that released it."""
    reason: PublicText
    """Why, for every reader."""


class ExcerptApproved(Event):
    """A person publishes a sentence of something private: of a sealed field, a log, an answer."""

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["excerpt.approved/1"] = "excerpt.approved/1"
    target: EntryHash
    """The event that the words are from."""
    source: Label
    """The name of the sealed field or artifact that they are from."""
    excerpt: PublicText
    """The words, as they may be read by everybody."""
    reason: PublicText
    """Why they may be published."""


class TripwireExcepted(Event):
    """One exact text that one detector of the tripwire takes for a secret may pass, for a time.

    It is looked at when something is released, never when it is rendered or verified.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["tripwire.excepted/1"] = "tripwire.excepted/1"
    detector: Label
    """The detector."""
    text: Digest
    """The digest of the exact text that it finds. The text is about to be published, so it is no secret."""
    reason: PublicText
    """Why it is no secret."""
    expires: Timestamp
    """Until when it may pass."""
