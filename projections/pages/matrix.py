"""A matrix: which checks and suites passed, one line for each, one column for each candidate or attempt.

1. A cell is a figure of the document and the mark that its own text gives it: `passed`, `failed`, or `said`
   where it is put in words that are not judged here.
2. A count such as `5/6` has passed when all of them did. Text behind it does not change that.
3. A cell without a figure is empty. It is no failure: the document says nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from anvil.projections.pages.view import Shown

Mark = Literal["passed", "failed", "said"]

_COUNT = re.compile(r"^([0-9]+)/([0-9]+)(?![0-9/])")
_PASSED = frozenset({"passed", "all passed"})


@dataclass(frozen=True)
class Cell:
    """One outcome. `is_listed` when the document lists the check's name and no outcome of its own."""

    figure: Shown
    mark: Mark
    is_listed: bool = False


@dataclass(frozen=True)
class Matrix:
    """Lines by name, each with one cell for each column, or None (rule 3)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]


def judged(figure: Shown) -> Cell:
    """Return a figure with the mark that its text gives it (rules 1 and 2)."""
    return Cell(figure, mark_of(figure.text) if not figure.is_null else "said")


def listed(figure: Shown) -> Cell:
    """Return the name of a check in a list of those that passed."""
    return Cell(figure, "passed", is_listed=True)


def mark_of(text: str) -> Mark:
    """Return the mark that a text gives itself."""
    if found := _COUNT.match(text):
        return "passed" if int(found[1]) == int(found[2]) > 0 else "failed"
    if text in _PASSED:
        return "passed"
    return "failed" if text == "failed" else "said"


def matrix(columns: Mapping[str, Mapping[str, Cell]]) -> Matrix:
    """Return cells by column and line as a matrix; lines in the order in which they come up first."""
    names = dict.fromkeys(name for cells in columns.values() for name in cells)
    rows = tuple((name, tuple(cells.get(name) for cells in columns.values())) for name in names)
    return Matrix(tuple(columns), rows)
