"""Two sides next to each other: what may be compared, what may not and why, and how sure a difference is."""

from __future__ import annotations

from anvil.projections.comparing.comparison import Comparison, Pair, Shown, beside, compare
from anvil.projections.comparing.differences import Difference, differences
from anvil.projections.comparing.engines import Acceptance, Cache
from anvil.projections.comparing.experiments import Experiment
from anvil.projections.comparing.importedobstacles import NOT_STATED, UNKNOWN, Unknown
from anvil.projections.comparing.obstacles import Obstacle
from anvil.projections.comparing.sides import Side, side

__all__ = [
    "NOT_STATED",
    "UNKNOWN",
    "Acceptance",
    "Cache",
    "Comparison",
    "Difference",
    "Experiment",
    "Obstacle",
    "Pair",
    "Shown",
    "Side",
    "Unknown",
    "beside",
    "compare",
    "differences",
    "side",
]
