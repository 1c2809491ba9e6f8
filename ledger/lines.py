"""Lines of NDJSON that are read back as they were written: the base of attempt records and of rows.

A line is canonical JSON (`anvil.ledger.canonical`) and its end. Bytes are spelled in base64.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from anvil.ledger import canonical
from anvil.ledger.errors import MalformedCanonical, MalformedLine
from anvil.ledger.public import MAX_INTEGER

Moment = Annotated[int, Field(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]


def _bytes(value: object) -> object:
    if not isinstance(value, str):
        return value
    raw = base64.b64decode(value, validate=True)
    if _plain(raw) != value:
        raise ValueError("base64 in which unused bits are set")
    return raw


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


AS_TUPLE = BeforeValidator(_tuple)
"""Takes a JSON array where a tuple is meant."""

Bytes = Annotated[bytes, BeforeValidator(_bytes)]
Counts = Annotated[tuple[Count, ...], AS_TUPLE]
Moments = Annotated[tuple[Moment, ...], AS_TUPLE]


class Line(BaseModel):
    """A line of NDJSON that is read back as it was written."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    def spelled(self) -> bytes:
        """Return the line in canonical JSON, its end included.

        Raises:
            MalformedCanonical: a number is too large.
        """
        fields = type(self).model_fields
        members = {fields[name].alias or name: _plain(value) for name, value in self}
        return canonical.spell(members) + b"\n"

    @classmethod
    def read(cls, raw: bytes) -> Self:
        """Return what a line says.

        Raises:
            MalformedLine: it is not such a line.
        """
        try:
            return cls.model_validate(canonical.read(raw))
        except (MalformedCanonical, ValidationError, binascii.Error) as error:
            raise MalformedLine(f"not a line of {cls.__name__}: {error}") from error


def cut(raw: bytes) -> tuple[bytes, ...]:
    """Return the lines of NDJSON, without their ends.

    Raises:
        MalformedLine: there is none, or the last is not whole.
    """
    lines = raw.split(b"\n")
    if len(lines) < 2 or lines.pop():
        raise MalformedLine("the bytes do not end with a whole line")
    return tuple(lines)


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
