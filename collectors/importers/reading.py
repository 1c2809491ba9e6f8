"""Reading JSON of other people: strict, bounded, and with numbers as the characters they were written in.

1. One JSON value, UTF-8, no byte order mark, nothing after it. NaN and Infinity are no JSON. A name that
   comes twice in one object is refused: readers differ about which of the two counts.
2. A number stays the text it is in the file: `48.0` is not `48`, and no digit is lost to a float.
3. Size and depth are bounded before anything is built on them.
4. An object is read by a table of its members. What is not in the table, or not of its kind, refuses the
   file, with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any

from pydantic import TypeAdapter, ValidationError

from anvil.collectors.importers.interface import ImportRefused
from anvil.ledger.events import explain
from anvil.ledger.events.imports import StatedValue
from anvil.ledger.header import Subject
from anvil.ledger.public import Place


@dataclass(frozen=True)
class Bounds:
    """How large a file may be."""

    what: str
    size: int
    """Bytes at most."""
    depth: int
    members: int
    """Members of one object or list at most."""
    advice: str


DOCUMENT = Bounds(
    "a document", 1 << 20, 16, 500, "A summary is small. Attach large evidence with `anvil observe --attach`."
)
EVIDENCE = Bounds(
    "a file of evidence", 32 << 20, 16, 200_000, "Import its parts, or attach it to an observation."
)

_PLACE: TypeAdapter[str] = TypeAdapter(Place)


class Number(str):
    """A number as a file spells it."""

    __slots__ = ()


class Kind(Flag):
    """What a member may be."""

    TEXT = auto()
    NUMBER = auto()
    TRUTH = auto()
    NULL = auto()
    TEXTS = auto()


TEXT, NUMBER, TRUTH, NULL, TEXTS = Kind.TEXT, Kind.NUMBER, Kind.TRUTH, Kind.NULL, Kind.TEXTS
SCALAR = TEXT | NUMBER | TRUTH | NULL

_WORDS = {TEXT: "text", NUMBER: "a number", TRUTH: "true or false", NULL: "null", TEXTS: "a list of texts"}


@dataclass(frozen=True)
class Member:
    """A member of an object: its kinds, our name for it, and what a text or number must look like."""

    kind: Kind = TEXT
    named: str | None = None
    pattern: str | None = None
    words: str = ""
    """What the pattern asks for, in words."""
    is_optional: bool = False


def no_constant(name: str) -> Any:
    """Refuse a word that is no JSON.

    Raises:
        ImportRefused: always.
    """
    raise ImportRefused(f"{name} is not a JSON number")


def parse(content: bytes, bounds: Bounds = DOCUMENT, constant: Callable[[str], Any] = no_constant) -> Any:
    """Return the JSON value of a file; numbers are `Number`. `constant` says what NaN and Infinity mean.

    Raises:
        ImportRefused: it is too large, too deep, no UTF-8, no JSON, or no JSON that everybody reads alike.
    """
    if len(content) > bounds.size:
        raise ImportRefused(
            f"it has {len(content)} bytes, {bounds.what} at most {bounds.size}", advice=bounds.advice
        )
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=Number,
            parse_int=Number,
            parse_constant=constant,
        )
    except UnicodeDecodeError as error:
        raise ImportRefused(f"it is not UTF-8: byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ImportRefused(
            f"it is not one JSON value: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    except RecursionError as error:
        raise ImportRefused(f"it is nested more than {bounds.depth} deep") from error
    _require_bounds(value, bounds, 0)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ImportRefused(f"an object has the member {shown(twice)} twice")
    return made


def _require_bounds(value: Any, bounds: Bounds, depth: int) -> None:
    if depth > bounds.depth:
        raise ImportRefused(f"it is nested more than {bounds.depth} deep")
    if isinstance(value, dict | list):
        if len(value) > bounds.members:
            raise ImportRefused(
                f"an object or list has {len(value)} members, at most {bounds.members} are read"
            )
        for item in value.values() if isinstance(value, dict) else value:
            _require_bounds(item, bounds, depth + 1)


def shown(value: object) -> str:
    """Return a value as a message shows it: short, and nothing in it that a terminal would obey."""
    return ascii(str(value)[:60])


def found(value: object) -> str:
    """Return what a value is, in words."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case Number():
            return f"the number {value if len(value) <= 40 else f'{value[:40]}…'}"
        case str():
            return f"the text {shown(value)}"
        case list():
            return "a list"
        case _:
            return "an object"


