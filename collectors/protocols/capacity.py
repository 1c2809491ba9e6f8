"""`capacity`: a closed loop of equal requests, a cell for each concurrency; `shared-prefix`: on one prefix.

1. Each prompt has the wanted number of tokens and begins with a salt of its own, so that no two share more
   than the chat template puts before them. With `shared-prefix` the first tokens are the same in all prompts of
   a run, and the salt comes after them.
2. A warm-up has as many requests as the cell has streams, and at least two, unless the recipe says otherwise:
   the engine has then met the shapes of the cell, and two in a row show what the chat template leaves in the
   cache.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from anvil.collectors.load.prompts import Wanted, size_prompts
from anvil.collectors.protocols.interface import (
    NOTHING_MORE,
    Cell,
    Concluded,
    Phase,
    ProtocolContext,
    ProtocolParameters,
    RunPlan,
    RunSeen,
    SeveralStreams,
    Tokens,
)
from anvil.collectors.protocols.sized import plan_of
from anvil.ledger.events.load import CacheState, ProtocolKind


class CapacityParameters(ProtocolParameters):
    """Parameters of `capacity`."""

    input_tokens: Tokens
    """How many prompt tokens each request is to have."""
    concurrency: SeveralStreams = (1,)
    """How many requests at once; several are as many cells."""
    requests: Annotated[int, Field(ge=1, le=100_000)] = 10
    """How many requests a run has."""
    runs: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many runs a cell has."""
    warmup_requests: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """How many requests come before the runs and are in no figure; as many as there are streams, and at least two, when left out."""
    ignore_eos: bool = False
    """Whether the engine is asked to go on to the cap."""

    @property
    def most_tokens(self) -> int:
        """The most tokens that prompt and answer of one request may have together."""
        return self.input_tokens + self.output_tokens


class SharedPrefixParameters(CapacityParameters):
    """Parameters of `shared-prefix`."""

    shared_prefix_tokens: Tokens
    """How many of the prompt tokens are the same at the start of all prompts of a run."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.shared_prefix_tokens >= self.input_tokens:
            raise ValueError("shared_prefix_tokens must be fewer than input_tokens")
        return self


class Capacity:
    """The protocol `capacity`."""

    id: ProtocolKind = "capacity"
    version = 1
    parameters: type[CapacityParameters] = CapacityParameters

    def cells(self, parameters: CapacityParameters) -> tuple[Cell, ...]:
        """Return a cell for each concurrency."""
        shared = shared_tokens(parameters)
        state: CacheState = "shared_within_run" if shared else "cold"
        return tuple(
            Cell(
                name=f"c{streams}",
                concurrency=streams,
                requests=parameters.requests,
                runs=parameters.runs,
                output_cap_tokens=parameters.output_tokens,
                warmup_requests=max(2, streams)
                if parameters.warmup_requests is None
                else parameters.warmup_requests,
                input_target_tokens=parameters.input_tokens,
                ignores_eos=parameters.ignore_eos,
                shared_prefix_tokens=shared,
                cache_wanted=state,
            )
            for streams in parameters.concurrency
        )

    async def plan(
        self, ctx: ProtocolContext[CapacityParameters], cell: Cell, phase: Phase, number: int
    ) -> RunPlan:
        """Make the requests of one run."""
        count = cell.warmup_requests if phase == "warm-up" else cell.requests
        seed = ctx.seed_for(cell.name, phase, number)
        wanted = Wanted(ctx.parameters.input_tokens, seed, ctx.name, shared_tokens(ctx.parameters))
        sized = await size_prompts(wanted, range(count), ctx.tokens)
        return plan_of(ctx, cell, sized, seed)

    def conclude(
        self, ctx: ProtocolContext[CapacityParameters], cell: Cell, plan: RunPlan, seen: RunSeen
    ) -> Concluded:
        """Say nothing more: the rows have it all."""
        del ctx, cell, plan, seen
        return NOTHING_MORE


class SharedPrefix(Capacity):
    """The protocol `shared-prefix`."""

    id: ProtocolKind = "shared-prefix"
    parameters: type[CapacityParameters] = SharedPrefixParameters


def shared_tokens(parameters: CapacityParameters) -> int:
    """Return how many tokens at the start all prompts of a run share; 0 for `capacity`."""
    return parameters.shared_prefix_tokens if isinstance(parameters, SharedPrefixParameters) else 0
