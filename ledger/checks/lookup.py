"""Which event an entry hash names, among entries that were verified or are about to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import Malformed
from anvil.ledger.header import Header

Find = Callable[[str], tuple[int, Header] | None]
"""From an entry hash to the index and the header of the event; None when it is not here."""


class Entries(Protocol):
    """Looks up entries."""

    def index_of(self, leaf: bytes) -> int | None:
        """Return the index of an entry by its leaf hash."""

    def entry(self, index: int) -> bytes | None:
        """Return an entry."""


def find_in(entries: Entries) -> Find:
    """Return what looks a header up among entries."""

    def find(entry_hash: str) -> tuple[int, Header] | None:
        index = entries.index_of(bytes.fromhex(entry_hash))
        entry = None if index is None else entries.entry(index)
        if index is None or entry is None:
            return None
        try:
            return index, Header.parse(Envelope.parse(entry).header)
        except Malformed:
            return None  # altered: a finding of its own

    return find