@dataclass
class Part:
    """One object of a file and its place there. What was read of it is remembered, so that nothing is left over."""

    members: Mapping[str, Any]
    place: str = "$"
    _read: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, value: Any, place: str = "$") -> Part:
        """Return an object as a part.

        Raises:
            ImportRefused: it is none.
        """
        if not isinstance(value, dict):
            raise ImportRefused(f"{place}: expected an object, found {found(value)}")
        return cls(value, place)

    def has(self, name: str) -> bool:
        """Say whether it has a member."""
        return name in self.members

    def below(self, name: str) -> str:
        """Return the place of a member.

        Raises:
            ImportRefused: the name is none that a place can hold.
        """
        place = f"{self.place}.{name}"
        try:
            return _PLACE.validate_python(place)
        except ValidationError:
            raise ImportRefused(
                f"{self.place}: a member is named {shown(name)}; names are a-z 0-9 _ -, at most 64"
            ) from None

    def value(self, name: str, member: Member) -> StatedValue | None:
        """Return a member as a value of a statement, or None when it is absent and may be.

        Raises:
            ImportRefused: it is absent, or not what it must be.
        """
        self._read.add(name)
        if name not in self.members:
            if member.is_optional:
                return None
            raise ImportRefused(f"{self.place}: the member {name!r} is missing")
        return stated(member.named or name, self.members[name], member, self.below(name))

    def values(self, table: Mapping[str, Member]) -> list[StatedValue]:
        """Return the members in `table`, in its order."""
        made = (self.value(name, member) for name, member in table.items())
        return [value for value in made if value is not None]

    def left(self) -> list[str]:
        """Return the names of the members that were not read yet, in the file's order."""
        return [name for name in self.members if name not in self._read]

    def rest(self, member: Member) -> list[StatedValue]:
        """Return every member that was not read yet, in the file's order; `member` says what each may be."""
        made = (self.value(name, member) for name in self.left())
        return [value for value in made if value is not None]

    def some(self, member: Member) -> list[StatedValue]:
        """Return the same as `rest`.

        Raises:
            ImportRefused: there is none, and nothing would be left of the object.
        """
        values = self.rest(member)
        if not values:
            raise ImportRefused(f"{self.place}: expected at least one member, found an empty object")
        return values

    def part(self, name: str) -> Part:
        """Return a member that is an object.

        Raises:
            ImportRefused: it is absent or none.
        """
        self._read.add(name)
        if name not in self.members:
            raise ImportRefused(f"{self.place}: the member {name!r} is missing")
        return Part.of(self.members[name], self.below(name))

    def parts(self) -> list[tuple[str, Part]]:
        """Return every member that was not read yet as an object, by names that are labels."""
        return [(label(name, self.place), self.part(name)) for name in self.left()]

    def items(self, name: str) -> list[tuple[str, Any]]:
        """Return the items of a member that is a list, each with its place.

        Raises:
            ImportRefused: it is absent, or no list.
        """
        self._read.add(name)
        value = self.members.get(name)
        if not isinstance(value, list):
            what = "is missing" if name not in self.members else f"is no list but {found(value)}"
            raise ImportRefused(f"{self.place}: the member {name!r} {what}")
        return [(f"{self.below(name)}[{number}]", item) for number, item in enumerate(value)]

    def done(self, known: Sequence[str] = ()) -> None:
        """Check that nothing is left over.

        Raises:
            ImportRefused: a member is not known.
        """
        left = [name for name in self.left() if name != "schema"]
        if left:
            names = ", ".join(sorted({*self._read, *known}))
            raise ImportRefused(
                f"{self.place}: the member {shown(left[0])} is not known here", advice=f"Known are: {names}."
            )


def stated(name: str, raw: Any, member: Member, place: str) -> StatedValue:
    """Return a value of a file as a value of a statement.

    Raises:
        ImportRefused: it is of another kind, or holds what cannot be published.
    """
    kind = _kind_of(raw)
    if kind is None or kind not in member.kind:
        wanted = " or ".join(_WORDS[one] for one in member.kind)
        raise ImportRefused(f"{place}: expected {wanted}, found {found(raw)}")
    if isinstance(raw, str) and member.pattern is not None and not re.fullmatch(member.pattern, raw):
        raise ImportRefused(f"{place}: expected {member.words}, found {found(raw)}")
    try:
        return StatedValue(
            name=name,
            text=raw if kind is TEXT else None,
            number=str(raw) if kind is NUMBER else None,
            truth=raw if kind is TRUTH else None,
            texts=tuple(raw) if kind is TEXTS else None,
        )
    except ValidationError as error:
        wrong = explain(error, private=("text", "texts", "number", "name"))
        raise ImportRefused(
            f"{place}: {found(raw)} cannot be recorded: {wrong}",
            advice="Texts are one line for publication; numbers are plain decimals of at most 18 digits.",
        ) from error


def _kind_of(raw: Any) -> Kind | None:
    match raw:
        case None:
            return NULL
        case bool():
            return TRUTH
        case Number():
            return NUMBER
        case str():
            return TEXT
        case list() if all(_kind_of(item) is TEXT for item in raw):
            return TEXTS
        case _:
            return None


def label(name: str, place: str) -> str:
    """Return a name of a file that can be the name of a candidate, attempt or cell.

    Raises:
        ImportRefused: it is no label.
    """
    if not Subject.is_label(name):
        raise ImportRefused(f"{place}: {shown(name)} is no name: a-z 0-9 . _ -, at most 64 characters")
    return name
