"""Real ledgers of an exact number of entries, with deterministic content and real keys."""

from __future__ import annotations

from pathlib import Path

from anvil.ledger.anchor import Anchor
from anvil.ledger.clock import system_clock
from anvil.ledger.creation import unique_origin
from anvil.ledger.drafts import Draft
from anvil.ledger.events import InitialKey, LedgerCreated, ObservationNoted
from anvil.ledger.header import Subject
from anvil.ledger.keystore import KeyStore
from anvil.ledger.note import VerifierKey
from anvil.ledger.places import LedgerPlace, by_origin, keys_directory, state_directory
from anvil.ledger.public import Role
from anvil.ledger.recording import Ledger
from anvil.ledger.signing import PrivateKey
from anvil.ledger.store import Store
from anvil.ledger.streams import Stream, software_version

ROLES: tuple[Role, ...] = ("ledger", "root", "operator", "collector")
BATCH = 1000


def ledger_of_size(directory: Path, size: int) -> LedgerPlace:
    """Make a ledger of exactly `size` entries (1 or more); its last stream stays open unless `size` is 1.

    `create_ledger` always writes two entries, so the first is recorded here as it does it.
    """
    origin = unique_origin("sized.test.invalid")
    pairs = [(role, PrivateKey.generate()) for role in ROLES]
    keys = KeyStore(by_origin(keys_directory(), origin))
    for role, key in pairs:
        keys.add(role, key)
    place = LedgerPlace(directory)
    directory.mkdir()
    store = Store.create(place.database, origin)
    held = dict(pairs)
    with Ledger(place, store, keys, Anchor(state_directory(), origin), system_clock) as ledger:
        first = LedgerCreated(
            origin=origin,
            keys=tuple(InitialKey(role=role, public_key=key.public_key.raw.hex()) for role, key in pairs),
            predecessor=None,
            software=software_version(),
        )
        Stream(ledger, held["root"]).append([Draft(first, cosigners=tuple(held.values()))])
        if size > 1:
            stream = Stream.start(ledger, held["operator"], purpose="sized")
            for start in range(2, size, BATCH):
                stream.append([_observation(n) for n in range(start, min(start + BATCH, size))])
    place.verifier_key.write_text(f"{VerifierKey(origin, held['ledger'].public_key)}\n")
    return place


def _observation(number: int) -> Draft:
    event = ObservationNoted(status="declared", claims=None, public_text=f"observation {number}", text=None)
    return Draft(event, Subject(campaign="sized"))
