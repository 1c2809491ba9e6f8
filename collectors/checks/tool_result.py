"""`tool-result`: the answer uses what a tool returned.

The first turn is fixed, so that every model is given the same: a question, one call with an id of nine
letters and digits (some templates refuse any other), and the tool's result.
"""

from __future__ import annotations

import json
import re
from typing import Any

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, not_carried_out, text_faults, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.toolquestions import CITIES, DROPPED, TOOL, TOOLS, are_dropped
from anvil.collectors.filler import Draws
from anvil.ledger.events.checks import CheckCompleted

_ID_LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_SKIES = ("drizzle", "fog", "hail", "sleet", "sunshine", "thunderstorm")


class ToolResult:
    """The check."""

    id = "tool-result"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Send the second turn and look for the result's values in the answer."""
        if are_dropped(ctx):
            return not_carried_out(ctx, self, "tools_not_rendered", DROPPED)
        draws = ctx.draws("turn")
        degrees, sky = 11 + draws.below(28), draws.pick(_SKIES)
        messages = turns(draws, degrees, sky)
        answer = await ctx.chat("second_turn", messages, tools=TOOLS, tool_choice="auto")
        faults = text_faults(ctx, answer)
        if answer.failure is None and answer.visible.strip():
            faults += [
                Fault("wrong_value", f"{value!r} of the tool's result is not in the answer")
                for value in (str(degrees), sky)
                if not states(answer.visible, value)
            ]
        return verdict(ctx, self, [Judgement("second_turn", answer, tuple(faults))])


def turns(draws: Draws, degrees: int, sky: str) -> list[dict[str, Any]]:
    """Return the conversation up to the tool's result."""
    city = draws.pick(CITIES)
    call_id = "".join(draws.pick(_ID_LETTERS) for _ in range(9))
    call = {"name": TOOL, "arguments": json.dumps({"city": city}, ensure_ascii=False)}
    result = json.dumps({"city": city, "degrees_celsius": degrees, "sky": sky}, ensure_ascii=False)
    question = f"What is the weather in {city}? State the temperature as a number, and the sky."
    return [
        {"role": "user", "content": question},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": call_id, "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": call_id, "name": TOOL, "content": result},
    ]


def states(text: str, value: str) -> bool:
    """Say whether a text has a value as a whole word, case folded."""
    return re.search(rf"(?<!\w){re.escape(value.casefold())}(?!\w)", text.casefold()) is not None
