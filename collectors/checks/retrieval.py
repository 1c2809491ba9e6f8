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
            ctx, "filler", target, lambda text: {"messages": prompt_with(text, depths[0], "x" * 20)}
        )
        if problem := window_problem(ctx, sized.counted or 0):
            return not_carried_out(ctx, self, "prerequisite_failed", problem, expected=len(depths))
        ctx.note_filler(sized.text)
        findings: dict[str, SettingValue] = {"filler_words": sized.text.words}
        if (confirmed := ctx.under_test.history.tokenizer_confirmed) is not None:
            findings["tokenizer_confirmed"] = confirmed
        judgements, secrets = [], []
        for depth in depths:
            judgement, secret = await ask_at(ctx, sized.text, depth, f"depth_{depth}")
            secrets.append(secret)
            findings[f"exact.{depth}"] = bool(judgement.answer and judgement.answer.visible.strip() == secret)
            judgements.append(judgement)
        judgements.append(await ask_without(ctx, sized.text, secrets))
        return verdict(ctx, self, judgements, findings)


async def ask_at(
    ctx: CheckContext[RetrievalParameters], text: Filler, depth: int, name: str
) -> tuple[Judgement, str]:
    """Hide a secret at `depth` percent of a filler and ask for it; return what became of it, and the secret.

    `name` is that of the request, and of the seed that the secret is drawn from.
    """
    seed = ctx.seed_for(name)
    secret = _secret(seed)
    messages = prompt_with(text, depth, secret)
    digest = hashlib.sha256(messages[0]["content"].encode()).hexdigest()
    ctx.prompts.append(
        GeneratedPrompt(generator=GENERATOR, version=VERSION, seed=seed, digest=f"sha256:{digest}")
    )
    answer = await ctx.chat(name, messages, stream=True)
    return _found(ctx, name, answer, secret), secret


async def ask_without(ctx: CheckContext[Any], text: Filler, secrets: Sequence[str]) -> Judgement:
    """Ask for a secret that is not in the prompt; whoever answers with one of `secrets` has not retrieved it."""
    answer = await ctx.chat("control", prompt_with(text, None, ""), stream=True)
    faults = common_faults(ctx, answer, finish=_ANY_END)
    known = [secret for secret in secrets if secret in answer.visible]
    if known:
        faults.append(
            Fault("deterministic_check_failed", f"{known[0]!r} was answered though it was not in the prompt")
        )
    return Judgement("control", answer, tuple(faults), counts=False)


def prompt_with(text: Filler, depth: int | None, secret: str) -> Sequence[dict[str, str]]:
    """Return a filler with a secret hidden at `depth` percent, or without one, and the question for it."""
    hidden = f"The secret phrase is {secret}." if depth is not None else None
    content = (
        "Somewhere in the notes below one sentence states a secret phrase.\n\n"
        f"{text.around(hidden, depth or 0)}\n\n"
        "What is the secret phrase? Answer with the phrase alone."
    )
    return [{"role": "user", "content": content}]


def _secret(seed: int) -> str:
    draws = Draws(GENERATOR, VERSION, seed)
    first, second = draws.sample(_NAMES, 2)
    return f"{first}-{second}-{1000 + draws.below(9000)}"


def _found(ctx: CheckContext[RetrievalParameters], name: str, answer: Answer, secret: str) -> Judgement:
    faults = text_faults(ctx, answer)
    if answer.failure is None and answer.visible.strip() and secret not in answer.visible:
        faults.append(Fault("wrong_value", f"{secret!r} is not in the answer {answer.visible!r}"))
    return with_floor(Judgement(name, answer, tuple(faults)), ctx.parameters.floor_tokens)
