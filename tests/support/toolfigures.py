"""Figures of the tools' files, computed in floats and written down anew, beside those of imported events."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from anvil.ledger.events import LoadImported
from anvil.ledger.events.results import SourceStatistic
from anvil.ledger.rowtable import RowTable
from support.toolfiles import loads

QUANTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)
Values = list[float]


def linear(found: Values, q: float) -> float:
    """Numpy's default percentile, written down anew."""
    ordered = sorted(found)
    at = q / 100 * (len(ordered) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


def nearest(found: Values, q: float) -> float:
    """The first value at which q per cent of all are reached."""
    ordered = sorted(found)
    return next(value for number, value in enumerate(ordered, 1) if number * 100 >= q * len(ordered))


def mean(found: Values) -> float:
    return math.fsum(found) / len(found)


def one(content: bytes) -> tuple[LoadImported, RowTable]:
    ((event, rows),) = loads(content)
    assert rows is not None
    return event, rows


def figures(event: LoadImported) -> Mapping[str, SourceStatistic]:
    return {figure.called: figure for figure in event.statistics}


def compare(event: LoadImported, expected: Mapping[str, float]) -> None:
    """Check that each figure is there, is what the raw file's values give, and was made again by the importer."""
    found = figures(event)
    for called, value in expected.items():
        figure = found[called]
        assert figure.number is not None
        assert float(figure.number) == pytest.approx(value, rel=1e-9), called
        assert figure.remade == "same", called
