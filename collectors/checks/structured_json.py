"""`structured-json`: an exact JSON object, asked for in words."""

from __future__ import annotations

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.jsonanswers import judge, question, wanted
from anvil.collectors.checks.judging import verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.ledger.events.checks import CheckCompleted


class StructuredJson:
    """The check."""

    id = "structured-json"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Ask once."""
        value = wanted(ctx.draws("object"))
        answer = await ctx.chat("object", [{"role": "user", "content": question(value)}])
        return verdict(ctx, self, [judge(ctx, "object", answer, value)])
