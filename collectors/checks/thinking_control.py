"""`thinking-control`: the switch for thinking does what it says.

1. `verified`: reasoning is gone when it is disabled and there when it is enabled.
2. `ineffective`: both answers are identical, and so are their prompt counts; the switch is accepted and
   ignored.
3. Anything else without reasoning is undecided: the model may have had nothing to think about.
4. An effort passes when reasoning is there. How many tokens it saves is informational.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, not_carried_out, text_faults, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.interface import Answer
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.public import Label, SettingValue

_QUESTION = (
    "A shelf holds 3 boxes with 14 pens each and 2 boxes with 9 pens each. 17 pens are taken away. "
    "How many pens are left on the shelf? End with the number."
)


class ThinkingControlParameters(Parameters):
    """Parameters of `thinking-control`; `thinking` itself is set by each request."""

    visible_tokens: int = Field(default=512, ge=1)
    reasoning_tokens: int = Field(default=4096, ge=0)
    efforts: Annotated[tuple[Label, ...], Field(strict=False, max_length=8)] = ()
    """Efforts to try by name."""


class ThinkingControlCheck:
    """The check."""

    id = "thinking-control"
    version = 1
    parameters = ThinkingControlParameters

    async def run(self, ctx: CheckContext[ThinkingControlParameters]) -> CheckCompleted:
        """Ask the same with thinking disabled, enabled and at each effort."""
        efforts = tuple(dict.fromkeys(ctx.parameters.efforts))
        if ctx.under_test.thinking.family == "none":
            message = "the recipe names no thinking control for this model"
            return not_carried_out(ctx, self, "prerequisite_failed", message, expected=2 + len(efforts))
        question = [{"role": "user", "content": _QUESTION}]
        off = await ctx.chat("disabled", question, thinking="disabled")
        on = await ctx.chat("enabled", question, thinking="enabled")
        judgements = [_disabled(ctx, off), _enabled(ctx, off, on)]
        findings: dict[str, SettingValue] = {"thinking_control": _word(off, on)}
        for effort in efforts:
            members = ctx.under_test.thinking.effort(effort)
            answer = await ctx.chat(f"effort_{effort}", question, thinking="enabled", **members)
            judgement = _effort(ctx, effort, answer, on)
            findings[f"effort.{effort}"] = judgement.outcome == "passed"
            judgements.append(judgement)
        return verdict(ctx, self, judgements, findings)


def _disabled(ctx: CheckContext[Any], answer: Answer) -> Judgement:
    faults = text_faults(ctx, answer)
    if answer.reasoning_seen:
        channels = ", ".join(answer.reasoning_seen)
        faults.append(Fault("reasoning_leaked", f"reasoning with thinking disabled, in {channels}"))
    return Judgement("disabled", answer, tuple(faults))


def _enabled(ctx: CheckContext[Any], off: Answer, on: Answer) -> Judgement:
    faults = tuple(text_faults(ctx, on))
    if on.failure is not None or on.reasoning_seen:
        return Judgement("enabled", on, faults)
    if _are_identical(off, on):
        message = "ineffective: the same answer and prompt count with thinking disabled and enabled"
        return Judgement("enabled", on, (*faults, Fault("deterministic_check_failed", message)))
    if faults:
        return Judgement("enabled", on, faults)
    return Judgement(
        "enabled", on, inconclusive="no reasoning with thinking enabled, though the answer differs"
    )


def _effort(ctx: CheckContext[Any], effort: str, answer: Answer, enabled: Answer) -> Judgement:
    faults = text_faults(ctx, answer)
    if answer.failure is None and not answer.reasoning_seen:
        faults.append(Fault("deterministic_check_failed", "no reasoning at this effort"))
    warnings = ("identical_to_enabled",) if _are_identical(enabled, answer) else ()
    return Judgement(f"effort_{effort}", answer, tuple(faults), warnings=warnings)


def _word(off: Answer, on: Answer) -> str:
    if off.failure is not None or on.failure is not None:
        return "not_carried_out"
    if not off.reasoning_seen and on.reasoning_seen:
        return "verified"
    return "ineffective" if _are_identical(off, on) else "undecided"


def _are_identical(one: Answer, other: Answer) -> bool:
    return (
        one.failure is other.failure is None
        and one.usage.prompt_tokens == other.usage.prompt_tokens
        and one.visible == other.visible
        and dict(one.reasoning) == dict(other.reasoning)
    )
