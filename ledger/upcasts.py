"""Upcasts: how facts of an older version are read as facts of the next one.

1. A published version of an event is never edited. A new shape is the next version, and one pure
   step here takes facts of the old shape to the new one.
2. A step sees facts only: no clock, no store, no sealed value. What the old shape did not say
   becomes null; a step never guesses.
3. Steps chain, so that an event of any age reaches today's class. Stored bytes never change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Step = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Facts of one version in, facts of the next out."""

UPCASTS: Mapping[str, tuple[str, Step]] = {}
"""Event type of the older version to the next version's type and the step that leads there."""


def upcast(
    event_type: str, facts: Mapping[str, Any], steps: Mapping[str, tuple[str, Step]] = UPCASTS
) -> tuple[str, dict[str, Any]]:
    """Return the newest type that steps lead to from `event_type`, and the facts in its shape."""
    current = dict(facts)
    while event_type in steps:
        event_type, step = steps[event_type]
        current = step(current)
    return event_type, current
