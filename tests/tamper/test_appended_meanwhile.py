"""No attack: somebody appends while verification reads. It is not taken for one."""

from __future__ import annotations

from dataclasses import dataclass

from support.ledgers import SIZE, Small, grow

from anvil.ledger.sources import DatabaseLocation, Source
from anvil.ledger.verify import Expectations, verify


@dataclass
class Interrupted:
    """A location at which events are appended and signed for right after it was first opened."""

    small: Small
    waits: bool = True

    def open(self) -> Source:
        source = DatabaseLocation.of(self.small.place).open()
        if self.waits:
            self.waits = False
            grow(self.small)
        return source


def test_what_is_newer_is_not_looked_at(small: Small) -> None:
    held = small.anchor.read()
    location = Interrupted(small)
    report = verify(location, Expectations((small.vkey,), held), workers=1)  # type: ignore[arg-type]
    assert (report.exit_code, report.findings, report.size) == (0, [], SIZE)
    assert small.verify().size == SIZE + 3
