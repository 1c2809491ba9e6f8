"""The chain behind one leaf: from the published value through each step down to fields of events.

What is printed of it is bounded: a figure made of thousands of rows shows the first of them and says
how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from anvil.projections.environment import Leaf
from anvil.projections.figures import Figure

MOST_PARTS = 40
"""Parts of one step that are shown."""


def steps(leaf: Leaf) -> dict[str, Any]:
    """Return the chain of a leaf as JSON values: `from` made it, `because` decided that it is shown."""
    own = leaf.figures[: 0 if leaf.kind == "empty" else 1]
    around = dict.fromkeys(figure for figure in leaf.figures if figure not in own)
    return {"from": [_step(figure) for figure in own], "because": [_step(figure) for figure in around]}


def _step(figure: Figure) -> dict[str, Any]:
    step: dict[str, Any] = {"rule": figure.rule, "value": _value(figure), "status": figure.status}
    if figure.parts:
        step["parts"] = [_step(part) for part in figure.parts[:MOST_PARTS]]
        if len(figure.parts) > MOST_PARTS:
            step["parts_not_shown"] = len(figure.parts) - MOST_PARTS
    else:
        step["events"] = sorted(figure.support.events)
    return step


def _value(figure: Figure) -> Any:
    return figure.value if isinstance(figure.value, str | int | None) else str(figure.value)


class Line(NamedTuple):
    """One line of a chain: how deep it stands, what it says, and on which events it rests, by index."""

    level: int
    said: str
    events: tuple[int, ...] = ()


def lines(chain: list[dict[str, Any]], indices: dict[str, int], level: int = 1) -> Iterator[Line]:
    """Yield a chain line by line; events by their index in the ledger at hand."""
    for step in chain:
        events = tuple(indices[event] for event in step.get("events", ()))
        yield Line(level, f"{step['rule']} = {_spelled(step['value'])}", events)
        yield from lines(step.get("parts", []), indices, level + 1)
        if more := step.get("parts_not_shown"):
            yield Line(level + 1, f"… and {more} more")


def _spelled(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
