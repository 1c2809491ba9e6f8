"""How long answers were, where they stand beside each other: times of whole answers are compared by readers.

1. The length of an answer is its output tokens, as the endpoint counted them; a cell's is the mean over all requests
   that completed.
2. It is said where the shortest and the longest of those side by side differ by more than two percent of the shortest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from anvil.ledger.statistics import mean, rounded
from anvil.projections.measurements import Cell

_CLOSE = 2


def differing(cells: Iterable[tuple[str, Cell]]) -> Iterator[str]:
    """Yield for each load of which answers had different lengths how long they were, by what each cell is of."""
    found: dict[str, dict[str, Fraction]] = {}
    for name, cell in cells:
        if (length := _mean(cell)) is not None:
            found.setdefault(f"{cell.protocol} {cell.cell}", {})[name] = length
    for load, lengths in found.items():
        least, most = min(lengths.values()), max(lengths.values())
        if (most - least) * 100 > least * _CLOSE:
            told = ", ".join(f"{name} {rounded(length, 1)}" for name, length in lengths.items())
            yield (
                f"Answers of different lengths, {load}: {told} output tokens on average. Times of whole answers are of "
                "different amounts of work."
            )


def _mean(cell: Cell) -> Fraction | None:
    rows = [row for run in cell.runs for row in run.rows if row.outcome == "completed"]
    found = mean([row.completion_tokens for row in rows if row.completion_tokens is not None])
    return None if found is None else Fraction(found)
