"""`context-ladder`: at each rung a retrieval check with its own repetitions, and the time to first token.

1. A rung is a size. Its requests are sent one after another, each with a salt of its own, so that no rung is
   answered from the cache: a secret at each depth, as often as there are repetitions, and one control without.
2. The verdict is that of the check `retrieval`, judged from the bytes that the rows are made from: the secret
   is contained and at least 98 % of the target is reported. It is an event of its own, with the bodies.
3. What a rung is called in a document is the count that was reported, never the target: a cell is named by
   its place on the ladder.
4. A rung that is answered sooner than a shorter one, with no hit in the cache, is a finding, also when the other was
   measured by a run that this one goes on with. The finding is of the rung that was measured later.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Judgement, not_carried_out, verdict
from anvil.collectors.checks.retrieval import (
    Retrieval,
    RetrievalParameters,
    judge_control,
    judge_found,
)
from anvil.collectors.load.cachestate import BLOCK_TOKENS
from anvil.collectors.load.findings import Rung, falls
from anvil.collectors.load.prompts import Wanted, size_prompts
from anvil.collectors.load.record import RequestRecord
from anvil.collectors.protocols.answers import Answered, answer_of
from anvil.collectors.protocols.interface import (
    Cell,
    Concluded,
    Phase,
    ProtocolContext,
    ProtocolParameters,
    RunPlan,
    RunSeen,
    SeveralTokens,
)
from anvil.collectors.protocols.needles import Layout, NeedlePrompt
from anvil.collectors.protocols.sized import plan_of
from anvil.ledger.events.checks import CheckCompleted, GeneratedPrompt, Parameter
from anvil.ledger.events.load import ProtocolKind
from anvil.ledger.public import SettingValue

_RETRIEVAL = Retrieval()

Depths = Annotated[
    tuple[Annotated[int, Field(ge=0, le=100)], ...], Field(strict=False, min_length=1, max_length=16)
]


class LadderParameters(ProtocolParameters):
    """Parameters of `context-ladder`."""

    input_tokens: SeveralTokens
    """How many prompt tokens each rung is to have, the shortest first."""
    depths: Depths = (10, 50, 90)
    """Where the secret is hidden, in percent of the filler."""
    repetitions: Annotated[int, Field(ge=1, le=100)] = 3
    """How often each depth is asked at each rung."""
    output_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 64
    """The completion cap of each request."""

    @property
    def most_tokens(self) -> int:
        """The most tokens that prompt and answer of one request may have together."""
        return max(self.input_tokens) + self.output_tokens

    @property
    def layout(self) -> Layout:
        """Which prompts a rung has."""
        return Layout(tuple(dict.fromkeys(self.depths)), self.repetitions)


class ContextLadder:
    """The protocol."""

    id: ProtocolKind = "context-ladder"
    version = 1
    parameters = LadderParameters

    def cells(self, parameters: LadderParameters) -> tuple[Cell, ...]:
        """Return a cell for each rung. Only the first is warmed up: the others have met the engine."""
        return tuple(
            Cell(
                name=f"rung-{place}",
                concurrency=1,
                requests=parameters.layout.count,
                runs=1,
                output_cap_tokens=parameters.output_tokens,
                warmup_requests=1 if place == 1 else 0,
                input_target_tokens=target,
                parameters=(
                    Parameter(name="repetitions", value=parameters.repetitions),
                    *(
                        Parameter(name=f"depths.{at}", value=depth)
                        for at, depth in enumerate(parameters.layout.depths, start=1)
                    ),
                ),
            )
            for place, target in enumerate(dict.fromkeys(parameters.input_tokens), start=1)
        )

    async def plan(
        self, ctx: ProtocolContext[LadderParameters], cell: Cell, phase: Phase, number: int
    ) -> RunPlan:
        """Make the requests of one rung, each of the wanted length."""
        layout = ctx.parameters.layout
        count = cell.warmup_requests if phase == "warm-up" else layout.count
        seed = ctx.seed_for(cell.name, phase, number)
        wanted = Wanted(cell.input_target_tokens or 0, seed, ctx.name)
        sized = await size_prompts(wanted, range(count), ctx.tokens, layout.make)
        return plan_of(ctx, cell, sized, seed)

    def conclude(
        self, ctx: ProtocolContext[LadderParameters], cell: Cell, plan: RunPlan, seen: RunSeen
    ) -> Concluded:
        """Judge what was retrieved at this rung, and compare its time with those below."""
        others = [Rung.of(name, rows) for name, rows in ctx.measured.items() if name != cell.name]
        ctx.measured[cell.name] = seen.rows
        rungs = [*others, Rung.of(cell.name, seen.rows)]
        allowed = min((rung.cached_tokens or 0 for rung in rungs), default=0) + BLOCK_TOKENS
        has_fallen = not {*falls(rungs, allowed)} <= {*falls(others, allowed)}
        check = _check_context(ctx, cell)
        event = _judged(check, ctx.parameters.layout, plan, seen)
        return Concluded(
            findings=("ttft_falls_along_ladder",) if has_fallen else (),
            events=((event, tuple(check.attachments)),),
        )


def _check_context(ctx: ProtocolContext[LadderParameters], cell: Cell) -> CheckContext[RetrievalParameters]:
    given = ctx.parameters
    parameters = RetrievalParameters(
        visible_tokens=given.output_tokens,
        thinking=given.thinking,
        target_tokens=max(100, cell.input_target_tokens or 0),
        depths=given.layout.depths,
    )
    return CheckContext(ctx.under_test, _RETRIEVAL.id, parameters, f"{ctx.name}.{cell.name}")


def _judged(
    check: CheckContext[RetrievalParameters], layout: Layout, plan: RunPlan, seen: RunSeen
) -> CheckCompleted:
    """Return the verdict of a rung; a run that was ended before all was asked has none."""
    prompts = [prompt for prompt in plan.prompts if isinstance(prompt, NeedlePrompt)]
    answers = {record.index: _kept(check, layout, seen, record) for record in seen.requests()}
    check.prompts += [_generated(prompt) for prompt in prompts]
    stopped = [answered for answered in answers.values() if answered.row.outcome == "stopped"]
    if stopped or len(answers) < len(prompts):
        told = f"the run was ended after {len(answers) - len(stopped)} of {len(prompts)} requests"
        return not_carried_out(check, _RETRIEVAL, None, told, expected=layout.expected)
    judgements: list[Judgement] = []
    findings: dict[str, SettingValue] = {"protocol": "context-ladder", "repetitions": layout.repetitions}
    for prompt in prompts:
        answer, name = answers[prompt.number].answer, layout.name(prompt.number)
        if prompt.depth_percent is None:
            judgements.append(judge_control(check, answer, [one.secret for one in prompts if one.secret]))
            continue
        findings[f"exact.{name}"] = answer.visible.strip() == prompt.secret
        judgements.append(judge_found(check, name, answer, prompt.secret))
    return verdict(check, _RETRIEVAL, judgements, findings)


def _kept(
    check: CheckContext[RetrievalParameters], layout: Layout, seen: RunSeen, record: RequestRecord
) -> Answered:
    """Keep a request's bodies as artifacts of the verdict, and return what they say."""
    answered = answer_of(seen.run, record)
    name = layout.name(record.index)
    check.keep(f"{name}.request", record.request, "application/json")
    if answered.answer.exchange.body:
        check.keep(f"{name}.response", answered.answer.exchange.body, "text/event-stream")
    return answered


def _generated(prompt: NeedlePrompt) -> GeneratedPrompt:
    line = prompt.line
    return GeneratedPrompt(generator=line.generator, version=line.version, seed=line.seed, digest=line.digest)
