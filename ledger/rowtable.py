"""Rows of what another tool measured: the public artifact `rows` of imported checks, suites and loads.

1. Rows are NDJSON in canonical JSON: a first line that says what each column is, then one line for each
   request, attempt or observation, in the file's order.
2. A measured value is the text by which the file spells the number; it is computed with as the rational
   that this text is. A column may hold several values a row. What is absent is null, never 0.
3. Of what did not complete no value is a sample: its values are null. A wrong answer that was measured is one.
4. A column has the name of the source beside ours, its unit, and the definition of ours that is meant, if
   one is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from anvil.ledger import canonical, statistics
from anvil.ledger.errors import LedgerError, MalformedCanonical
from anvil.ledger.events import explain
from anvil.ledger.events.base import Facts
from anvil.ledger.events.checks import FailureClass, Outcome
from anvil.ledger.events.results import Quantity, Unit
from anvil.ledger.public import Count, Label, MemberName, MetricId, NumberText, Place, Word

MEDIA_TYPE = "application/x-ndjson"
FORMAT = "anvil.imported.rows/1"

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}

Values = Annotated[tuple[NumberText, ...], Field(strict=False)]


class MalformedRows(LedgerError):
    """Bytes are no rows of an imported measurement."""


class Column(Facts):
    """What a column holds."""

    name: Annotated[Label, Field(pattern=r"^[a-z0-9_]+$")]
    """Our name for it."""
    called: MemberName
    """What the file calls it."""
    unit: Unit
    """What its numbers count."""
    definition: MetricId | None
    """Which metric of ours is meant; null for none."""


class Row(Facts):
    """One request, attempt or observation."""

    index: Count
    """Which, from 0, in the order of the file."""
    position: Place
    """Where in the file."""
    item: Label | None
    """Which item it is of; null when there is one."""
    group: Label | None
    """In which group that is; null for none."""
    repetition: Count | None
    """Which repetition, as the file counts; null when it does not."""
    outcome: Outcome
    """What became of it."""
    failure: FailureClass | None
    """Why it did not pass, where one of our classes is meant."""
    finish_reason: Word | None
    """As the file gives it."""
    values: dict[str, NumberText | Values | None]
    """A value for each column."""


class _Head(Facts):
    form: Literal["anvil.imported.rows/1"] = Field(alias="schema")
    columns: Annotated[tuple[Column, ...], Field(strict=False)]


_ROW: TypeAdapter[Row] = TypeAdapter(Row)


@dataclass(frozen=True)
class RowTable:
    """Columns and rows. Every row has a value, or null, for each column and for nothing else."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        names = {column.name for column in self.columns}
        if len(names) != len(self.columns):
            raise MalformedRows("two columns have one name")
        for row in self.rows:
            if row.values.keys() != names:
                raise MalformedRows(f"row {row.index} has other values than there are columns")

    def encode(self) -> bytes:
        """Return the rows as their bytes (rule 1)."""
        head = {"schema": FORMAT, "columns": [column.model_dump(mode="json") for column in self.columns]}
        lines = (
            canonical.encode(line) for line in (head, *(row.model_dump(mode="json") for row in self.rows))
        )
        return b"".join(line + b"\n" for line in lines)

    @classmethod
    def parse(cls, raw: bytes) -> RowTable:
        """Return the rows that bytes spell.

        Raises:
            MalformedRows: they are none, or are not spelled canonically.
        """
        if not raw.endswith(b"\n"):
            raise MalformedRows("the last line is cut off")
        try:
            head, *lines = (canonical.decode(line) for line in raw[:-1].split(b"\n"))
            columns = _Head.model_validate(head).columns
            return cls(columns, tuple(_ROW.validate_python(line) for line in lines))
        except MalformedCanonical as error:
            raise MalformedRows(str(error)) from error
        except ValidationError as error:
            raise MalformedRows(explain(error)) from error

    def column(self, name: str) -> Column | None:
        """Return a column by our name, or None."""
        return next((column for column in self.columns if column.name == name), None)

    def of(self, what: str | None) -> tuple[Row, ...]:
        """Return the rows of an item or group; null for all."""
        return tuple(row for row in self.rows if what in (None, row.item, row.group))

    def values(self, column: str, what: str | None = None) -> list[Fraction]:
        """Return the values of a column over the rows of an item or group, exact, in their order."""
        found: list[Fraction] = []
        for row in self.of(what):
            value = row.values.get(column)
            texts = () if value is None else (value,) if isinstance(value, str) else value
            found.extend(statistics.exact(text) for text in texts)
        return found

    def count(self, column: str, what: str | None = None) -> int:
        """Return how many values a column has over the rows of an item or group."""
        held = (row.values.get(column) for row in self.of(what))
        return sum(0 if value is None else 1 if isinstance(value, str) else len(value) for value in held)

    def statistic(
        self, name: str, column: str, *, of: str | None = None, wall: Quantity | None = None
    ) -> Fraction | None:
        """Return a statistic of a column by its name, exact; null over nothing, or over a wall time that is unknown.

        Raises:
            NoNumber: there is no such statistic.
        """
        return Samples.of(self.values(column, of)).statistic(name, wall)


@dataclass(frozen=True)
class Samples:
    """Values in their order, as integers of a common part: many statistics of many values, each as exact as before."""

    ordered: tuple[int, ...]
    part: int
    """How many of the integers are 1."""

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> Samples:
        """Return values as samples."""
        part = math.lcm(*{value.denominator for value in values})
        return cls(tuple(sorted(value.numerator * (part // value.denominator) for value in values)), part)

    def statistic(self, name: str, wall: Quantity | None = None) -> Fraction | None:
        """Return a statistic by its name, exact; null over nothing, or over a wall time that is unknown.

        Raises:
            NoNumber: there is no such statistic.
        """
        if name == "sum_over_wall":
            if wall is None or not self.ordered:
                return None
            found: statistics.Number | None = statistics.sum_over_wall(self.ordered, wall_ns(wall))
        else:
            found = statistics.named(name, self.ordered)
        return None if found is None else Fraction(found) / self.part


def converted(value: Fraction, unit: Unit, into: Unit) -> Fraction:
    """Return a time in another unit of time. All else stays as it is."""
    if unit not in _NANOSECONDS or into not in _NANOSECONDS:
        return value
    return value * _NANOSECONDS[unit] / _NANOSECONDS[into]


def wall_ns(wall: Quantity) -> Fraction:
    """Return a wall time in nanoseconds.

    Raises:
        NoNumber: it is no time.
    """
    if wall.unit not in _NANOSECONDS:
        raise statistics.NoNumber(f"a wall time is in ns, us, ms or s, found {wall.unit}")
    return statistics.exact(wall.number) * _NANOSECONDS[wall.unit]


def table(columns: Iterable[Column], rows: Iterable[Mapping[str, object]]) -> RowTable:
    """Return a table of rows that are given by their members; a member that is left out is null.

    Raises:
        MalformedRows: a row is none.
    """
    held = tuple(columns)
    made = []
    for index, given in enumerate(rows):
        members = {name: given.get(name) for name in Row.model_fields}
        given_values = members["values"] if isinstance(members["values"], Mapping) else {}
        values = {column.name: given_values.get(column.name) for column in held}
        try:
            made.append(_ROW.validate_python({**members, "index": index, "values": values}))
        except ValidationError as error:
            raise MalformedRows(f"row {json.dumps(str(members['position']))}: {explain(error)}") from error
    return RowTable(held, tuple(made))
