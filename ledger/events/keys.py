"""Events about the ledger itself and the keys that may sign in it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event, Facts
from anvil.ledger.public import (
    CheckpointText,
    Count,
    KeyId,
    Origin,
    PublicKeyHex,
    Role,
    TreeHash,
    VerifierKeyText,
    Version,
)


class InitialKey(Facts):
    """A key that a ledger starts with."""

    role: Role
    """What the key is for."""
    public_key: PublicKeyHex
    """The key itself."""


class TreeState(Facts):
    """One state of one ledger: what a checkpoint says, without its signature."""

    origin: Origin
    """Which ledger."""
    size: Count
    """How many entries it had."""
    root: TreeHash
    """The root over them."""


class Predecessor(Facts):
    """The ledger that this one continues after a restore."""

    key: VerifierKeyText
    """The predecessor's verifier key."""
    restored: TreeState
    """What was carried over, entry by entry: the entries right after this event."""
    restored_checkpoint: CheckpointText | None
    """The newest signed checkpoint that the restored copy held; null when it held none."""
    anchored_checkpoint: CheckpointText | None
    """The newest checkpoint that is known to have been signed; null when no anchor was found."""
    lost: Count | None
    """How many entries were signed for and not carried over; null when not known."""


class LedgerCreated(Event):
    """A ledger begins. Always its first event; it opens the first stream.

    Signed by the root key that it introduces, and by every other key that it introduces, as proof
    that each was held.
    """

    signed_by: ClassVar[frozenset[Role]] = frozenset({"root"})
    type: Literal["ledger.created/1"] = "ledger.created/1"
    origin: Origin
    """The ledger's name, in every header and checkpoint."""
    keys: Annotated[tuple[InitialKey, ...], Field(strict=False)]
    """The first keys; one of them has the role root and one the role ledger."""
    predecessor: Predecessor | None
    """Which ledger this one was restored from; null for a new one."""
    software: Version
    """The version of anvil that made it."""


class KeyAdded(Event):
    """From here on one more key may sign. Signed by root and, as proof that it is held, by the key."""

    signed_by: ClassVar[frozenset[Role]] = frozenset({"root"})
    type: Literal["key.added/1"] = "key.added/1"
    role: Role
    """What the key is for."""
    public_key: PublicKeyHex
    """The key itself."""


class KeyRotated(Event):
    """A key takes another's place. Signed by root, the old key and the new one.

    The old key may finish the streams that it has open, and opens no more. An old ledger key goes
    on signing checkpoints beside the new one until it is revoked, so that an auditor who only knows
    the old key can follow.
    """

    signed_by: ClassVar[frozenset[Role]] = frozenset({"root"})
    type: Literal["key.rotated/1"] = "key.rotated/1"
    old_key: KeyId
    """The key that is replaced."""
    new_public_key: PublicKeyHex
    """The key that replaces it, in the same role."""


class KeyRevoked(Event):
    """A key is not to be believed any more.

    What it signed at or after `last_good` and before this event is shown as disowned; what it signs
    after this event is refused. The point is a state of the ledger, never a time, since whoever holds
    a stolen key also chooses its clock.
    """

    signed_by: ClassVar[frozenset[Role]] = frozenset({"root"})
    type: Literal["key.revoked/1"] = "key.revoked/1"
    key: KeyId
    """The key."""
    last_good: TreeState
    """The last state of this ledger in which everything by the key is still believed."""
    cause: Literal["compromised", "lost", "retired"]
    """Why."""
