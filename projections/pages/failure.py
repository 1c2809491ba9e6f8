"""The candidate failure as a page reads it: what failed, and what was not checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from anvil.projections.pages.matrix import Cell, judged
from anvil.projections.pages.verdicts import explained
from anvil.projections.pages.view import items

_CHECKS = {"preflight_default": "checks as served", "preflight_no_thinking": "checks with thinking off"}
_UNTESTED = re.compile(r"^(?:Incomplete|Selected, and without a result), of attempt [0-9]+: ")
"""A sentence of the evidence limit that says what came to no verdict."""


def parts(document: Mapping[str, Any], limits: Sequence[str] = ()) -> dict[str, Any]:
    """Return what the layout prints besides the document's leaves."""
    attempts = items(document["attempts"])
    untested = [sentence for sentence in limits if _UNTESTED.match(sentence)]
    return {
        "attempts": attempts,
        "verdicts": explained([document["status"].text]),
        "matrix_rows": [_outcomes(attempt) for attempt in attempts],
        "unchecked": [
            (words, numbers)
            for name, words in _CHECKS.items()
            if (numbers := [number for number, attempt in enumerate(attempts, 1) if name not in attempt])
        ],
        "untested": untested,
        "besides": untested,
        "says_more": _says_more(document["evidence_limit"].text, limits),
    }


def _outcomes(attempt: Mapping[str, Any]) -> tuple[Cell | None, ...]:
    """Return health and both kinds of checks as cells of the matrix. Health is a status, and no outcome."""
    checks = (judged(attempt[name]) if name in attempt else None for name in _CHECKS)
    return (Cell(attempt["health"], "said"), *checks)


def _says_more(text: str, limits: Sequence[str]) -> bool:
    """Say whether the document's own evidence limit says anything that these sentences, which stand on the page, do not."""
    if any(text in sentence for sentence in limits):
        return False
    for sentence in limits:
        text = text.replace(sentence, "", 1)
    return bool(text.strip())
