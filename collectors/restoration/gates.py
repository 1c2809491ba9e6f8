"""All gates of a recipe: looked at together, and each look as an event.

1. Gates are looked at at the same time, so that a router and the engine behind it are seen in one moment.
2. Before a campaign a gate is `recorded`, with what is already not as the recipe expects.
3. After it a gate passes or fails by its differences. Without a state from before, one that has none is
   `incomplete`: nothing shows that it is as it was. So is one that could not be looked at.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anvil.collectors.cleaning import fitting
from anvil.collectors.recipes.gates import GatePlace, RestorationGate
from anvil.collectors.restoration.containers import Inspect, look_at_container
from anvil.collectors.restoration.http import look_at_endpoint
from anvil.collectors.restoration.local import look_at_command, look_at_file, look_at_memory
from anvil.collectors.restoration.state import Difference, State, differences
from anvil.collectors.withholding import NO_SECRETS, Secrets
from anvil.ledger.events import RestorationChecked

_MAX_TEXT = 400
_NOWHERE = GatePlace()


@dataclass(frozen=True)
class Gates:
    """The gates of a recipe, and where this host has them."""

    gates: Sequence[RestorationGate]
    places: Mapping[str, GatePlace]
    inspect: Inspect
    inspect_image: Inspect
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Secrets = NO_SECRETS

    async def look(self) -> dict[str, State]:
        """Return the state of each gate by its name."""
        states = await asyncio.gather(*(self._one(gate) for gate in self.gates))
        return {gate.gate: state for gate, state in zip(self.gates, states, strict=True)}

    async def _one(self, gate: RestorationGate) -> State:
        place = self.places.get(gate.gate, _NOWHERE)
        match gate.kind:
            case "http":
                return await look_at_endpoint(gate, place, self.environ)
            case "container":
                return await look_at_container(place, self.inspect, self.inspect_image, self.secrets)
            case "command":
                return await look_at_command(place, self.secrets)
            case "file":
                return await asyncio.to_thread(look_at_file, gate, place)
            case "memory":
                return await asyncio.to_thread(look_at_memory)


def recorded(gate: RestorationGate, state: State, direct: State | None) -> RestorationChecked:
    """Return the event for a state before a campaign."""
    found = [] if state.problem else list(differences(gate, state, None, direct))
    return _event(gate, "incomplete" if state.problem else "recorded", state, found)


def compared(
    gate: RestorationGate, state: State, direct: State | None, before: State | None, recorded_as: str | None
) -> RestorationChecked:
    """Return the event for a state after a campaign; `recorded_as` is the entry that recorded the one before."""
    is_known = before is not None and before.problem is None
    found = [] if state.problem else list(differences(gate, state, before, direct))
    if state.problem:
        return _event(gate, "incomplete", state, found, recorded_as)
    if found:
        return _event(gate, "failed", state, found, recorded_as)
    if not is_known:
        return _event(
            gate, "incomplete", State(state.facts, state.value, "no state was recorded before"), found, None
        )
    return _event(gate, "passed", state, found, recorded_as)


def not_compared(gate: RestorationGate, why: str, recorded_as: str | None) -> RestorationChecked:
    """Return the event for a gate that nobody looked at."""
    return _event(gate, "incomplete", State(problem=why), [], recorded_as)


def _event(
    gate: RestorationGate, outcome: str, state: State, found: Sequence[Difference], before: str | None = None
) -> RestorationChecked:
    rows = [["problem", state.problem]] if state.problem else []
    rows += [[d.name, f"expected {d.expected[:_MAX_TEXT]}", f"found {d.found[:_MAX_TEXT]}"] for d in found]
    rows += [[name, text] for name, text in state.facts.items()]
    return RestorationChecked.model_validate(
        {
            "gate": gate.gate,
            "kind": gate.kind,
            "outcome": outcome,
            "differences": tuple(dict.fromkeys(d.name for d in found)),
            "before": before,
            "value": state.value,
            "detail": fitting(rows, longest=_MAX_TEXT * 2) or None,
        }
    )
