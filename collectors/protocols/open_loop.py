"""`open-loop`: equal requests at the moments of a Poisson process, a cell for each rate.

1. A user does not wait until another one has been answered: what an endpoint keeps up with is seen only when its
   slowness cannot slow the requests. The schedule is drawn before the run, from the run's seed.
2. Prompts are those of `capacity`: of the wanted length, each with a salt of its own at the start.
3. A latency counts from the moment that was intended (`ttft.intended/1`, `e2e.intended/1`) as well as from the one at
   which the request was really sent; how far these are apart is the send lag, and belongs to the client.
4. A run whose requests were on average sent more than 1 % of the mean gap late did not have this rate: it says so.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from anvil.collectors.load.arrivals import poisson
from anvil.collectors.load.prompts import Wanted, size_prompts
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
from anvil.ledger.events.load import ProtocolKind
from anvil.ledger.metrics import send_lag
from anvil.ledger.statistics import exact, mean

_SECOND_NS = 1_000_000_000
_MOST_LATE = Fraction(1, 100)

Rate = Annotated[str, StringConstraints(pattern=r"^(?:[1-9][0-9]{0,3}(?:\.[0-9]{1,3})?|0\.[0-9]{0,2}[1-9])$")]
"""Requests a second, as a decimal in quotes."""


def _several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


class OpenLoopParameters(ProtocolParameters):
    """Parameters of `open-loop`."""

    input_tokens: Tokens
    """How many prompt tokens each request is to have."""
    rate_per_s: Annotated[tuple[Rate, ...], BeforeValidator(_several), Field(min_length=1, max_length=16)]
    """How many requests a second, in quotes: one rate, or several, each of which is a cell."""
    requests: Annotated[int, Field(ge=1, le=100_000)] = 60
    """How many requests a run has."""
    runs: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many runs a cell has."""
    warmup_requests: Annotated[int, Field(ge=0, le=100_000)] = 4
    """How many requests come before the runs, at the same rate, and are in no figure."""
    ignore_eos: bool = False
    """Whether the engine is asked to go on to the cap."""

    @property
    def most_tokens(self) -> int:
        """The most tokens that prompt and answer of one request may have together."""
        return self.input_tokens + self.output_tokens


class OpenLoop:
    """The protocol `open-loop`."""

    id: ProtocolKind = "open-loop"
    version = 1
    parameters: type[OpenLoopParameters] = OpenLoopParameters

    def cells(self, parameters: OpenLoopParameters) -> tuple[Cell, ...]:
        """Return a cell for each rate."""
        return tuple(
            Cell(
                name=f"r{rate}",
                concurrency=None,
                rate_per_s=rate,
                requests=parameters.requests,
                runs=parameters.runs,
                output_cap_tokens=parameters.output_tokens,
                warmup_requests=parameters.warmup_requests,
                input_target_tokens=parameters.input_tokens,
                ignores_eos=parameters.ignore_eos,
            )
            for rate in parameters.rate_per_s
        )

    async def plan(
        self, ctx: ProtocolContext[OpenLoopParameters], cell: Cell, phase: Phase, number: int
    ) -> RunPlan:
        """Make the requests of one run, and say when each is sent."""
        count = cell.warmup_requests if phase == "warm-up" else cell.requests
        seed = ctx.seed_for(cell.name, phase, number)
        sized = await size_prompts(
            Wanted(ctx.parameters.input_tokens, seed, ctx.name, 0), range(count), ctx.tokens
        )
        return plan_of(ctx, cell, sized, seed, poisson(seed, str(cell.rate_per_s), count))

    def conclude(
        self, ctx: ProtocolContext[OpenLoopParameters], cell: Cell, plan: RunPlan, seen: RunSeen
    ) -> Concluded:
        """Say whether the requests were late (rule 4)."""
        del ctx, plan
        lags = [lag for row in seen.rows if (lag := send_lag(row)) is not None]
        late = mean(lags)
        gap_ns = _SECOND_NS / exact(str(cell.rate_per_s))
        return Concluded(findings=("sent_late",) if late is not None and late > _MOST_LATE * gap_ns else ())
