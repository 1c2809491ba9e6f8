"""`retrieval`: the check of that name, again and again, a secret of its own in each repetition.

1. Each depth is an item. Filler is calibrated once, as for the check.
2. The control without a secret is asked once, in the first repetition of the last item, and must fail there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from anvil.collectors.checks.calibration import Sized, sized_filler, window_problem
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement
from anvil.collectors.checks.retrieval import (
    GENERATOR,
    VERSION,
    RetrievalParameters,
    judge_control,
    judge_found,
    retrieval_prompt,
    secret_of,
)
from anvil.collectors.filler import Filler
from anvil.collectors.suites.interface import Item, Suite
from anvil.ledger.events.checks import GeneratedPrompt
from anvil.ledger.events.suites import Modality


class RetrievalSuiteParameters(RetrievalParameters):
    """Parameters of the suite `retrieval`."""

    depths: Annotated[
        tuple[Annotated[int, Field(ge=0, le=100)], ...], Field(strict=False, min_length=1, max_length=10)
    ] = (50,)
    """Where the secret is hidden, in percent of the filler."""


@dataclass
class _Shared:
    """What the items of one run share."""

    depths: tuple[int, ...]
    sized: Sized | None = None
    secrets: list[str] = field(default_factory=list)
    is_controlled: bool = False


@dataclass(frozen=True)
class AtDepth:
    """The item of one depth."""

    depth: int
    shared: _Shared
    modality: Modality = "text"

    @property
    def id(self) -> str:
        """Its name inside the suite."""
        return f"depth-{self.depth}"

    @property
    def requests(self) -> int:
        """How many requests one repetition sends at most; the control is one more."""
        return 2 if self._is_last else 1

    @property
    def _is_last(self) -> bool:
        return self.depth == self.shared.depths[-1]

    async def once(self, ctx: CheckContext[Any], name: str) -> Sequence[Judgement]:
        """Hide a secret and ask for it."""
        shared, target = self.shared, ctx.parameters.target_tokens
        problem = window_problem(ctx, target)
        if not problem and shared.sized is None:
            shared.sized = await sized_filler(
                ctx, "filler", target, lambda text: {"messages": retrieval_prompt(text, self.depth, "x" * 20)}
            )
            ctx.note_filler(shared.sized.text)
        if shared.sized is not None:
            problem = problem or window_problem(ctx, shared.sized.counted or 0)
        if problem or shared.sized is None:
            return (Judgement(name, None, (Fault("prerequisite_failed", problem),)),)
        judgement, secret = await _ask_at(ctx, shared.sized.text, self.depth, name)
        shared.secrets.append(secret)
        if self._is_last and not shared.is_controlled:
            shared.is_controlled = True
            control = await ctx.chat("control", retrieval_prompt(shared.sized.text, None, ""), stream=True)
            return judgement, judge_control(ctx, control, shared.secrets)
        return (judgement,)


async def _ask_at(ctx: CheckContext[Any], text: Filler, depth: int, name: str) -> tuple[Judgement, str]:
    """Hide a secret and ask for it; `name` is that of the request, and of the seed that the secret belongs to."""
    seed = ctx.seed_for(name)
    secret = secret_of(seed)
    messages = retrieval_prompt(text, depth, secret)
    digest = hashlib.sha256(messages[0]["content"].encode()).hexdigest()
    ctx.prompts.append(
        GeneratedPrompt(generator=GENERATOR, version=VERSION, seed=seed, digest=f"sha256:{digest}")
    )
    answer = await ctx.chat(name, messages, stream=True)
    return judge_found(ctx, name, answer, secret), secret


def _items(parameters: RetrievalSuiteParameters) -> tuple[Item, ...]:
    shared = _Shared(tuple(dict.fromkeys(parameters.depths)))
    return tuple(AtDepth(depth, shared) for depth in shared.depths)


RETRIEVAL = Suite("retrieval", 1, "diagnostic", RetrievalSuiteParameters, _items)
"""The suite."""
