"""Points: one figure of a document as a plot shows it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.public import EvidenceStatus


@dataclass(frozen=True)
class Point:
    """One figure. Its place in a plot comes from `number`, its words from all the rest."""

    series: int
    """Which series it belongs to, from 0: its colour, pattern and shape."""
    label: str
    number: Fraction | None
    """None where the document has null."""
    text: str
    """The value as the document prints it; where it is null, the reason."""
    unit: str
    status: EvidenceStatus
    word: str
    """The short word for the status."""
    note: int
    """The number of its support on the page."""
    pointer: str
    """Where it stands in the document (RFC 6901)."""
    runs: str = ""
    """How many runs it was made of, as the document prints it; empty where it does not say."""
    is_variant: bool = False
    """Whether it is a variant within one series of the page: it then has a shade of its own, and no series' colour."""

    @property
    def value(self) -> str:
        """The value with its unit; the reason where there is none."""
        return self.text if self.number is None else f"{self.text} {self.unit}".strip()

    @property
    def title(self) -> str:
        """All of it in words."""
        runs = f", n = {self.runs} runs" if self.runs else ""
        said = f"no value: {self.text}" if self.number is None else self.value
        return f"{self.label}: {said}{runs}; {self.status} ({self.word}), support {self.note}, {self.pointer}"
