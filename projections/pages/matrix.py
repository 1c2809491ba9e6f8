"""A matrix: which checks and suites passed, one line for each, one column for each candidate or attempt.

1. A cell is a figure of the document and the mark that its own text gives it: `passed`, `failed`, `incomplete`, or
   `said` where it is put in words that are not judged here.
2. A count such as `5/6` has passed when all of them did; text behind it does not change that. Where its rule says that
   something came to no verdict (`anvil.projections.unfinished`), the mark is that of the verdict there, and how much is
   incomplete stands beside the count. Of nothing, `0/0`, nothing is judged.
3. A cell without a figure is empty. It is no failure: the document says nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from anvil.projections.pages.view import Shown
from anvil.projections.unfinished import unfinished

Mark = Literal["passed", "failed", "incomplete", "said"]

_COUNT = re.compile(r"^([0-9]+)/([0-9]+)(?![0-9/])")
_WORDS: Mapping[str, Mark] = {
    "passed": "passed",
    "all passed": "passed",
    "failed": "failed",
    "incomplete": "incomplete",
}
_INCOMPLETE = re.compile(r"\bincomplete\b")


@dataclass(frozen=True)
class Cell:
    """One outcome. `is_listed` when the document lists the check's name and no outcome of its own."""

    figure: Shown
    mark: Mark
    is_listed: bool = False
    beside: str = ""
    """What of the count is incomplete, where its own text does not say so."""


@dataclass(frozen=True)
class Matrix:
    """Lines by name, each with one cell for each column, or None (rule 3)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]


def judged(figure: Shown) -> Cell:
    """Return a figure with the mark that its text gives it, or its rule (rules 1 and 2)."""
    if figure.is_null:
        return Cell(figure, "said")
    left = unfinished(figure.rule)
    if left is None:
        return Cell(figure, mark_of(figure.text))
    told = f"{left.incomplete} incomplete" if left.incomplete else "incomplete"
    return Cell(figure, left.verdict, beside="" if _INCOMPLETE.search(figure.text) else told)


def listed(figure: Shown) -> Cell:
    """Return the name of a check in a list of those that passed."""
    return Cell(figure, "passed", is_listed=True)


def mark_of(text: str) -> Mark:
    """Return the mark that a text gives itself."""
    if found := _COUNT.match(text):
        passed, of = int(found[1]), int(found[2])
        return "said" if of == 0 else "passed" if passed == of else "failed"
    return _WORDS.get(text, "said")


def matrix(columns: Mapping[str, Mapping[str, Cell]]) -> Matrix:
    """Return cells by column and line as a matrix; lines in the order in which they come up first."""
    names = dict.fromkeys(name for cells in columns.values() for name in cells)
    rows = tuple((name, tuple(cells.get(name) for cells in columns.values())) for name in names)
    return Matrix(tuple(columns), rows)
