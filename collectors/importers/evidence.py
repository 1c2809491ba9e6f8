"""JSON files of evidence that name their schema: how they are recognised, and what all of their importers share.

1. A file is recognised by the name of its schema without the version. One of an unknown version is refused by
   the importer that knows its relatives, which says what it knows.
2. What a type of ours does not hold refuses the file, with its place: nothing half is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from anvil.collectors.importers.fields import Fields, public
from anvil.collectors.importers.identity import Identity
from anvil.collectors.importers.interface import ImportRefused, Said, Taken
from anvil.collectors.importers.reading import EVIDENCE, found, parse
from anvil.ledger import canonical
from anvil.ledger.errors import AnvilError
from anvil.ledger.events import Event, build
from anvil.ledger.events.checks import Parameter
from anvil.ledger.public import MAX_INTEGER, DecimalText, Digest, Label, ModelId, Word
from anvil.ledger.rowtable import Column, RowTable, table

SCHEMA_MEMBERS = ("schema", "schema_version")

MAX_FACTS = 48_000
"""Bytes of facts in one event at most; an entry has to hold the header beside them."""

_FAMILY = re.compile(r"[./]v[0-9]+$")

EventT = TypeVar("EventT", bound=Event)


def parsed(content: bytes) -> Any:
    """Return the JSON value of a file of evidence.

    Raises:
        ImportRefused: it is none, or too large.
    """
    found = _once(content)
    if isinstance(found, ImportRefused):
        raise ImportRefused(str(found), advice=found.advice) from found
    return found


@lru_cache(maxsize=1)  # every importer is asked about the same bytes; nothing changes what is returned
def _once(content: bytes) -> Any:
    try:
        return parse(content, EVIDENCE)
    except ImportRefused as error:
        return error


def schema_of(content: bytes) -> str | None:
    """Return how a file names its schema; null when it is no JSON object, or names none."""
    try:
        value = parsed(content)
    except ImportRefused:
        return None
    names = [value.get(member) for member in SCHEMA_MEMBERS] if isinstance(value, dict) else []
    return next((name for name in names if type(name) is str), None)


def family(schema: str) -> str:
    """Return a schema's name without its version."""
    return _FAMILY.sub("", schema)


@dataclass(frozen=True)
class Reading:
    """A file as it is taken apart: its fields, its digest, and what it says of what was tested."""

    part: Fields
    source: str
    identity: Identity


@dataclass(frozen=True)
class Results:
    """What was taken from a file."""

    said: Sequence[Said]
    date: str | None
    """The day it is about."""
    candidate: str | None = None
    attempt: str | None = None


@dataclass(frozen=True)
class JsonEvidence:
    """An importer of raw evidence in JSON: its kind, its schemas, and what takes one apart."""

    kind: str
    shapes: Mapping[str, Callable[[Reading], Results]]

    @property
    def knows(self) -> Sequence[str]:
        """The schemas that it reads."""
        return list(self.shapes)

    def recognises(self, content: bytes) -> bool:
        """Say whether a file names a schema of one of its families (rule 1)."""
        schema = schema_of(content)
        return schema is not None and family(schema) in {family(known) for known in self.shapes}

    def take_apart(self, content: bytes, digest: str) -> Taken:
        """Return what a file holds.

        Raises:
            ImportRefused: it is of no known schema, or something in it is not what it must be.
        """
        part = Fields.of(parsed(content))
        schema = schema_of(content)
        if schema is None or schema not in self.shapes:
            what = "it has no schema" if schema is None else f"its schema is {found(schema)}"
            raise ImportRefused(what, advice=f"Known to {self.kind} are: {', '.join(self.shapes)}.")
        reading = Reading(part, digest, Identity(digest))
        results = self.shapes[schema](reading)
        identity = reading.identity
        said = (*identity.statements(results.candidate, results.attempt), *results.said)
        return Taken(
            schema,
            "raw-evidence",
            "application/json",
            results.date,
            identity.not_said(),
            said,
            identity.withheld(),
        )


def made(cls: type[EventT], place: str, fields: dict[str, Any]) -> EventT:
    """Return an event from what a file says.

    Raises:
        ImportRefused: our types do not hold it, or one event does not.
    """
    try:
        event = build(cls, {"position": place, **fields})
        size = len(canonical.encode(event.facts()))
    except AnvilError as error:
        raise ImportRefused(f"{place}: {error}") from error
    if size > MAX_FACTS:
        raise ImportRefused(f"{place}: what is said of it has {size} bytes, one event at most {MAX_FACTS}")
    return event


def rows(columns: Sequence[Column], given: Sequence[Mapping[str, object]]) -> RowTable | None:
    """Return a table of rows without the columns of which no row has a value; null when there are no rows.

    Raises:
        ImportRefused: a row holds what rows cannot.
    """
    if not given:
        return None
    values = [row["values"] for row in given]
    used = [c for c in columns if any(isinstance(v, Mapping) and v.get(c.name) is not None for v in values)]
    try:
        return table(used, given)
    except AnvilError as error:
        raise ImportRefused(str(error)) from error


def parameter(name: str, value: str | int | bool | None) -> list[Parameter]:
    """Return a parameter as a list of one, or of none when it is not said or no public type holds it."""
    if value is None or (type(value) is int and not 0 <= value <= MAX_INTEGER):
        return []
    if type(value) is str and public(value, DecimalText, Word, Digest, ModelId, Label) is None:
        return []
    try:
        return [Parameter(name=name, value=value)]
    except ValueError:
        return []


def word(text: str | None) -> str | None:
    """Return a finish reason, or another word of a vocabulary, if it is one word."""
    return public(text, Word)


def day(moment: str | None) -> str | None:
    """Return the day of a moment."""
    return None if moment is None else moment[:10]
