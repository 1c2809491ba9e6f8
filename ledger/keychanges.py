"""Listing, adding, rotating and revoking keys: the events, and the files that go with them.

Listing only reads; it needs no private key. The private key of a new one is kept before the event
that introduces it is appended: a crash leaves at worst a key file that the ledger does not know.
"""

from __future__ import annotations

from anvil.ledger.checks.keys import CONTROL_TYPES, read_control
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError, NotPermitted, StoreDamaged
from anvil.ledger.events import KeyAdded, KeyRevoked, KeyRotated, TreeState
from anvil.ledger.keyring import Keyring, KnownKey
from anvil.ledger.keystore import KeyStore
from anvil.ledger.merkle import root_at
from anvil.ledger.places import LedgerPlace, by_origin, keys_directory
from anvil.ledger.public import Role
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.signing import PrivateKey, PublicKey, Signer
from anvil.ledger.store import Store
from anvil.ledger.storedtree import StoredTree
from anvil.ledger.streams import record
from anvil.ledger.wording import counted

PURPOSE = "keys"


def known_keys(place: LedgerPlace) -> tuple[Keyring, KeyStore]:
    """Return the keyring of the ledger at `place`, and this user's own keys for it. Nothing is written.

    Raises:
        NotALedger: there is none.
        StoreDamaged: a key event in it does not hold.
    """
    store = Store.open_readonly(place.database)
    try:
        origin = store.origin()
        rows = store.of_types(CONTROL_TYPES)
    finally:
        store.close()
    control = read_control(origin, ((row.entry_index, row.entry) for row in rows))
    if control.findings:
        first = control.findings[0]
        raise StoreDamaged(
            f"{place.database}: the event at index {first.index} does not hold: {first.message}",
            advice="Run `anvil verify`; what such a ledger says of its keys is not to be believed.",
        )
    return control.keyrings.get(origin, Keyring(origin)), KeyStore(by_origin(keys_directory(), origin))


def new_signer(ledger: Ledger, role: Role, *, agent_key: PublicKey | None, encrypt: bool) -> Signer:
    """Keep a new key for `role`, or one that the ssh-agent holds, and return what signs for it."""
    if agent_key is not None:
        ledger.keys.add_agent(role, agent_key)
        return ledger.keys.signer(agent_key.key_id)
    key = PrivateKey.generate()
    ledger.keys.add(role, key, encrypt=encrypt)
    return key


def add_key(ledger: Ledger, role: Role, new: Signer) -> Recorded:
    """Record that `new` may sign as `role` from now on.

    Raises:
        NotPermitted: this user does not hold the root key, or the key is known already.
    """
    event = KeyAdded(role=role, public_key=new.public_key.raw.hex())
    return record(ledger, ledger.signer("root"), [Draft(event, cosigners=(new,))], purpose=PURPOSE)[0]


def rotate_key(ledger: Ledger, old: KnownKey, new: Signer) -> Recorded:
    """Record that `new` takes the place of `old`.

    Raises:
        NotPermitted: this user does not hold the root key or the old key, or the old one is not current.
    """
    event = KeyRotated(old_key=old.public_key.key_id, new_public_key=new.public_key.raw.hex())
    cosigners = (ledger.keys.signer(old.public_key.key_id), new)
    return record(ledger, ledger.signer("root"), [Draft(event, cosigners=cosigners)], purpose=PURPOSE)[0]


def revoke_key(ledger: Ledger, known: KnownKey, cause: str, last_good: int | None) -> Recorded:
    """Record that a key is not to be believed any more, from the state of `last_good` entries on (None: now).

    Raises:
        LedgerError: the ledger never had that many entries.
        NotPermitted: it is the root key, the only ledger key, or not current.
    """
    size = ledger.store.size()
    good = size if last_good is None else last_good
    if not 0 <= good <= size:
        raise LedgerError(
            f"the last good state has {counted(good, 'entry')}, the ledger {size}", advice="See `anvil log`."
        )
    state = TreeState(
        origin=ledger.origin, size=good, root=root_at(good, StoredTree(ledger.store).read).hex()
    )
    event = KeyRevoked(key=known.public_key.key_id, last_good=state, cause=cause)  # type: ignore[arg-type]
    return record(ledger, ledger.signer("root"), [Draft(event)], purpose=PURPOSE)[0]


def find_key(ledger: Ledger, name: str) -> KnownKey:
    """Return the key whose id begins with `name`, or the one current key of the role `name`.

    Raises:
        NotPermitted: none or several fit.
    """
    keys = ledger.keyring().keys
    found = [k for key_id, k in keys.items() if key_id.startswith(name)] if len(name) >= 4 else []
    if name in {"ledger", "root", "operator", "collector"}:
        found = [k for k in keys.values() if k.role == name and k.revoked is None and k.rotated is None]
    if len(found) != 1:
        raise NotPermitted(
            f"{name!r} names {counted(len(found), 'key')}, expected one",
            advice="See `anvil key list`; name a key by its id.",
        )
    return found[0]
