"""What an importer is: it reads one file that was made elsewhere and says what the file states.

1. One module, or package, for each kind of file. It names its kind, says whether a file is of it, and takes
   a file apart. It keeps nothing and appends nothing.
2. A file is taken apart whole or not at all: one thing in it that is not understood refuses the file.
3. A document is read by a table of its members, and one that is not in the table refuses it: what is rendered
   later is the whole of it. Raw evidence may hold more than is read: all of it survives in the artifact.
4. Every refusal names the place in the file, what was expected there and what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from anvil.ledger.errors import CollectorError
from anvil.ledger.events import Event
from anvil.ledger.events.imports import IdentityField, Nature
from anvil.ledger.rowtable import RowTable


class ImportRefused(CollectorError):
    """A file cannot be imported; nothing of it was recorded."""


@dataclass(frozen=True)
class Said:
    """One event that a file gives, and what it is about."""

    event: Event
    candidate: str | None = None
    attempt: str | None = None
    rows: RowTable | None = None
    """What it was measured on, to be kept as its public artifact `rows`."""


@dataclass(frozen=True)
class Taken:
    """A file, taken apart."""

    format: str
    """The file's own name for its shape."""
    nature: Nature
    media_type: str
    date: str | None
    """The day that the file gives for what it is about; null when it gives none."""
    not_said: tuple[IdentityField, ...]
    said: tuple[Said, ...]
    withheld: tuple[IdentityField, ...] = ()
    """What would tell what was tested and stays in the file, for want of a type by which it may be published."""


class Importer(Protocol):
    """One kind of file."""

    @property
    def kind(self) -> str:
        """What it is called on the command line and in the event: a label."""

    @property
    def knows(self) -> Sequence[str]:
        """The formats that it reads, for messages."""

    def recognises(self, content: bytes) -> bool:
        """Say whether a file calls itself one of this kind; whether it is sound is found out by taking it apart."""

    def take_apart(self, content: bytes, digest: str) -> Taken:
        """Return what a file states; `digest` is how its statements name it.

        Raises:
            ImportRefused: something in it is not what it must be.
        """
