"""`finish`: a policy over everything that ran: the finish reasons are among those that are allowed.

Answers that never ended are left to the checks that asked for them. It sends nothing itself.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, not_carried_out, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.public import Word


class FinishParameters(Parameters):
    """Parameters of `finish`."""

    allowed: Annotated[tuple[Word, ...], Field(strict=False, min_length=1, max_length=16)] = (
        "stop",
        "tool_calls",
        "completed",
    )
    """Finish reasons that may be given; `completed` is what the Responses API says."""


class Finish:
    """The check."""

    id = "finish"
    version = 1
    parameters = FinishParameters

    async def run(self, ctx: CheckContext[FinishParameters]) -> CheckCompleted:
        """Judge what the checks before this one saw, a check at a time."""
        judgements = []
        for (serial, check), seen in ctx.under_test.history.by_check().items():
            ended = [answer for answer in seen if answer.failure is None]
            faults = tuple(
                Fault("unexpected_finish_reason", f"{answer.name}: {answer.finish_reason!r}")
                for answer in ended
                if answer.finish_reason not in ctx.parameters.allowed
            )
            if ended:
                judgements.append(Judgement(f"{serial}.{check}", faults=faults))
        if not judgements:
            return not_carried_out(ctx, self, "prerequisite_failed", "no answer has ended yet")
        return verdict(ctx, self, judgements)
