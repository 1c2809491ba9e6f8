"""`prefix-cache`: a burst of requests with one long shared prefix, and the same burst again with other endings.

1. *First* is a burst whose prefix the engine has never read; *repeat* follows it at once, with the same prefix
   and other endings, so that all it can reuse is the prefix. Both are cells of one run; `repetitions` are as
   many pairs, each with a prefix of its own.
2. A burst that shares its prefix is never called cold. What each found in the cache is proved for its own run;
   nothing is expected of the repeat, since the same protocol measures engines with and without such a cache.
3. Reuse is shown by cached tokens. Where the endpoint does not report them, the times of first and repeat are
   *timing-based reuse evidence*, and the finding `reuse_by_timing_only` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from anvil.collectors.load.prompts import Wanted, size_prompts
from anvil.collectors.protocols.interface import (
    Cell,
    Concluded,
    Phase,
    ProtocolContext,
    ProtocolParameters,
    RunPlan,
    RunSeen,
    Streams,
    Tokens,
)
from anvil.collectors.protocols.sized import plan_of
from anvil.ledger.events.checks import Parameter
from anvil.ledger.events.load import CacheState, ProtocolKind


class PrefixCacheParameters(ProtocolParameters):
    """Parameters of `prefix-cache`."""

    shared_prefix_tokens: Tokens = 30_000
    """How many prompt tokens all requests of a pair of bursts begin with."""
    ending_tokens: Tokens = 200
    """How many prompt tokens follow them, different in each request."""
    concurrency: Streams = 5
    """How many requests a burst has, all at once."""
    repetitions: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many pairs of bursts there are."""
    output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 64
    """The completion cap of each request."""
    ignore_eos: bool = False
    """Whether the engine is asked to go on to the cap."""

    @property
    def input_tokens(self) -> int:
        """How many prompt tokens each request is to have."""
        return self.shared_prefix_tokens + self.ending_tokens

    @property
    def most_tokens(self) -> int:
        """The most tokens that prompt and answer of one request may have together."""
        return self.input_tokens + self.output_tokens

    @model_validator(mode="after")
    def _has_room_for_a_salt(self) -> Self:
        if self.ending_tokens < 100:
            raise ValueError("ending_tokens must be 100 or more, for a salt and the question")
        return self


class PrefixCache:
    """The protocol."""

    id: ProtocolKind = "prefix-cache"
    version = 1
    parameters = PrefixCacheParameters

    def cells(self, parameters: PrefixCacheParameters) -> tuple[Cell, ...]:
        """Return a cell for each burst: a first one and its repeat, in this order."""
        return tuple(_cells(parameters))

    async def plan(
        self, ctx: ProtocolContext[PrefixCacheParameters], cell: Cell, phase: Phase, number: int
    ) -> RunPlan:
        """Make the requests of a burst; those of a repeat go on counting where the first one stopped."""
        moment, _, pair = cell.name.partition("-")
        seed = ctx.seed_for("pair", pair, phase, number)
        count = cell.warmup_requests if phase == "warm-up" else cell.requests
        begins = cell.requests if moment == "repeat" else 0
        given = ctx.parameters
        wanted = Wanted(given.input_tokens, seed, ctx.name, given.shared_prefix_tokens)
        sized = await size_prompts(wanted, range(begins, begins + count), ctx.tokens)
        return plan_of(ctx, cell, sized, seed)

    def conclude(
        self, ctx: ProtocolContext[PrefixCacheParameters], cell: Cell, plan: RunPlan, seen: RunSeen
    ) -> Concluded:
        """Say by what reuse is shown."""
        del ctx, plan
        done = [row for row in seen.rows if row.outcome == "completed"]
        is_silent = bool(done) and any(row.cached_tokens is None for row in done)
        return Concluded(
            findings=("reuse_by_timing_only",) if cell.name.startswith("repeat") and is_silent else ()
        )


def _cells(parameters: PrefixCacheParameters) -> Iterator[Cell]:
    wanted: dict[str, CacheState] = {"first": "shared_within_run", "repeat": "unknown"}
    for pair in range(1, parameters.repetitions + 1):
        for moment, state in wanted.items():
            yield Cell(
                name=f"{moment}-{pair}",
                concurrency=parameters.concurrency,
                requests=parameters.concurrency,
                runs=1,
                output_cap_tokens=parameters.output_tokens,
                warmup_requests=1 if (moment, pair) == ("first", 1) else 0,
                input_target_tokens=parameters.input_tokens,
                ignores_eos=parameters.ignore_eos,
                shared_prefix_tokens=parameters.shared_prefix_tokens,
                cache_wanted=state,
                parameters=(
                    Parameter(name="burst", value=moment),
                    Parameter(name="pair", value=pair),
                ),
            )
