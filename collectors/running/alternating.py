"""In which order runs are carried out where two protocols are compared: alternately, so that drift cancels.

1. The two protocols of an experiment are carried out together, in the place of the first of them; any other one by
   itself. Where only one of the two has cells left, it is by itself as well.
2. Together they go cell by cell. The first run of a cell is the control's, then the treatment's; the second the
   treatment's, then the control's, and so on. What gets slower or faster all the time does so on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anvil.collectors.protocols import Cell
from anvil.collectors.running.declaring import SelectedCells


def together(
    selected: Sequence[SelectedCells], pairs: Sequence[tuple[str, str]]
) -> Iterator[tuple[SelectedCells, ...]]:
    """Yield protocols that are carried out together, the control first (rule 1)."""
    by_name = {chosen.protocol.name: chosen for chosen in selected}
    whole = {name: pair for pair in pairs if {*pair} <= by_name.keys() for name in pair}
    done: set[str] = set()
    for name in by_name:
        if name not in done:
            names = whole.get(name, (name,))
            done.update(names)
            yield tuple(by_name[one] for one in names)


def side_by_side(group: Sequence[SelectedCells]) -> Iterator[tuple[tuple[int, Cell], ...]]:
    """Yield the cells of each name: which of the group has it, and the cell."""
    names = dict.fromkeys(cell.name for chosen in group for cell in chosen.cells)
    for name in names:
        yield tuple(
            (at, cell) for at, chosen in enumerate(group) for cell in chosen.cells if cell.name == name
        )


def turns(runs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield which side is next and the number of its run, for as many runs as each side has (rule 2)."""
    sides = range(len(runs))
    for number in range(1, max(runs, default=0) + 1):
        for at in sides if number % 2 else reversed(sides):
            if number <= runs[at]:
                yield at, number
