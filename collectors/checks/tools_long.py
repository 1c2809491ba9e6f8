"""`tools-long`: the tool question after a floor of actual prompt tokens."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from anvil.collectors.checks.calibration import sized_filler, window_problem
from anvil.collectors.checks.floors import with_floor
from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import not_carried_out, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.toolquestions import CITIES, DROPPED, TOOLS, are_dropped, judge, messages
from anvil.collectors.filler import Filler
from anvil.ledger.events.checks import CheckCompleted


class ToolsLongParameters(Parameters):
    """Parameters of `tools-long`."""

    floor_tokens: int = Field(default=100_000, ge=1)
    """Prompt tokens that the endpoint must report at least."""


class ToolsLong:
    """The check."""

    id = "tools-long"
    version = 1
    parameters = ToolsLongParameters

    async def run(self, ctx: CheckContext[ToolsLongParameters]) -> CheckCompleted:
        """Calibrate the filler, ask, and hold the count against the floor."""
        if are_dropped(ctx):
            return not_carried_out(ctx, self, "tools_not_rendered", DROPPED)
        floor = ctx.parameters.floor_tokens
        if problem := window_problem(ctx, floor):
            return not_carried_out(ctx, self, "prerequisite_failed", problem)
        city = ctx.draws("city").pick(CITIES)
        sized = await sized_filler(ctx, "filler", floor, lambda text: _prompt(city, text))
        if problem := window_problem(ctx, sized.counted or 0):
            return not_carried_out(ctx, self, "prerequisite_failed", problem)
        ctx.note_filler(sized.text)
        answer = await ctx.ask("long", {**_prompt(city, sized.text), "tool_choice": "auto"}, stream=True)
        judgement = with_floor(judge(ctx, "long", answer, city), floor)
        return verdict(ctx, self, [judgement], {"filler_words": sized.text.words})


def _prompt(city: str, text: Filler) -> dict[str, Any]:
    return {"messages": messages(city, text.text), "tools": TOOLS}
