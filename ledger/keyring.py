"""The keyring: which key may sign what, and from where to where in the log.

1. A key is known after the entry that introduces it (``ledger.created``, ``key.added``,
   ``key.rotated``), never before, and only under the home ledger that introduced it. In that entry it
   signs along; only in ``ledger.created`` is an introduced key, the root key, the first to sign.
2. Whatever introduces a key is signed by that key too: proof that somebody holds it.
3. A role may sign the types whose class says so (``signed_by``). A ledger key signs no event at all.
   Of a type that this build does not know the right to sign cannot be judged further, and is not.
4. A rotated key may finish streams that it opened; it opens no new one and changes no keys.
5. A revoked key may sign nothing from the revoking entry on, whatever root the revocation states. What
   it signed at or after the last good state and before the revocation is disowned: still in the log,
   supporting nothing.
6. Key events are judged by the keyring as it stood before them. The root key cannot be revoked:
   when it is lost or stolen, a new ledger is made with `anvil restore`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from anvil.ledger.errors import NotPermitted
from anvil.ledger.events import CATALOGUE, AnyEvent, KeyAdded, KeyRevoked, KeyRotated, LedgerCreated
from anvil.ledger.header import family
from anvil.ledger.public import Role
from anvil.ledger.signing import PublicKey
from anvil.ledger.upcasts import newest

KEY_FAMILIES = frozenset({"ledger.created", "key.added", "key.rotated", "key.revoked"})
"""Families of events that change a keyring."""


@dataclass(frozen=True)
class KnownKey:
    """A key and the part of the log in which it counts. All positions are indices of this log."""

    public_key: PublicKey
    role: Role
    added: int
    rotated: int | None = None
    revoked: int | None = None
    last_good: int | None = None

    def disowns(self, index: int) -> bool:
        """Say whether what this key signed at `index` is disowned (rule 5)."""
        return (
            self.revoked is not None and self.last_good is not None and self.last_good <= index < self.revoked
        )


@dataclass(frozen=True)
class Keyring:
    """The keys of one home ledger, by key id."""

    origin: str
    keys: Mapping[str, KnownKey] = field(default_factory=dict)
    base: int = 0
    """The index of the event that created the home ledger; not 0 in a log that carries another's entries."""

    def holders(self, role: Role) -> list[KnownKey]:
        """Return the keys of `role` that are not revoked, newest last."""
        return [known for known in self.keys.values() if known.role == role and known.revoked is None]

    def require(self, key_id: str, event_type: str, index: int, stream_seq: int) -> KnownKey:
        """Return the key if it may sign `event_type` at `index` (rules 1, 3, 4, 5).

        Raises:
            UnknownKey: the ledger has not introduced it before `index`.
            RevokedKey: it was revoked before `index`.
            NotPermitted: its role may not sign the type, or it was rotated and opens a stream.
        """
        known = self.require_known(key_id, index)
        if known.added == index and index != self.base:
            raise UnknownKey(f"key {key_id[:16]} signs the event that introduces it")
        if known.role == "ledger":
            raise NotPermitted(f"key {key_id[:16]} is a ledger key; it signs checkpoints and no event")
        if known.rotated is not None and known.rotated < index:
            if stream_seq == 0:
                raise NotPermitted(
                    f"key {key_id[:16]} ({known.role}) was rotated at index {known.rotated} and opens no new stream"
                )
            if changes_keys(event_type):
                raise NotPermitted(
                    f"key {key_id[:16]} ({known.role}) was rotated at index {known.rotated}; "
                    "it may end its streams, not change keys"
                )
        roles = permitted_roles(event_type)
        if roles is not None and known.role not in roles:
            raise NotPermitted(
                f"{event_type} is signed by {' or '.join(sorted(roles))}, this key is {known.role}"
            )
        return known

    def require_known(self, key_id: str, index: int) -> KnownKey:
        """Return the key if its signature counts at `index`, first of an envelope or not (rules 1, 5).

        Raises:
            UnknownKey: the ledger has not introduced it before `index`.
            RevokedKey: it was revoked before `index`.
        """
        known = self.keys.get(key_id)
        if known is None or known.added > index:
            raise UnknownKey(f"key {key_id[:16]} is not known in {self.origin}")
        if known.revoked is not None and known.revoked < index:
            raise RevokedKey(f"key {key_id[:16]} ({known.role}) was revoked at index {known.revoked}")
        return known

    def apply(self, event: AnyEvent, index: int, signed_by: Iterable[str]) -> Keyring:
        """Return the keyring after `event` at `index`; `signed_by` names every key that signed it.

        Events that are not about keys change nothing.

        Raises:
            NotPermitted: the event contradicts the keyring or lacks a signature (rules 2, 6).
            MalformedKey: a key that it introduces is unsafe.
        """
        match event:
            case LedgerCreated():
                return self._begin(event, index, frozenset(signed_by))
            case KeyAdded():
                return self._with_new(event.public_key, event.role, index, frozenset(signed_by))
            case KeyRotated():
                return self._rotate(event, index, frozenset(signed_by))
            case KeyRevoked():
                return self._revoke(event, index)
            case _:
                return self

    def _begin(self, event: LedgerCreated, index: int, signed_by: frozenset[str]) -> Keyring:
        if self.keys:
            raise NotPermitted(f"{self.origin} was created before")
        if event.origin != self.origin:
            raise NotPermitted(f"ledger.created names {event.origin}, its header {self.origin}")
        if not {"root", "ledger"} <= {key.role for key in event.keys}:
            raise NotPermitted("ledger.created introduces no root key or no ledger key")
        keyring = replace(self, base=index)
        for key in event.keys:
            keyring = keyring._with_new(key.public_key, key.role, index, signed_by)
        return keyring

    def _with_new(self, public_key: str, role: Role, index: int, signed_by: frozenset[str]) -> Keyring:
        key = PublicKey.vetted(bytes.fromhex(public_key))
        if key.key_id in self.keys:
            raise NotPermitted(f"key {key.key_id[:16]} is already known; a key has one role, once")
        if key.key_id not in signed_by:
            raise NotPermitted(f"key {key.key_id[:16]} did not sign its own introduction")
        return self._put(key.key_id, KnownKey(key, role, index))

    def _rotate(self, event: KeyRotated, index: int, signed_by: frozenset[str]) -> Keyring:
        old = self.keys.get(event.old_key)
        if old is None or old.revoked is not None or old.rotated is not None:
            raise NotPermitted(f"key {event.old_key[:16]} is not a current key, so it cannot be rotated")
        if event.old_key not in signed_by:
            raise NotPermitted(f"key {event.old_key[:16]} did not sign its own rotation")
        added = self._with_new(event.new_public_key, old.role, index, signed_by)
        return added._put(event.old_key, replace(old, rotated=index))

    def _revoke(self, event: KeyRevoked, index: int) -> Keyring:
        known = self.keys.get(event.key)
        if known is None or known.revoked is not None:
            raise NotPermitted(f"key {event.key[:16]} is not a current key, so it cannot be revoked")
        if known.role == "root":
            raise NotPermitted("the root key cannot be revoked; restore into a new ledger instead")
        if known.role == "ledger" and [k for k in self.holders("ledger") if k.rotated is None] == [known]:
            raise NotPermitted("the only current ledger key cannot be revoked; rotate it first")
        last_good = self.base + event.last_good.size
        if event.last_good.origin != self.origin or last_good > index:
            raise NotPermitted(f"the last good state is not an earlier state of {self.origin}")
        return self._put(event.key, replace(known, revoked=index, last_good=last_good))

    def _put(self, key_id: str, known: KnownKey) -> Keyring:
        return replace(self, keys={**self.keys, key_id: known})


class UnknownKey(NotPermitted):
    """The key was not introduced before."""


class RevokedKey(NotPermitted):
    """The key was revoked before."""


@lru_cache(maxsize=1024)
def permitted_roles(event_type: str) -> frozenset[Role] | None:
    """Return the roles that may sign `event_type`, or None when this build does not know the type."""
    cls = CATALOGUE.get(newest(event_type))
    return None if cls is None else cls.signed_by


@lru_cache(maxsize=1024)
def changes_keys(event_type: str) -> bool:
    """Say whether events of this type change a keyring."""
    return family(event_type) in KEY_FAMILIES
