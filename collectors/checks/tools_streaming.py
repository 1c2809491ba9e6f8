"""`tools-streaming`: one tool question, streamed and not streamed, gives the same call.

Temperature 0 is not determinism: two answers whose text differs and whose parsed call is the same are
inconclusive. Two different calls are not: one of them is wrong by the question.
"""

from __future__ import annotations

from dataclasses import replace

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Judgement, not_carried_out, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.toolquestions import CITIES, DROPPED, TOOLS, are_dropped, judge, messages
from anvil.ledger.events.checks import CheckCompleted

_CALLED = frozenset({"tool_calls"})


class ToolsStreaming:
    """The check."""

    id = "tools-streaming"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Ask twice, one after the other, and compare."""
        if are_dropped(ctx):
            return not_carried_out(ctx, self, "tools_not_rendered", DROPPED, expected=2)
        city = ctx.draws("city").pick(CITIES)
        judgements = []
        for name, is_streamed in (("streamed", True), ("whole", False)):
            answer = await ctx.chat(name, messages(city), tools=TOOLS, tool_choice="auto", stream=is_streamed)
            judgements.append(judge(ctx, name, answer, city, finish=_CALLED))
        return verdict(ctx, self, _compared(*judgements))


def _compared(streamed: Judgement, whole: Judgement) -> list[Judgement]:
    if streamed.outcome == whole.outcome == "passed" and _text(streamed) != _text(whole):
        # Both calls were judged against the same question, so what they say is the same.
        message = f"the same call, but other text: {_text(streamed)!r} streamed, {_text(whole)!r} whole"
        return [replace(streamed, inconclusive=message), whole]
    return [streamed, whole]


def _text(judgement: Judgement) -> tuple[str, ...]:
    answer = judgement.answer
    return (answer.visible, *(call.arguments for call in answer.tool_calls)) if answer else ()
