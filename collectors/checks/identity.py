"""`identity`: the endpoint serves the name that was asked for, and is what was launched.

1. The served name stands in `/v1/models`, and one answer carries it.
2. A request for a model name that cannot exist is a fact, not a verdict: engines that serve one model
   often take any name.
3. Where the endpoint says a version or a window of itself and the recipe knows what was launched, they
   are equal. Each comparison is a finding; so is each difference.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from pydantic import Field

from anvil.collectors.bodies import Unreadable, content, read_object
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, common_faults, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.interface import NO_USAGE, Answer, Exchange
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.public import SettingValue

_ANY_END = frozenset({"stop", "length", "tool_calls"})
_VERSION_PATHS = {"version": "/version", "server_info": "/get_server_info", "props": "/props"}
_VERSION_MEMBERS = ("version", "build_info", "sglang_version")
_WINDOW_MEMBERS = ("max_model_len", "context_length", "n_ctx")


class IdentityParameters(Parameters):
    """Parameters of `identity`; what is answered is of no interest."""

    visible_tokens: int = Field(default=4, ge=1)


class Identity:
    """The check."""

    id = "identity"
    version = 1
    parameters = IdentityParameters

    async def run(self, ctx: CheckContext[IdentityParameters]) -> CheckCompleted:
        """Ask who is there, by name, by a name that cannot exist, and by version."""
        findings: dict[str, SettingValue] = {}
        listed = await ctx.fetch("models", "GET", "/v1/models")
        question = [{"role": "user", "content": "Say hello."}]
        answer = await ctx.chat("served", question, is_probe=True)
        nobody = f"no-such-model-{ctx.seed_for('nobody'):016x}"
        stranger = await ctx.chat("unknown_model", question, is_probe=True, model=nobody)
        if stranger.exchange.status is not None:
            findings["accepts_any_model"] = stranger.failure is None
        said = [member async for member in _versions(ctx)]
        judgements = [
            Judgement("models", _as_answer(listed), tuple(_list_faults(ctx, listed))),
            Judgement("served", answer, tuple(common_faults(ctx, answer, finish=_ANY_END))),
            Judgement("unknown_model", stranger, counts=False),
            *_compared(ctx, findings, said, _window(ctx, listed)),
        ]
        return verdict(ctx, self, judgements, findings)


def _list_faults(ctx: CheckContext[Any], exchange: Exchange) -> Iterator[Fault]:
    if exchange.failure is not None:
        yield Fault(exchange.failure, exchange.message or exchange.failure)
        return
    served, names = (
        ctx.under_test.endpoint.served_model,
        [str(entry.get("id")) for entry in _entries(exchange)],
    )
    if served not in names:
        yield Fault(
            "identity_mismatch", f"{served!r} is not served, only {', '.join(map(repr, names)) or 'nothing'}"
        )


def _entries(exchange: Exchange) -> list[dict[str, Any]]:
    listed = _object(exchange).get("data")
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _object(exchange: Exchange) -> dict[str, Any]:
    """Return what an answer says, or nothing when it says nothing that can be read."""
    if exchange.failure is not None:
        return {}
    try:
        return read_object(content(exchange))
    except Unreadable:
        return {}


async def _versions(ctx: CheckContext[Any]) -> AsyncIterator[str]:
    for name, path in _VERSION_PATHS.items():
        told = _object(await ctx.fetch(name, "GET", path))
        for member in _VERSION_MEMBERS:
            if isinstance(value := told.get(member), str) and value:
                yield value


def _window(ctx: CheckContext[Any], listed: Exchange) -> int | None:
    served = ctx.under_test.endpoint.served_model
    for entry in _entries(listed):
        if entry.get("id") == served:
            values = (entry.get(member) for member in _WINDOW_MEMBERS)
            return next((value for value in values if type(value) is int and value > 0), None)
    return None


def _compared(
    ctx: CheckContext[Any], findings: dict[str, SettingValue], versions: list[str], window: int | None
) -> Iterator[Judgement]:
    launched = ctx.under_test.launched
    if launched.engine_version is not None and versions:
        is_equal = any(_is_version(text, launched.engine_version) for text in versions)
        findings["version_matches"] = is_equal
        yield _difference("version", is_equal, f"launched {launched.engine_version!r}, says {versions!r}")
    if window is not None:
        findings["context_tokens"] = window
        if launched.context_tokens is not None:
            is_equal = window == launched.context_tokens
            findings["context_matches"] = is_equal
            yield _difference("context", is_equal, f"launched with {launched.context_tokens}, says {window}")


def _is_version(said: str, launched: str) -> bool:
    """Say whether two spellings name one version: ``v0.5.1`` and ``0.5.1``."""
    return said.strip().removeprefix("v") == launched.removeprefix("v")


def _difference(name: str, is_equal: bool, message: str) -> Judgement:
    return Judgement(name, faults=() if is_equal else (Fault("identity_mismatch", message),))


def _as_answer(exchange: Exchange) -> Answer:
    return Answer(exchange, usage=NO_USAGE)
