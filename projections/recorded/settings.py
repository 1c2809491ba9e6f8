"""Settings that recipes declare: those that all attempts share, and those that one has of its own.

1. A setting is shared when every attempt declares it with the same value. What one attempt does not declare is
   not shared.
2. A decimal is printed with the characters of the recipe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from anvil.projections.figures import Figure, Group, Printed, Value, derive
from anvil.projections.recorded.campaign import Attempt, same

_DECIMAL = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def declared(attempt: Attempt) -> dict[str, Figure]:
    """Return an attempt's settings by name."""
    if attempt.plan is None:
        return {}
    planned, event = attempt.plan
    return {
        setting.name: planned.stated("settings", at, "value") for at, setting in enumerate(event.settings)
    }


def shared(attempts: Sequence[Attempt]) -> dict[str, Figure]:
    """Return what all of several attempts declare alike (rule 1)."""
    every = [declared(attempt) for attempt in attempts if attempt.plan is not None]
    names = [name for name in (every[0] if every else {}) if all(name in one for one in every)]
    found = {name: same("a setting that all attempts share", (one[name] for one in every)) for name in names}
    return {name: figure for name, figure in found.items() if figure is not None}


def named(settings: dict[str, Figure]) -> Iterator[tuple[Figure, Group]]:
    """Yield settings as groups of `name` and `value`, as they are printed."""
    for name, value in settings.items():
        key = derive("a setting's name", lambda *_, name=name: name, value)
        yield key, Group({"name": key, "value": _printed(value)})


def _printed(figure: Figure) -> Figure:
    """Return a setting's value: a decimal as the number that it is (rule 2)."""
    if isinstance(figure.value, str) and _DECIMAL.fullmatch(figure.value):
        return derive("a decimal as the recipe spells it", _as_spelled, figure)
    return figure


def _as_spelled(text: str) -> Value:
    return Printed(text)
