"""Token counts, as an endpoint reports them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from anvil.collectors.interface import NO_USAGE, Usage
from anvil.ledger.events.checks import ReasoningChannel
from anvil.ledger.public import MAX_INTEGER

Warn = Callable[[str], None]
See = Callable[[ReasoningChannel], None]

_DETAILS = "_tokens_details"


@dataclass(frozen=True)
class Names:
    """How an interface names what went in and what came out."""

    prompt: str
    completion: str


CHAT = Names("prompt_tokens", "completion_tokens")
RESPONSES = Names("input_tokens", "output_tokens")


def read_usage(
    reported: Mapping[str, Any] | None, names: Names, warn: Warn, see: See, *, has_output: bool
) -> Usage:
    """Return the counts; null, with a warning, where there is none or it cannot be."""
    if reported is None:
        return NO_USAGE
    prompt = _not_zero(_count(reported, names.prompt, warn), "usage_prompt_zero", warn)
    completion = _count(reported, names.completion, warn)
    if has_output:
        completion = _not_zero(completion, "usage_completion_zero", warn)
    usage = Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=_count(reported, "total_tokens", warn),
        reasoning_tokens=_reasoning(reported, warn, see),
        cached_tokens=_count(_details(reported, names.prompt), "cached_tokens", warn),
    )
    _compare(usage, warn)
    return usage


def _reasoning(reported: Mapping[str, Any], warn: Warn, see: See) -> int | None:
    counts: dict[ReasoningChannel, int] = {}
    if (count := _count(reported, "reasoning_tokens", warn)) is not None:
        counts["usage_reasoning_tokens"] = count
    for name in reported:
        if name.endswith(_DETAILS):
            count = _count(_details(reported, name.removesuffix("_details")), "reasoning_tokens", warn)
            if count is not None:
                counts["details_reasoning_tokens"] = max(count, counts.get("details_reasoning_tokens", 0))
    for channel, count in counts.items():
        if count:
            see(channel)
    if len(set(counts.values())) > 1:
        warn("usage_reasoning_differs")
    # Where two places disagree the larger stands: a leak must not be hidden by the other.
    return max(counts.values(), default=None)


def _compare(usage: Usage, warn: Warn) -> None:
    """Note what cannot be."""
    prompt, completion, total = usage.prompt_tokens, usage.completion_tokens, usage.total_tokens
    if prompt is not None and completion is not None and total not in (None, prompt + completion):
        warn("usage_total_differs")
    if _exceeds(usage.cached_tokens, prompt):
        warn("usage_cached_exceeds_prompt")
    if _exceeds(usage.reasoning_tokens, completion):
        warn("usage_reasoning_exceeds_completion")


def _exceeds(part: int | None, whole: int | None) -> bool:
    return part is not None and whole is not None and part > whole


def _details(reported: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    details = reported.get(f"{name}_details")
    return details if isinstance(details, dict) else {}


def _count(holder: Mapping[str, Any], name: str, warn: Warn) -> int | None:
    value = holder.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INTEGER:
        warn("usage_malformed")
        return None
    return value


def _not_zero(count: int | None, warning: str, warn: Warn) -> int | None:
    if count == 0:
        warn(warning)
        return None
    return count
