"""Files of tools that name no schema: recognised by members that only they have.

1. A file is one JSON value, or one a line. Of a file of lines each line is an item of a list: the place of the
   third line is `$[2]`.
2. The first object decides: it has all the members of a mark. Whether the rest is sound is found out by taking
   the file apart.
3. Some tools write Infinity where they mean "no limit". It is read, and taken only where an importer asks for
   it; anywhere else it is no number and refuses the file. NaN is no number anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from anvil.collectors.importers.fields import Fields, checked_number
from anvil.collectors.importers.identity import Identity
from anvil.collectors.importers.interface import ImportRefused, Said, Taken
from anvil.collectors.importers.reading import EVIDENCE, Number, found, parse
from anvil.ledger import statistics
from anvil.ledger.rowtable import MEDIA_TYPE

MAX_LINES = 200_000


class Unlimited(str):
    """Infinity in a file: no JSON, and what a tool writes for "no limit"."""

    __slots__ = ()


@dataclass(frozen=True)
class Reading:
    """A file as it is taken apart: its objects, its digest, and what it says of what was tested."""

    objects: Sequence[Fields]
    """One for a JSON file, one a line for a file of lines."""
    source: str
    identity: Identity


@dataclass(frozen=True)
class Results:
    """What was taken from a file."""

    format: str
    """How we call its shape, with its version where it has one."""
    said: Sequence[Said]
    date: str | None = None
    """The day it is about."""


@dataclass(frozen=True)
class Shape:
    """One kind of file of a tool."""

    marks: frozenset[str]
    """Members of the first object that only such a file has, all of them."""
    take: Callable[[Reading], Results]
    is_lines: bool = False


@dataclass(frozen=True)
class ToolImporter:
    """An importer of the files of one tool: its kind, the shapes it reads, and what they are called in messages."""

    kind: str
    knows: Sequence[str]
    shapes: tuple[Shape, ...]

    def recognises(self, content: bytes) -> bool:
        """Say whether a file is of one of the shapes (rule 2)."""
        return self._shape(content) is not None

    def take_apart(self, content: bytes, digest: str) -> Taken:
        """Return what a file holds.

        Raises:
            ImportRefused: it is of no shape that is known, or something in it is not what it must be.
        """
        shape = self._shape(content)
        if shape is None:
            _objects(content, is_lines=all(one.is_lines for one in self.shapes))  # no JSON is said first
            raise ImportRefused(
                "the members of such a file are not in it", advice=f"Known are: {'; '.join(self.knows)}."
            )
        reading = Reading(_objects(content, is_lines=shape.is_lines), digest, Identity(digest))
        results = shape.take(reading)
        identity = reading.identity
        return Taken(
            results.format,
            "raw-evidence",
            MEDIA_TYPE if shape.is_lines else "application/json",
            results.date,
            identity.not_said(),
            (*identity.statements(), *results.said),
            identity.withheld(),
        )

    def _shape(self, content: bytes) -> Shape | None:
        first = _first(content)
        return next((shape for shape in self.shapes if first is not None and shape.marks <= first), None)


@lru_cache(maxsize=2)  # every importer is asked about the same bytes
def _first(content: bytes) -> frozenset[str] | None:
    """Return the members of the first object of a file; null when it begins with none."""
    for piece in (content, content.split(b"\n", 1)[0]):
        try:
            value = parsed(piece)
        except ImportRefused:
            continue
        return frozenset(value) if isinstance(value, dict) else None
    return None


def _objects(content: bytes, *, is_lines: bool) -> list[Fields]:
    """Return the objects of a file, each with its place.

    Raises:
        ImportRefused: it is not what it must be.
    """
    if not is_lines:
        return [Fields.of(parsed(content))]
    if len(content) > EVIDENCE.size:
        raise ImportRefused(
            f"it has {len(content)} bytes, {EVIDENCE.what} at most {EVIDENCE.size}", advice=EVIDENCE.advice
        )
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if len(lines) > MAX_LINES:
        raise ImportRefused(f"it has {len(lines)} lines, at most {MAX_LINES} are read")
    made = []
    for number, line in enumerate(lines):
        try:
            made.append(Fields.of(parsed(line), f"$[{number}]"))
        except ImportRefused as error:
            named = str(error).startswith("$")
            raise ImportRefused(
                str(error) if named else f"line {number + 1}: {error}", advice=error.advice
            ) from error
    if not made:
        raise ImportRefused("it is empty")
    return made


@lru_cache(maxsize=2)
def parsed(content: bytes) -> Any:
    """Return the JSON value of a file or a line (rule 3).

    Raises:
        ImportRefused: it is none.
    """
    return parse(content, EVIDENCE, constant)


def constant(name: str) -> Unlimited:
    """Return what a word that is no JSON means (rule 3).

    Raises:
        ImportRefused: it is none that a tool means anything by.
    """
    if name == "Infinity":
        return Unlimited(name)
    raise ImportRefused(f"{name} is not a JSON number")


def number(place: str, item: Any) -> str:
    """Return an item as a number from 0 as the file spells it.

    Raises:
        ImportRefused: it is none.
    """
    if not isinstance(item, Number) or item.startswith("-"):
        raise ImportRefused(f"{place}: expected a number from 0, found {found(item)}")
    return checked_number(item, place)


def whole(place: str, item: Any) -> int:
    """Return an item as a whole number from 0.

    Raises:
        ImportRefused: it is none.
    """
    value = Fields({"it": item}, place).count("it") if isinstance(item, Number) and item.isdecimal() else None
    if value is None:
        raise ImportRefused(f"{place}: expected a whole number from 0, found {found(item)}")
    return value


def as_long(place: str, **lists: Sequence[object]) -> None:
    """Check that lists about the same requests are equally long; one that is not there is empty.

    Raises:
        ImportRefused: they are not.
    """
    first, *others = [(name, len(items)) for name, items in lists.items() if items] or [("", 0)]
    for name, length in others:
        if length != first[1]:
            raise ImportRefused(f"{place}.{name}: expected {first[1]} items like {first[0]}, found {length}")


def moment(part: Fields, name: str) -> str | None:
    """Return seconds of the Unix clock as a moment in UTC, down to a whole microsecond; null when they are not said.

    Raises:
        ImportRefused: they are none.
    """
    spelled = part.number(name)
    return None if spelled is None else moment_of(statistics.exact(spelled), f"{part.place}.{name}")


def moment_of(seconds: Fraction, place: str) -> str:
    """Return seconds of the Unix clock as a moment.

    Raises:
        ImportRefused: they lie outside of the years that can be named.
    """
    whole, rest = divmod(seconds, 1)
    try:
        return f"{datetime.fromtimestamp(int(whole), UTC):%Y-%m-%dT%H:%M:%S}.{int(rest * 10**6):06d}Z".rjust(
            27, "0"
        )
    except (ValueError, OverflowError, OSError):
        raise ImportRefused(f"{place}: expected seconds of the Unix clock, found {int(whole)}") from None
