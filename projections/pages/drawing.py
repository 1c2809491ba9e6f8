"""Drawing: from figures of a page to the points of a plot. It is loaded for an HTML page only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from anvil.projections.pages.comparisons import Comparison, Row
from anvil.projections.pages.lanes import Rung
from anvil.projections.pages.view import WORDS, Shown
from anvil.projections.plots import Point, bars, ladder, patterns
from anvil.projections.plots import Rung as Drawn


@dataclass(frozen=True)
class Drawing:
    """The plots of a page. A name has the same pattern in all of them, by its place in `order`.

    A name that has none there is a variant within one of them, such as a cold and a warm cache, and grey.
    """

    order: Sequence[str]

    def bars(self, comparison: Comparison, row: Row) -> Markup:
        """Return the bars of one metric; a column that has no such figure has no bar."""
        points = [
            self._point(column, number, cell, row.metric.unit, runs)
            for number, (column, cell, runs) in enumerate(
                zip(comparison.columns, row.cells, comparison.runs, strict=True)
            )
            if cell is not None
        ]
        return bars(row.metric.full, points)

    def ladder(self, series: Sequence[tuple[str, Sequence[Rung]]]) -> Markup:
        """Return the ladders of all lanes in one plot."""
        rungs = [
            Drawn(
                self._point(name, number, rung.time, "s", ""),
                rung.size.number,
                rung.outcome.figure.text,
                rung.outcome.mark == "passed",
                rung.outcome.mark == "incomplete",
            )
            for number, (name, members) in enumerate(series)
            for rung in members
        ]
        return ladder(
            "Time to first token by size of the prompt", "prompt tokens", rungs, "time to first token, "
        )

    def functions(self) -> dict[str, Callable[..., Any]]:
        """Return what a layout can call, by name."""
        return {"bars": self.bars, "ladder_plot": self.ladder, "patterns": patterns}

    def _point(self, label: str, number: int, figure: Shown, unit: str, runs: str) -> Point:
        is_variant = bool(self.order) and label not in self.order
        series = number if is_variant or not self.order else self.order.index(label)
        words = (WORDS[figure.status][1], figure.note, figure.pointer)
        return Point(series, label, figure.number, figure.text, unit, figure.status, *words, runs, is_variant)
