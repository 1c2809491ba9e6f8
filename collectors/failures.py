"""Why something did not pass: of all that applies, the first in the closed order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from anvil.ledger.events.checks import FailureClass

ORDER: tuple[FailureClass, ...] = get_args(FailureClass)
"""The closed list, the class that decides before all others first."""

_RANK = {name: rank for rank, name in enumerate(ORDER)}


def first(classes: Iterable[FailureClass | None]) -> FailureClass | None:
    """Return the class that decides; null when there is none. Nulls are passed over."""
    return min((name for name in classes if name is not None), key=_RANK.__getitem__, default=None)


def of_status(status: int) -> FailureClass | None:
    """Return the class of an HTTP status; null for a success."""
    if 300 <= status < 400:
        return "redirected"
    return None if 200 <= status < 300 else "http_error"
