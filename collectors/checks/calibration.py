"""Calibration: filler of the length that gives a prompt a wanted number of tokens.

1. The wanted number is a floor; what is aimed at is one percent more, so that the error of an estimate
   does not end below it.
2. Counting by `usage` makes the engine read the prompt. So a long prompt is then measured on its
   beginning, and the rest is reckoned from that.
3. What is recorded is never the target but what the endpoint reports in the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.tokens import Prompt, count_tokens
from anvil.collectors.filler import Filler, filler

_WORDS_PER_TOKEN = 0.75
_MOST_ROUNDS = 4
_LONGEST_BY_USAGE = 3000
"""Words that a prompt may have to be counted whole by `usage`."""


@dataclass(frozen=True)
class Sized:
    """Filler of a length that was found. `counted` is the last count of a whole prompt, or null."""

    text: Filler
    counted: int | None


async def sized_filler(
    ctx: CheckContext[Any], name: str, target: int, build: Callable[[Filler], Prompt]
) -> Sized:
    """Return filler with which the prompt that `build` makes has `target` tokens, or a little more.

    Where the endpoint tells no counts the length is a guess, and `counted` is null.
    """
    seed, aim = ctx.seed_for(name), math.ceil(target * 1.01)
    most = math.ceil(target * 1.02) + 8
    bare = await count_tokens(ctx, f"{name}.bare", build(filler(seed, 0)))
    words = math.ceil(target * _WORDS_PER_TOKEN)
    limit = words * 4 if ctx.under_test.history.tokenizer else _LONGEST_BY_USAGE
    if bare is None:
        return Sized(filler(seed, words), None)
    if bare >= target:
        return Sized(filler(seed, 0), bare)
    for turn in range(1, _MOST_ROUNDS + 1):
        part = min(words, limit)
        counted = await count_tokens(ctx, f"{name}.{turn}", build(filler(seed, part)))
        if counted is None or counted <= bare:
            return Sized(filler(seed, words), None)
        if part == words and target <= counted <= most:
            return Sized(filler(seed, words), counted)
        words = max(1, math.ceil((aim - bare) * part / (counted - bare)))
        if words > limit:
            break  # it was measured on its beginning; the whole is too long to be read twice
    return Sized(filler(seed, words), None)


def window_problem(ctx: CheckContext[Any], prompt_tokens: int) -> str:
    """Return why a prompt of so many tokens and its answer do not fit the window, or an empty text."""
    window, cap = ctx.under_test.window_tokens, ctx.parameters.cap
    if window is None or prompt_tokens + cap <= window:
        return ""
    return f"{prompt_tokens} prompt tokens and a cap of {cap} do not fit the window of {window} tokens"
