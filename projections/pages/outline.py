"""A document in the order in which a page shows it, for documents without a layout of their own.

1. Members that stand side by side, such as candidates, become the columns of one table, so that they can be
   compared line by line. A list of like objects becomes a table with one line for each.
2. Everything else is a figure, a list of figures, or a heading over what follows.
3. Nothing is left out, added or put in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from anvil.projections.pages.view import Shown


@dataclass(frozen=True)
class Block:
    """One thing on a page. Which fields are used follows from its `kind`."""

    kind: Literal["heading", "figure", "list", "table"]
    name: str = ""
    level: int = 0
    """Of a heading: 2 under the title, at most 6."""
    figure: Shown | None = None
    figures: tuple[Shown, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[tuple[Shown, ...], ...]], ...] = ()
    """Each line: its name, and for each column the figures that stand there."""


def outline(document: Mapping[str, Any], level: int = 2) -> list[Block]:
    """Return a document, as `view` gives it, as blocks."""
    side_by_side = [key for key, value in document.items() if _is_record(value)]
    is_table = len(side_by_side) > 1 and len({frozenset(document[key]) for key in side_by_side}) == 1
    made: list[Block] = []
    for key, value in document.items():
        if is_table and key in side_by_side:
            if key == side_by_side[0]:
                made.append(_compared({name: document[name] for name in side_by_side}))
        else:
            made += _blocks(_words(key), value, level)
    return made


def _words(key: str) -> str:
    """Return a key in words; what stands in brackets behind it names somebody, and stays."""
    name, bracket, whose = key.partition(" (")
    return f"{name.replace('_', ' ')}{bracket}{whose}"


def _blocks(name: str, value: Any, level: int) -> list[Block]:
    if isinstance(value, Shown):
        return [Block("figure", name, figure=value)]
    heading = Block("heading", name, min(level, 6))
    if isinstance(value, Mapping):
        return [heading, *outline(value, level + 1)]
    if all(isinstance(item, Shown) for item in value):
        return [heading, Block("list", figures=tuple(value))]
    return [heading, _listed(value)]


def _is_record(value: Any) -> bool:
    """Say whether a value is an object of figures and lists of figures, as a column of a table can show it."""
    return isinstance(value, Mapping) and all(
        isinstance(item, Shown)
        or (isinstance(item, Sequence) and all(isinstance(one, Shown) for one in item))
        for item in value.values()
    )


def _compared(columns: Mapping[str, Mapping[str, Any]]) -> Block:
    first = next(iter(columns.values()))
    rows = tuple(
        (key.replace("_", " "), tuple(_cell(column[key]) for column in columns.values())) for key in first
    )
    return Block("table", columns=tuple(columns), rows=rows)


def _listed(records: Sequence[Mapping[str, Any]]) -> Block:
    keys = list(dict.fromkeys(key for record in records for key in record))
    rows = tuple(
        (str(number), tuple(_cell(record.get(key, ())) for key in keys))
        for number, record in enumerate(records, 1)
    )
    return Block("table", columns=tuple(key.replace("_", " ") for key in keys), rows=rows)


def _cell(value: Any) -> tuple[Shown, ...]:
    return (value,) if isinstance(value, Shown) else tuple(value)
