"""Which is faster, in lines: figures that several lanes have, sizes that their ladders share, experiments and controls.

1. No difference is computed. Which figure is the faster one is read from the numbers as they are printed, and where
   their intervals meet it is not said.
2. Rungs of two ladders are of one size when both are printed as the same number of prompt tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anvil.projections.pages.comparisons import Comparison, Row
from anvil.projections.pages.metrics import metric
from anvil.projections.pages.view import Shown


@dataclass(frozen=True)
class Side:
    """One figure of a line: whose it is."""

    name: str
    figure: Shown
    unit: str
    word: str
    """`faster`, `fastest` or nothing."""


@dataclass(frozen=True)
class Line:
    """One thing that several have: what it is, and how it is read."""

    words: str
    hint: str
    sides: tuple[Side, ...]
    is_speed: bool


def of_comparison(comparison: Comparison) -> list[Line]:
    """Return a line for each metric that more than one column has."""
    return [_line(row.metric.words, row, comparison.columns) for row in comparison.rows if row.is_compared]


def of_ladders(rungs: Mapping[str, Sequence[tuple[Shown, Shown]]]) -> Iterator[Line]:
    """Yield a line for each size that several ladders have (rule 2), from size and time of each rung."""
    found: dict[str, dict[str, Shown]] = {}
    for name, pairs in rungs.items():
        for size, time in pairs:
            if size.number is not None:
                found.setdefault(size.text, {})[name] = time
    time_to_first = metric("ttft_s")
    for text, times in found.items():
        if time_to_first is not None and len(times) > 1:
            row = Row("ttft_s", time_to_first, tuple(times.values()), ())
            yield _line(f"{time_to_first.words} of {text} prompt tokens", row, tuple(times))


def _line(words: str, row: Row, columns: Sequence[str]) -> Line:
    best = row.fastest
    word = "faster" if sum(cell is not None for cell in row.cells) == 2 else "fastest"
    sides = (
        Side(name, cell, row.metric.unit, word if cell is best else "")
        for name, cell in zip(columns, row.cells, strict=True)
        if cell is not None
    )
    return Line(words, row.metric.hint, tuple(sides), row.metric.is_speed)
