"""How fast: one repetition of a load protocol. The rows are the evidence; figures are made from them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.events.checks import GeneratedPrompt, Parameter
from anvil.ledger.public import Count, DecimalText, Label, Role, Word

ProtocolKind = Literal[
    "capacity", "shared-prefix", "prefix-cache", "context-ladder", "near-limit", "open-loop"
]
"""What a protocol is for: a load, a load on one prefix, what a cache does with it, sizes, the longest prompt, and a
load that does not wait."""

CacheState = Literal["cold", "shared_within_run", "primed", "unknown"]
"""What was in the prefix cache when the requests came."""

CanaryState = Literal["passed", "failed", "unanswered", "not_sent"]
"""What became of the newest canary of a launch."""

IMPOSSIBLE = frozenset(
    {
        "clock_stepped",
        "moments_out_of_order",
        "gaps_do_not_sum",
        "peak_rate_under_mean",
        "more_in_flight_than_cap",
        "cap_exceeded",
        "prefill_contradicts",
        "more_cached_than_prompt",
        "requests_missing",
        "requests_doubled",
    }
)
"""Findings that contradict what the words mean: a figure made from such rows is wrong, so there is none."""


class EngineCounter(Facts):
    """A counter that the engine keeps of itself, read before and after."""

    name: Label
    """Which, by our name for it: `prefix_cache_hit_tokens`."""
    before: DecimalText | None
    """What it said before; null when it did not."""
    after: DecimalText | None
    """What it said after; null when it did not."""


class LoadMeasured(Event):
    """One run of a cell was carried out.

    Artifacts: `rows` (public) and the attempt `record` (private); `prompts` (public) makes the prompts again;
    `telemetry` (public) where GPUs were watched. A run that was interrupted or whose engine ended has what came.
    """

    signed_by: ClassVar[frozenset[Role]] = frozenset({"collector"})
    type: Literal["load.measured/1"] = "load.measured/1"
    protocol: Label
    """What the recipe calls the protocol."""
    kind: ProtocolKind
    """What it is for."""
    version: Count
    """The version of this kind of protocol."""
    parser_version: Count
    """The version of the parser that made the rows from the raw bytes."""
    cell: Label
    """Which cell of it."""
    phase: Literal["warm-up", "measured"]
    """A warm-up is recorded and belongs to no figure."""
    run: Count
    """Which repetition of its phase, from 1."""
    outcome: Literal["completed", "aborted", "void"]
    """Whether it went to its end; aborted when it was broken off, void when the clock stepped."""
    expected: Count
    """How many requests it plans."""
    completed: Count
    """How many succeeded."""
    failed: Count
    """How many did not."""
    arrival: Literal["closed-loop", "open-loop"]
    """Whether a request waits for another to end, or for its moment in a schedule."""
    concurrency: Count | None
    """How many are in flight at most; null without a limit."""
    rate_per_s: DecimalText | None
    """How many requests a second the schedule has; null in a closed loop."""
    input_target_tokens: Count | None
    """How many prompt tokens each was to have; null without a target. What counts is in the rows."""
    output_cap_tokens: Count
    """The completion cap that each states."""
    ignores_eos: bool
    """Whether the engine was asked to go on to the cap."""
    shared_prefix_tokens: Count
    """How many tokens at the start the prompts share on purpose; 0 when each begins with a salt of its own."""
    cache_state: CacheState
    """What was in the prefix cache, as far as it is proved."""
    seed: Count
    """From what salts, prompts and a schedule are drawn."""
    prompts: Annotated[tuple[GeneratedPrompt, ...], Field(strict=False)]
    """What was generated, so that it can be sent again."""
    resolution_ns: Count | None
    """The client's own resolution just before, at this concurrency; null when it was not measured."""
    lag_p99_ns: Count | None
    """How long bytes had been here before the client had them, the 99th percentile; null when nobody knows."""
    output_events: Count
    """How many events with output came in the whole run."""
    output_reads: Count
    """In how many reads they came: far fewer reads than events mean that something buffers."""
    canary: CanaryState
    """Whether a short exact question was answered rightly before the cell; `failed` from the first wrong answer of a
    launch on, `unanswered` when there was no answer at all."""
    counters: Annotated[tuple[EngineCounter, ...], Field(strict=False)]
    """The engine's own counters."""
    counters_missing: Word | None
    """Why there are none; null when there are."""
    telemetry_missing: Word | None
    """Why no GPU was watched; null when the artifact `telemetry` is there."""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """With what else it was carried out: the same in all runs of one plan."""
    observed: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """What was found out beside the rows: how prompt lengths were found, how the client measured itself, …"""
    findings: Annotated[tuple[Label, ...], Field(strict=False)]
    """Impossible or suspicious results."""
    messages: Sealed[NamedTexts | None]
    """Errors' messages, whole, by request."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.completed + self.failed > self.expected:
            raise ValueError("more ended than were expected")
        if (self.arrival == "open-loop") != (self.rate_per_s is not None):
            raise ValueError("exactly an open loop has a rate")
        return self
