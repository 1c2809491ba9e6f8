"""Counting tokens before a request is sent, in whichever way the endpoint offers.

1. `/tokenize` has a dialect per engine, and one that is not spoken may be answered with 200 and no
   tokens: a count of zero for text that is not empty means that the dialect is not supported.
2. A dialect is looked for once in an attempt, the ones that count a whole chat first.
3. Whatever is used, one `usage` confirms it; a dialect that disagrees with `usage` is not used.
4. Where there is none, prompts are counted by `usage` itself, with a cap of one token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anvil.collectors.bodies import Unreadable, content, read_object
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.filler import filler
from anvil.collectors.interface import Exchange

Prompt = Mapping[str, Any]
"""What a chat request asks: its `messages`, and `tools` where there are any."""

_SAMPLE_WORDS = 60
_TEMPLATE_TOKENS = 200
"""What a chat template and a default system prompt may add to a text that is counted without them."""


@dataclass(frozen=True)
class Dialect:
    """One way to ask for a count: where, with what, and where the count is in the answer."""

    name: str
    path: str
    body: Callable[[str, Prompt], dict[str, Any]]
    counts: tuple[str, ...]
    """Members of the answer that hold the count, or the tokens themselves."""
    is_whole_chat: bool
    """Whether the chat template is counted too."""

    def counted(self, exchange: Exchange) -> int | None:
        """Return the count in an answer; null when there is none, or one of zero (rule 1)."""
        if exchange.failure is not None:
            return None
        try:
            said = read_object(content(exchange))
        except Unreadable:
            return None
        for member in self.counts:
            value = said.get(member)
            found = len(value) if isinstance(value, list) else value
            if isinstance(found, int) and not isinstance(found, bool) and found > 0:
                return found
        return None

    def agrees(self, counted: int, reported: int) -> bool:
        """Say whether a count of a chat can belong to what its `usage` reports (rule 3)."""
        if self.is_whole_chat:
            return abs(counted - reported) <= 1
        return counted <= reported <= counted + _TEMPLATE_TOKENS


def _text(prompt: Prompt) -> str:
    return "\n".join(str(message["content"]) for message in prompt["messages"])


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "input_tokens",
            "/v1/chat/completions/input_tokens",
            lambda model, prompt: {"model": model, **prompt},
            ("input_tokens",),
            is_whole_chat=True,
        ),
        Dialect(
            "tokenize_messages",
            "/tokenize",
            lambda model, prompt: {"model": model, **prompt},
            ("count", "tokens"),
            is_whole_chat=True,
        ),
        Dialect(
            "tokenize_content",
            "/tokenize",
            lambda _, prompt: {"content": _text(prompt)},
            ("tokens",),
            is_whole_chat=False,
        ),
        Dialect(
            "tokenize_prompt",
            "/tokenize",
            lambda model, prompt: {"model": model, "prompt": _text(prompt)},
            ("count", "tokens"),
            is_whole_chat=False,
        ),
    )
}
"""The dialects of llama.cpp and vLLM, best first."""


async def count_tokens(ctx: CheckContext[Any], name: str, prompt: Prompt) -> int | None:
    """Return how many prompt tokens `prompt` has; null when the endpoint does not say.

    `name` is the beginning of the names of the requests that this takes.
    """
    await _find_dialect(ctx, name)
    if (known := ctx.under_test.history.tokenizer) is not None:
        return await _by_dialect(ctx, f"{name}.count", DIALECTS[known], prompt)
    return await by_usage(ctx, f"{name}.count", prompt)


async def by_usage(ctx: CheckContext[Any], name: str, prompt: Prompt) -> int | None:
    """Return how many prompt tokens the endpoint reports for a request with a cap of one token."""
    answer = await ctx.ask(name, {**prompt, ctx.cap_member: 1}, is_probe=True)
    return answer.usage.prompt_tokens or None


async def _find_dialect(ctx: CheckContext[Any], name: str) -> None:
    history = ctx.under_test.history
    if history.tokenizer_tried:
        return
    history.tokenizer_tried = True
    text = filler(ctx.seed_for("sample"), _SAMPLE_WORDS).text
    sample = {"messages": [{"role": "user", "content": text}]}
    reported = await by_usage(ctx, f"{name}.usage", sample)
    for dialect in DIALECTS.values():
        counted = await _by_dialect(ctx, f"{name}.{dialect.name}", dialect, sample)
        # Without a usage there is nothing to hold it against; it is recorded as unconfirmed.
        if counted is not None and (reported is None or dialect.agrees(counted, reported)):
            history.tokenizer = dialect.name
            history.tokenizer_confirmed = None if reported is None else True
            return


async def _by_dialect(ctx: CheckContext[Any], name: str, dialect: Dialect, prompt: Prompt) -> int | None:
    body = dialect.body(ctx.under_test.endpoint.served_model, prompt)
    return dialect.counted(await ctx.fetch(name, "POST", dialect.path, body))
