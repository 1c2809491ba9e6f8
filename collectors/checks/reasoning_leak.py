"""`reasoning-leak`: a policy over everything that ran with thinking disabled.

No reasoning in any channel: text members, items of the Responses API, token counts above zero, tags in
the visible text. A count of null or zero is no leak. It sends nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from anvil.collectors.checks.history import Observed
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, not_carried_out, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.ledger.events.checks import CheckCompleted


class ReasoningLeak:
    """The check."""

    id = "reasoning-leak"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Judge what the checks before this one saw, a check at a time."""
        judgements, characters = [], 0
        for (serial, check), seen in ctx.under_test.history.by_check().items():
            disabled = [answer for answer in seen if answer.thinking == "disabled" and _says_anything(answer)]
            if disabled:
                characters += sum(answer.reasoning_chars for answer in disabled)
                judgements.append(_judge(f"{serial}.{check}", disabled))
        if not judgements:
            return not_carried_out(ctx, self, "prerequisite_failed", "nothing ran with thinking disabled")
        return verdict(ctx, self, judgements, {"reasoning_chars": characters})


def _says_anything(answer: Observed) -> bool:
    """Say whether an answer can leak: one that failed without a sign of reasoning proves nothing."""
    return answer.failure is None or bool(answer.reasoning_seen)


def _judge(name: str, answers: Sequence[Observed]) -> Judgement:
    leaks = [answer for answer in answers if answer.reasoning_seen]
    channels = tuple(dict.fromkeys(channel for answer in leaks for channel in answer.reasoning_seen))
    faults = tuple(
        Fault("reasoning_leaked", f"{answer.name}: {', '.join(answer.reasoning_seen)}") for answer in leaks
    )
    return Judgement(name, faults=faults, reasoning_seen=channels)
