"""`structured-json-schema`: an exact JSON object, asked for in words and by `response_format`.

The schema says which types the members have and not which values, so the values still are the model's.
"""

from __future__ import annotations

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.jsonanswers import SCHEMA, judge, question, wanted
from anvil.collectors.checks.judging import refuses, unsupported, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.ledger.events.checks import CheckCompleted


class StructuredJsonSchema:
    """The check."""

    id = "structured-json-schema"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Ask once."""
        value = wanted(ctx.draws("object"))
        schema = {"name": "stock_item", "strict": True, "schema": SCHEMA}
        answer = await ctx.chat(
            "object",
            [{"role": "user", "content": question(value)}],
            response_format={"type": "json_schema", "json_schema": schema},
        )
        if refuses(answer):
            return verdict(ctx, self, [unsupported("object", answer)])
        return verdict(ctx, self, [judge(ctx, "object", answer, value)])
