"""Objects of evidence files, member by member: what is asked for must be what it must be, what is not stays unread.

1. A member that is absent and one that is null are the same: not said.
2. A member that is there and of another kind refuses the file, with its place.
3. Words of a file are taken only as far as a public type holds them; `withheld` says which were not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from anvil.collectors.importers.interface import ImportRefused
from anvil.collectors.importers.reading import Number, found, shown
from anvil.ledger.events import explain
from anvil.ledger.public import MAX_INTEGER, NumberText, Place

_NUMBER: TypeAdapter[str] = TypeAdapter(NumberText)
_PLACE: TypeAdapter[str] = TypeAdapter(Place)


@dataclass(frozen=True)
class Fields:
    """One object of a file, and its place there."""

    members: Mapping[str, Any]
    place: str = "$"

    @classmethod
    def of(cls, value: Any, place: str = "$") -> Fields:
        """Return an object.

        Raises:
            ImportRefused: it is none, or lies deeper than a place can say.
        """
        if not isinstance(value, dict):
            raise ImportRefused(f"{place}: expected an object, found {found(value)}")
        return cls(value, checked_place(place))

    def has(self, name: str) -> bool:
        """Say whether a member is there and not null."""
        return self.members.get(name) is not None

    def text(self, name: str) -> str | None:
        """Return a text.

        Raises:
            ImportRefused: it is none.
        """
        value = self.members.get(name)
        if value is None or type(value) is str:
            return value
        raise self._expected(name, "text")

    def truth(self, name: str) -> bool | None:
        """Return true or false.

        Raises:
            ImportRefused: it is neither.
        """
        value = self.members.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise self._expected(name, "true or false")

    def number(self, name: str) -> str | None:
        """Return a number from 0 as the file spells it: times, sizes, counts and rates are never negative.

        Raises:
            ImportRefused: it is none, or too long to be recorded.
        """
        value = self.members.get(name)
        if value is None:
            return None
        if not isinstance(value, Number) or value.startswith("-"):
            raise self._expected(name, "a number from 0")
        return checked_number(value, f"{self.place}.{name}")

    def count(self, name: str) -> int | None:
        """Return a whole number from 0.

        Raises:
            ImportRefused: it is none.
        """
        value = self.members.get(name)
        if value is None:
            return None
        is_whole = isinstance(value, Number) and value.isascii() and value.isdecimal() and len(value) <= 16
        if not is_whole or int(value) > MAX_INTEGER:
            raise self._expected(name, "a whole number from 0")
        return int(value)

    def moment(self, name: str) -> str | None:
        """Return a moment in ISO 8601 with its offset as one in UTC with microseconds.

        Raises:
            ImportRefused: it is none.
        """
        text = self.text(name)
        if text is None:
            return None
        try:
            when = datetime.fromisoformat(text)
            if when.tzinfo is None:
                raise ValueError
            return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
        except (ValueError, OverflowError):
            raise self._expected(name, "a moment like 2026-03-04T05:06:07Z") from None

    def part(self, name: str) -> Fields:
        """Return an object; an empty one when it is not said.

        Raises:
            ImportRefused: it is none.
        """
        value = self.members.get(name)
        return Fields.of({} if value is None else value, f"{self.place}.{name}")

    def parts(self, name: str) -> list[Fields]:
        """Return a list of objects; an empty one when it is not said.

        Raises:
            ImportRefused: it is none.
        """
        return [Fields.of(item, place) for place, item in self.items(name)]

    def items(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield the items of a list, each with its place.

        Raises:
            ImportRefused: it is none.
        """
        value = self.members.get(name)
        if not isinstance(value, list | None):
            raise self._expected(name, "a list")
        yield from ((f"{self.place}.{name}[{number}]", item) for number, item in enumerate(value or ()))

    def texts(self, name: str) -> list[str]:
        """Return a list of texts.

        Raises:
            ImportRefused: it is none.
        """
        made = []
        for place, item in self.items(name):
            if type(item) is not str:
                raise ImportRefused(f"{place}: expected text, found {found(item)}")
            made.append(item)
        return made

    def required(self, name: str) -> Any:
        """Return a member that must be said.

        Raises:
            ImportRefused: it is not.
        """
        if not self.has(name):
            what = "null" if name in self.members else "missing"
            raise ImportRefused(f"{self.place}: the member {name!r} is {what}, and must be given")
        return self.members[name]

    def needed_count(self, name: str) -> int:
        """Return a whole number that must be said."""
        self.required(name)
        return self.count(name) or 0

    def needed_text(self, name: str) -> str:
        """Return a text that must be said."""
        self.required(name)
        return self.text(name) or ""

    def needed_truth(self, name: str) -> bool:
        """Return true or false that must be said."""
        self.required(name)
        return bool(self.truth(name))

    def _expected(self, name: str, what: str) -> ImportRefused:
        return ImportRefused(f"{self.place}.{name}: expected {what}, found {found(self.members.get(name))}")


def checked_number(value: Number, place: str) -> str:
    """Return a number of a file as its text.

    Raises:
        ImportRefused: it is too long to be recorded.
    """
    try:
        return _NUMBER.validate_python(str(value))
    except ValidationError:
        raise ImportRefused(
            f"{place}: {found(value)} cannot be recorded",
            advice="Numbers have at most 18 digits before the point, 30 after it and 3 in the exponent.",
        ) from None


def checked_place(place: str) -> str:
    """Return a place as events can name it.

    Raises:
        ImportRefused: they cannot.
    """
    try:
        return _PLACE.validate_python(place)
    except ValidationError:
        raise ImportRefused(f"{shown(place)} is no place that can be named") from None


@lru_cache(maxsize=64)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def public(text: str | None, *kinds: Any) -> str | None:
    """Return a text of a file if one of these public types holds it, else None."""
    for kind in kinds if text is not None else ():
        try:
            _adapter(kind).validate_python(text, strict=True)
        except ValidationError:
            continue
        return text
    return None


def label(text: str) -> str | None:
    """Return a name of a file as a label: lower case, blanks and other characters as `-`; None when nothing is left."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text[:200].lower())
    words = "-".join(word for word in kept.split("-") if word).lstrip("._-")
    return words[:64] or None


def needed_label(text: str, place: str) -> str:
    """Return a name of a file as a label.

    Raises:
        ImportRefused: nothing of it can be one.
    """
    made = label(text)
    if made is None:
        raise ImportRefused(f"{place}: {shown(text)} is no name: nothing of it is a-z 0-9 . _ -")
    return made


def refused(place: str, error: ValidationError, private: Sequence[str] = ()) -> ImportRefused:
    """Return the refusal of something at a place that our types do not hold."""
    return ImportRefused(f"{place}: {explain(error, private)}")
