"""`near-limit`: the longest prompt that fits the window together with its answer.

1. The prompt has the window's tokens, less the completion cap and a few that engines keep for themselves
   (`spare_tokens`). Where lengths are only reckoned it is one percent shorter, so that it still fits. A recipe
   may state another length (`input_tokens`).
2. Without a known window, or an endpoint that tells counts, nothing is sent: that such a prompt fits must be
   known before.
3. Each run is one request with a salt of its own. Its row has the actual tokens, status, times and rates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from anvil.collectors.load.prompts import Wanted, size_problem, size_prompts
from anvil.collectors.protocols.interface import (
    Cell,
    Concluded,
    Phase,
    ProtocolContext,
    ProtocolParameters,
    RunPlan,
    RunSeen,
    Tokens,
)
from anvil.collectors.protocols.sized import plan_of
from anvil.ledger.errors import CollectorError
from anvil.ledger.events.checks import Parameter
from anvil.ledger.events.load import ProtocolKind


class NearLimitParameters(ProtocolParameters):
    """Parameters of `near-limit`."""

    input_tokens: Tokens | None = None
    """How many prompt tokens each request is to have; the most that fit when left out."""
    output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 128
    """The completion cap of each request."""
    runs: Annotated[int, Field(ge=1, le=1000)] = 3
    """How many runs there are, of one request each."""
    spare_tokens: Annotated[int, Field(ge=0, le=100_000)] = 8
    """How many tokens of the window are left free."""
    ignore_eos: bool = False
    """Whether the engine is asked to go on to the cap."""

    @property
    def most_tokens(self) -> int:
        """The fewest tokens that the window must have; a prompt without a stated length takes what is left."""
        return self.output_tokens + (self.input_tokens or self.spare_tokens + 1)


class NearLimit:
    """The protocol."""

    id: ProtocolKind = "near-limit"
    version = 1
    parameters = NearLimitParameters

    def cells(self, parameters: NearLimitParameters) -> tuple[Cell, ...]:
        """Return its one cell."""
        cell = Cell(
            name="longest",
            concurrency=1,
            requests=1,
            runs=parameters.runs,
            output_cap_tokens=parameters.output_tokens,
            input_target_tokens=parameters.input_tokens,
            ignores_eos=parameters.ignore_eos,
        )
        return (cell,)

    async def plan(
        self, ctx: ProtocolContext[NearLimitParameters], cell: Cell, phase: Phase, number: int
    ) -> RunPlan:
        """Make the longest request that fits.

        Raises:
            CollectorError: the window is not known, leaves no room, or the endpoint tells no counts.
        """
        window, target = _room(ctx)
        seed = ctx.seed_for(cell.name, phase, number)
        sized = await size_prompts(Wanted(target, seed, ctx.name), [0], ctx.tokens)
        if sized.basis == "guessed":
            raise CollectorError(
                "the endpoint tells no token counts, so no prompt near the limit can be made"
            )
        plan = plan_of(ctx, cell, sized, seed)
        facts = (
            Parameter(name="window_tokens", value=window),
            Parameter(name="aimed_tokens", value=target),
        )
        return replace(plan, observed=(*facts, *plan.observed), notes={"target": target})

    def conclude(
        self, ctx: ProtocolContext[NearLimitParameters], cell: Cell, plan: RunPlan, seen: RunSeen
    ) -> Concluded:
        """Say whether the prompt had the size that was aimed at."""
        del ctx, cell
        done = [row.prompt_tokens for row in seen.rows if row.outcome == "completed"]
        problem = size_problem(plan.notes["target"], done) if done else None
        return Concluded(findings=() if problem is None else (f"prompt_size_{problem}",))


def _room(ctx: ProtocolContext[NearLimitParameters]) -> tuple[int, int]:
    """Return the window, and how many tokens the prompt may have."""
    window, given = ctx.under_test.window_tokens, ctx.parameters
    if window is None:
        raise CollectorError(
            "the window is not known, so no prompt near its limit can be made",
            advice="Name `context_tokens` in the engine's or the attempt's settings.",
        )
    if given.input_tokens is not None and given.most_tokens <= window:
        return window, given.input_tokens
    target = window - given.output_tokens - given.spare_tokens
    if ctx.tokens is not None and ctx.tokens.is_reading:
        target = target * 99 // 100
    if target < 1 or given.input_tokens is not None:
        raise CollectorError(
            f"a window of {window} tokens leaves no room for a prompt of {given.input_tokens or 'any'} tokens "
            f"beside {given.output_tokens} for the answer and {given.spare_tokens} spare ones"
        )
    return window, target
