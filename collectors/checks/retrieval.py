"""`retrieval`: a secret hidden at stated depths of a long prompt is found again.

1. It passes when the secret is contained in the answer at every depth *and* the endpoint reports at
   least 98 % of the target as prompt tokens. What a label shows is the reported count.
2. A control without the secret must fail: a model that answers it anyway has not retrieved it.
3. Strict equality is recorded beside, as the finding ``exact.DEPTH``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from anvil.collectors.checks.calibration import sized_filler, window_problem
from anvil.collectors.checks.floors import with_floor
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import (
    Fault,
    Judgement,
    common_faults,
    not_carried_out,
    text_faults,
    verdict,
)
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.filler import Draws, Filler
from anvil.collectors.interface import Answer
from anvil.ledger.events.checks import CheckCompleted, GeneratedPrompt
from anvil.ledger.public import SettingValue

GENERATOR, VERSION = "needle", 1

_NAMES = (
    "badger", "beacon", "cobalt", "comet", "falcon", "fennel", "harrow", "jasper", "kestrel", "lantern",
    "magnet", "nectar", "otter", "pepper", "quartz", "raven", "saffron", "thistle", "velvet", "walnut",
)  # fmt: skip
"""None of them is a word of the filler."""

_ANY_END = frozenset({"stop", "length", "tool_calls"})


class RetrievalParameters(Parameters):
    """Parameters of `retrieval`."""

    visible_tokens: int = Field(default=64, ge=1)
    target_tokens: int = Field(default=128_000, ge=100)
    """Prompt tokens that are aimed at."""
    depths: Annotated[
        tuple[Annotated[int, Field(ge=0, le=100)], ...], Field(strict=False, min_length=1, max_length=16)
    ] = (10, 50, 90)
    """Where the secret is hidden, in percent of the filler."""

    @property
    def floor_tokens(self) -> int:
        """Prompt tokens that must be reported: 98 % of the target, rounded up."""
        return -(-self.target_tokens * 98 // 100)


class Retrieval:
    """The check."""

    id = "retrieval"
    version = 1
    parameters = RetrievalParameters

    async def run(self, ctx: CheckContext[RetrievalParameters]) -> CheckCompleted:
        """Calibrate the filler, ask at each depth, and ask once without the secret."""
        depths, target = tuple(dict.fromkeys(ctx.parameters.depths)), ctx.parameters.target_tokens
        if problem := window_problem(ctx, target):
            return not_carried_out(ctx, self, "prerequisite_failed", problem, expected=len(depths))
        sized = await sized_filler(
            ctx, "filler", target, lambda text: {"messages": retrieval_prompt(text, depths[0], "x" * 20)}
        )
        if problem := window_problem(ctx, sized.counted or 0):
            return not_carried_out(ctx, self, "prerequisite_failed", problem, expected=len(depths))
        ctx.note_filler(sized.text)
        findings: dict[str, SettingValue] = {"filler_words": sized.text.words}
        if (confirmed := ctx.under_test.history.tokenizer_confirmed) is not None:
            findings["tokenizer_confirmed"] = confirmed
        judgements, secrets = [], []
        for depth in depths:
            secret = secret_of(ctx.seed_for(f"depth_{depth}"))
            secrets.append(secret)
            messages = retrieval_prompt(sized.text, depth, secret)
            _note(ctx, depth, messages)
            answer = await ctx.chat(f"depth_{depth}", messages, stream=True)
            findings[f"exact.{depth}"] = answer.visible.strip() == secret
            judgements.append(judge_found(ctx, f"depth_{depth}", answer, secret))
        control = await ctx.chat("control", retrieval_prompt(sized.text, None, ""), stream=True)
        judgements.append(judge_control(ctx, control, secrets))
        return verdict(ctx, self, judgements, findings)


def secret_of(seed: int) -> str:
    """Return the secret that belongs to a seed: two words that are not in the filler, and four digits."""
    draws = Draws(GENERATOR, VERSION, seed)
    first, second = draws.sample(_NAMES, 2)
    return f"{first}-{second}-{1000 + draws.below(9000)}"


def retrieval_prompt(
    text: Filler, depth: int | None, secret: str, salt: str = ""
) -> tuple[dict[str, str], ...]:
    """Return the chat that hides the secret at a depth in percent, or nowhere; a salt stands before all."""
    hidden = f"The secret phrase is {secret}." if depth is not None else None
    content = (
        f"{salt}Somewhere in the notes below one sentence states a secret phrase.\n\n"
        f"{text.around(hidden, depth or 0)}\n\n"
        "What is the secret phrase? Answer with the phrase alone."
    )
    return ({"role": "user", "content": content},)


def _note(ctx: CheckContext[Any], depth: int, messages: Sequence[dict[str, str]]) -> None:
    digest = hashlib.sha256(messages[0]["content"].encode()).hexdigest()
    seed = ctx.seed_for(f"depth_{depth}")
    ctx.prompts.append(
        GeneratedPrompt(generator=GENERATOR, version=VERSION, seed=seed, digest=f"sha256:{digest}")
    )


def judge_found(ctx: CheckContext[RetrievalParameters], name: str, answer: Answer, secret: str) -> Judgement:
    """Return what became of a request with the secret in it."""
    faults = text_faults(ctx, answer)
    if answer.failure is None and answer.visible.strip() and secret not in answer.visible:
        faults.append(Fault("wrong_value", f"{secret!r} is not in the answer {answer.visible!r}"))
    return with_floor(Judgement(name, answer, tuple(faults)), ctx.parameters.floor_tokens)


def judge_control(ctx: CheckContext[Any], answer: Answer, secrets: Sequence[str]) -> Judgement:
    """Return what became of the request without a secret: none of the others' may be in its answer."""
    faults = common_faults(ctx, answer, finish=_ANY_END)
    known = [secret for secret in secrets if secret in answer.visible]
    if known:
        faults.append(
            Fault("deterministic_check_failed", f"{known[0]!r} was answered though it was not in the prompt")
        )
    return Judgement("control", answer, tuple(faults), counts=False)
