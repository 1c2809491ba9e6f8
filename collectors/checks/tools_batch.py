"""`tools-batch`: tool questions in parallel, each about another city.

How many passed of how many were expected is what is recorded; a label such as `tools-20-of-20` is made
of these numbers, and is never the name of the check.
"""

from __future__ import annotations

import asyncio

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import not_carried_out, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.toolquestions import CITIES, DROPPED, TOOLS, are_dropped, judge, messages
from anvil.ledger.events.checks import CheckCompleted


class ToolsBatchParameters(Parameters):
    """Parameters of `tools-batch`."""

    requests: int = Field(default=20, ge=1, le=len(CITIES))
    """How many requests are sent at once."""


class ToolsBatch:
    """The check."""

    id = "tools-batch"
    version = 1
    parameters = ToolsBatchParameters

    async def run(self, ctx: CheckContext[ToolsBatchParameters]) -> CheckCompleted:
        """Send all requests at once and judge each by itself."""
        expected = ctx.parameters.requests
        if are_dropped(ctx):
            return not_carried_out(ctx, self, "tools_not_rendered", DROPPED, expected=expected)
        cities = ctx.draws("cities").sample(CITIES, expected)
        names = [f"r{number}" for number in range(1, expected + 1)]
        # Nobody is cancelled when one fails to be kept: what the others bring is kept first.
        answers = await asyncio.gather(
            *(
                ctx.chat(name, messages(city), tools=TOOLS, tool_choice="auto")
                for name, city in zip(names, cities, strict=True)
            ),
            return_exceptions=True,
        )
        judgements = []
        for name, answer, city in zip(names, answers, cities, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            judgements.append(judge(ctx, name, answer, city))
        return verdict(ctx, self, judgements)
