"""What the checks of pictures and clips share: the words that an answer must have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, refuses, text_faults, unsupported
from anvil.collectors.checks.tool_result import states
from anvil.collectors.interface import Answer


def judge_words(ctx: CheckContext[Any], name: str, answer: Answer, words: Sequence[str]) -> Judgement:
    """Judge an answer about a medium: every word stands in it, whole, whatever its case."""
    if refuses_media(answer):
        return unsupported(name, answer)
    faults = text_faults(ctx, answer)
    if answer.failure is None and answer.visible.strip():
        absent = [word for word in words if not states(answer.visible, word)]
        if absent:
            faults.append(Fault("wrong_value", f"not in the answer: {', '.join(absent)}"))
    return Judgement(name, answer, tuple(faults))


def refuses_media(answer: Answer) -> bool:
    """Say whether an endpoint refused a medium, where it had answered a text request of this shape before."""
    return refuses(answer) or (answer.failure == "http_error" and answer.exchange.status in (400, 422))
