"""Exceptions of the tripwire that are in force now: they stand, and have not expired.

The clock is asked here, at release. A publication that is rendered or verified later is not asked again.
"""

from __future__ import annotations

from anvil.ledger.clock import timestamp
from anvil.ledger.entry import read_entry
from anvil.ledger.events import EventRetracted, TripwireExcepted
from anvil.ledger.recording import Ledger

EXCEPTED = "tripwire.excepted/1"
RETRACTED = "event.retracted/1"


def exceptions_in_force(ledger: Ledger) -> dict[str, TripwireExcepted]:
    """Return them by entry hash."""
    now, keyring = timestamp(ledger.clock()), ledger.keyring()
    found: dict[str, TripwireExcepted] = {}
    for row in ledger.store.of_types([EXCEPTED, RETRACTED]):
        header, event = read_entry(row.entry_index, row.entry)
        known = keyring.keys.get(header.key)  # one that a restore carried over is not renewed by it
        if known is None or known.disowns(row.entry_index):
            continue
        if isinstance(event, TripwireExcepted) and event.expires > now:
            found[row.leaf_hash.hex()] = event
        elif isinstance(event, EventRetracted):
            found.pop(event.target, None)
    return found
