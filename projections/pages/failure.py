"""The candidate failure as a page reads it: what failed, and which attempts were not checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anvil.projections.pages.matrix import Cell, judged
from anvil.projections.pages.verdicts import explained
from anvil.projections.pages.view import items

_CHECKS = ("preflight_default", "preflight_no_thinking")


def parts(document: Mapping[str, Any], _limits: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the layout prints besides the document's leaves."""
    attempts = items(document["attempts"])
    return {
        "attempts": attempts,
        "verdicts": explained([document["status"].text]),
        "matrix_rows": [_outcomes(attempt) for attempt in attempts],
        "unchecked": [
            number
            for number, attempt in enumerate(attempts, 1)
            if not any(name in attempt for name in _CHECKS)
        ],
    }


def _outcomes(attempt: Mapping[str, Any]) -> tuple[Cell | None, ...]:
    """Return health and both kinds of checks as cells of the matrix. Health is a status, and no outcome."""
    checks = (judged(attempt[name]) if name in attempt else None for name in _CHECKS)
    return (Cell(attempt["health"], "said"), *checks)
