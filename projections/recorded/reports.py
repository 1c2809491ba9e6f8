"""What engines reported of themselves at start-up, of a candidate or of one attempt.

1. Of several attempts the newest counts; where they reported different numbers, that is said.
2. A number is printed with the characters in which the engine printed it.
3. *Full-window concurrency* is KV tokens divided by the window that the recipe sets: computed, never taken over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from anvil.ledger.events import EngineReported
from anvil.projections.figures import Figure, Printed, Value, derive
from anvil.projections.recorded.campaign import Attempt, Recorded


def reported(recorded: Recorded, attempts: Iterable[Attempt], name: str) -> Figure:
    """Return a figure that engines reported, as it is printed (rules 1 and 2)."""
    found = list(_figures(attempts, name))
    if not found:
        return recorded.nothing(f"no engine reported its {name.replace('_', ' ')}")
    newest = found[-1]
    if isinstance(newest.value, str):
        return derive("a decimal as the engine printed it", _as_printed, newest)
    return newest


def differing(attempts: Iterable[Attempt], name: str) -> list[str]:
    """Return the numbers that attempts reported, when they are not the same (rule 1)."""
    every = list(dict.fromkeys(str(figure.value) for figure in _figures(attempts, name)))
    return every if len(every) > 1 else []


def concurrency(attempt: Attempt) -> Figure | None:
    """Return how many full windows fit at once (rule 3); None when it cannot be said."""
    tokens = next(_figures((attempt,), "kv_capacity_tokens"), None)
    window = _window(attempt)
    if tokens is None or window is None or not window.value:
        return None
    rule = "KV tokens that the engine reported / the window that the recipe sets"
    return derive(rule, Fraction, tokens, window).places(2)


def _figures(attempts: Iterable[Attempt], name: str) -> Iterator[Figure]:
    for attempt in attempts:
        for source in attempt.of(EngineReported):
            for at, figure in enumerate(source.event.figures):
                if figure.name == name and figure.number is not None:
                    yield source.stated("figures", at, "number")


def _window(attempt: Attempt) -> Figure | None:
    if attempt.plan is None:
        return None
    planned, event = attempt.plan
    for at, setting in enumerate(event.settings):
        if setting.name == "context_tokens":
            return planned.stated("settings", at, "value")
    return None


def _as_printed(text: str) -> Value:
    return Printed(text)
