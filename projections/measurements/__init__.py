"""Measurements: figures that are computed from the rows of recorded load runs, exactly and by named statistics."""

from __future__ import annotations

from anvil.projections.measurements.cells import Cell, LeftOut, Run, are_one_plan, cells, joined
from anvil.projections.measurements.deltas import Delta, Finding, delta
from anvil.projections.measurements.measures import STATISTICS, Counts, Measure, Statistic, measure

__all__ = [
    "STATISTICS",
    "Cell",
    "Counts",
    "Delta",
    "Finding",
    "LeftOut",
    "Measure",
    "Run",
    "Statistic",
    "are_one_plan",
    "cells",
    "delta",
    "joined",
    "measure",
]
