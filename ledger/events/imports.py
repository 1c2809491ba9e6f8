"""What a file from elsewhere says: the file itself, and its statements one by one.

1. A file is kept whole as the artifact `source` of `import.recorded`; its statements follow in the same
   stream, and are added with it or not at all.
2. A statement is the file's and nobody else's. How strong it is follows from what the file is; what the
   file says about its own evidence is quoted beside it and never taken over.
3. A number is kept as the characters in which the file gives it: `48.0` is not `48`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Facts
from anvil.ledger.public import (
    Count,
    DecimalText,
    Digest,
    EvidenceStatus,
    Label,
    Place,
    PublicText,
    Role,
    SchemaName,
)

_IMPORTER: frozenset[Role] = frozenset({"operator", "collector"})

Topic = Literal[
    "document",
    "limit",
    "hardware",
    "runtime",
    "setting",
    "candidate",
    "attempt",
    "experiment",
    "weights",
    "check",
    "suite",
    "measurement",
    "difference",
    "report",
    "caveat",
    "gap",
    "gate",
    "digest",
    "decision",
]
"""What a statement is about."""

IdentityField = Literal["date", "hardware", "engine", "image", "model", "revision", "recipe"]
"""What somebody needs to know to find out what was tested."""


Nature = Literal["published-document", "raw-evidence"]
"""A published document is somebody's claim about another run; raw evidence is what a tool wrote during one."""


class StatedValue(Facts):
    """One value of a statement. Exactly one of its kinds is there; none is there where the file says null."""

    name: Label
    """What it is, by our name for it: the same name as in documents of what was recorded here."""
    text: PublicText | None
    """Words of the file."""
    number: DecimalText | None
    """A number, as the file spells it."""
    truth: bool | None
    """True or false."""
    texts: Annotated[tuple[PublicText, ...], Field(strict=False)] | None
    """A list of words."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = (self.text, self.number, self.truth, self.texts)
        if sum(kind is not None for kind in kinds) > 1:
            raise ValueError("a value is of one kind")
        return self


class ImportRecorded(Event):
    """A file that was made elsewhere was taken in. It is kept whole, as the artifact `source`."""

    signed_by: ClassVar[frozenset[Role]] = _IMPORTER
    type: Literal["import.recorded/1"] = "import.recorded/1"
    kind: Label
    """Which importer read it: `document`."""
    nature: Nature
    """What kind of file it is: how strong its statements are follows from it."""
    format: SchemaName
    """The file's own name for its shape."""
    digest: Digest
    """The SHA-256 of the file; statements name it by this."""
    size_bytes: Count
    """How large it is."""
    statements: Count
    """How many statements of it follow in this stream."""
    not_said: Annotated[tuple[IdentityField, ...], Field(strict=False)]
    """What would tell what was tested, and is not in the file."""
    withheld: Annotated[tuple[IdentityField, ...], Field(strict=False)]
    """What would tell what was tested, and is in the file in words that are not published: only the file has it."""


class StatementImported(Event):
    """One statement of an imported file. An artifact of it is the raw evidence that the statement names by digest."""

    signed_by: ClassVar[frozenset[Role]] = _IMPORTER
    type: Literal["statement.imported/1"] = "statement.imported/1"
    source: Digest
    """The file."""
    nature: Nature
    """What kind of file it is, as in `import.recorded`."""
    position: Place
    """Where in the file: a JSON path (RFC 9535)."""
    topic: Topic
    """What it is about."""
    name: Label | None
    """Which one of several, by the file's name for it; null when there is one."""
    within: Label | None
    """Of which other thing of the file this is a part, by that thing's name; null for none."""
    claimed_status: EvidenceStatus | None
    """What the file says of the evidence, quoted; null when it says nothing."""
    values: Annotated[tuple[StatedValue, ...], Field(strict=False)]
    """What it says, in the file's order."""

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        names = [value.name for value in self.values]
        if len(set(names)) != len(names):
            raise ValueError("two values of one statement have the same name")
        return self
