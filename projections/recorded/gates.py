"""Restoration gates: each as it stood after the campaign, and what a gate's name makes of it.

1. The newest comparison of a gate counts. A gate that was only recorded before was not compared: `not_compared`.
2. A gate whose name is a claim is printed as the truth of it: `…_restored` is true when it passed, `…_changed`
   is false when it passed. Of memory what was measured is printed, in bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.ledger.events import RestorationChecked
from anvil.projections.figures import Figure, Group, derive
from anvil.projections.recorded.campaign import Of, Recorded


def gates(recorded: Recorded) -> list[tuple[Figure, Group]]:
    """Return each gate by name with its outcome."""
    newest = _newest(recorded)
    return [(gate.stated("gate"), _group(gate)) for gate in newest.values()]


def failed(recorded: Recorded) -> Iterator[str]:
    """Yield the gates that did not pass: what is printed of some does not show it."""
    for name, gate in _newest(recorded).items():
        if gate.event.outcome == "recorded":
            yield f"Restoration, {name}: recorded before, and not compared after."
        elif gate.event.outcome != "passed":
            yield f"Restoration, {name}: {gate.event.outcome}."


def _newest(recorded: Recorded) -> dict[str, Of[RestorationChecked]]:
    newest: dict[str, Of[RestorationChecked]] = {}
    for gate in recorded.about(RestorationChecked):
        if gate.event.outcome != "recorded" or gate.event.gate not in newest:
            newest[gate.event.gate] = gate
    return newest


def _group(gate: Of[RestorationChecked]) -> Group:
    return Group({"name": gate.stated("gate"), "outcome": _outcome(gate)})


def _outcome(gate: Of[RestorationChecked]) -> Figure:
    event, outcome = gate.event, gate.stated("outcome")
    if event.outcome == "recorded":
        return derive("recorded before, and not compared after", lambda _: "not_compared", outcome)
    if event.outcome == "incomplete":
        return outcome
    if event.kind == "memory" and isinstance(event.value, int):
        return gate.stated("value")
    if event.gate.endswith("_restored"):
        return derive("a gate of that name passed", lambda word: word == "passed", outcome)
    if event.gate.endswith("_changed"):
        return derive("a gate of that name did not pass", lambda word: word != "passed", outcome)
    return outcome
