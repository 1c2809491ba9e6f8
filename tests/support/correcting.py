"""A record with corrections that no ledger holds: what is retracted or gone of it is said here."""

from __future__ import annotations

from dataclasses import replace

from anvil.ledger.events import AnyEvent
from anvil.ledger.header import NO_SUBJECT
from anvil.projections.record import Kept, Record

THIEF = "7" * 64
"""The key that signs them."""


def corrected(record: Record, *events: AnyEvent) -> Record:
    """Return a record of which these events were said last."""
    first = max((kept.index for kept in record.every()), default=0) + 1
    said = tuple(
        Kept(index, f"{index:064x}", "2026-12-01T00:00:00.000000Z", "later", THIEF, NO_SUBJECT, (), event, "")
        for index, event in enumerate(events, first)
    )
    return replace(record, corrections=(*record.corrections, *said))
