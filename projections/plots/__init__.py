"""Plots: figures of a document as static SVG, for a page that holds them.

1. What is drawn is what is handed in: points, each with the pointer of its leaf, its status and its value
   as the document prints it. Nothing is computed but where a mark stands.
2. A bar begins at 0, and so do both axes of a ladder. Nothing is smoothed, cut off or left out.
3. What is null is a gap with its reason, never 0.
4. Series differ in pattern or shape, not in colour alone, and each mark has a title of words.
5. Colours are classes of the page, so that a plot is light or dark as the page is. There is no script, no
   font and no picture from elsewhere; the same points give the same bytes (docs/adr/0022).
"""

from __future__ import annotations

from anvil.projections.plots.bars import bars
from anvil.projections.plots.ladder import Rung, ladder
from anvil.projections.plots.patterns import patterns
from anvil.projections.plots.point import Point

__all__ = ["Point", "Rung", "bars", "ladder", "patterns"]
