"""From prompts of a wanted length to the plan of a run: a request for each, and how their lengths were found."""

from __future__ import annotations

from typing import Any

from anvil.collectors.load.prompts import Sized
from anvil.collectors.protocols.interface import Cell, ProtocolContext, RunPlan
from anvil.ledger.events.checks import Parameter


def plan_of(
    ctx: ProtocolContext[Any], cell: Cell, sized: Sized, seed: int, schedule: tuple[int, ...] | None = None
) -> RunPlan:
    """Return the run in which each of these prompts is sent once, in their order or by `schedule`."""
    return RunPlan(
        requests=tuple(
            ctx.request(index, prompt.messages, cell.output_cap_tokens, ignore_eos=cell.ignores_eos)
            for index, prompt in enumerate(sized.prompts)
        ),
        seed=seed,
        prompts=sized.prompts,
        observed=_told(sized),
        schedule=schedule,
    )


def _told(sized: Sized) -> tuple[Parameter, ...]:
    """Return how the lengths of prompts were found, as an event lists it."""
    found = [Parameter(name="prompt_length_basis", value=sized.basis)]
    if sized.source is not None:
        found.append(Parameter(name="token_source", value=sized.source))
    if sized.shared_tokens is not None:
        found.append(Parameter(name="shared_tokens_counted", value=sized.shared_tokens))
    return tuple(found)
