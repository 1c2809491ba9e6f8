"""`tools-rendered`: the chat template puts the offered tools into the prompt.

The same request is sent with and without `tools`. Equal counts of prompt tokens mean that the template
drops them; the other tool checks are then incomplete, which is not the model's failure.
"""

from __future__ import annotations

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, common_faults, refuses, unsupported, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.toolquestions import CITIES, TOOLS, messages
from anvil.collectors.interface import Answer
from anvil.ledger.events.checks import CheckCompleted

_ANY_END = frozenset({"stop", "length", "tool_calls"})


class ToolsRenderedParameters(Parameters):
    """Parameters of `tools-rendered`; the answers themselves are of no interest."""

    visible_tokens: int = Field(default=16, ge=1)


class ToolsRendered:
    """The check."""

    id = "tools-rendered"
    version = 1
    parameters = ToolsRenderedParameters

    async def run(self, ctx: CheckContext[ToolsRenderedParameters]) -> CheckCompleted:
        """Send both requests and compare their prompt tokens."""
        question = messages(ctx.draws("city").pick(CITIES))
        bare = await ctx.chat("without", question, is_probe=True)
        offered = await ctx.chat("with", question, is_probe=True, tools=TOOLS, tool_choice="auto")
        if refuses(offered):
            return verdict(ctx, self, [unsupported("with", offered)])
        sent = [
            Judgement(name, answer, tuple(common_faults(ctx, answer, finish=_ANY_END)), counts=False)
            for name, answer in (("without", bare), ("with", offered))
        ]
        compared = _compared(bare, offered)
        return verdict(ctx, self, [*sent, compared])


def _compared(bare: Answer, offered: Answer) -> Judgement:
    failed = [answer for answer in (bare, offered) if answer.failure is not None]
    if failed:  # why it failed is also why nothing could be compared
        faults = [Fault(answer.failure, answer.message) for answer in failed if answer.failure is not None]
        return Judgement("compared", faults=tuple(faults))
    counts = bare.usage.prompt_tokens, offered.usage.prompt_tokens
    if None in counts:
        return Judgement("compared", inconclusive="the endpoint reports no prompt tokens")
    if counts[0] == counts[1]:
        message = f"{counts[0]} prompt tokens with tools and without"
        return Judgement("compared", faults=(Fault("tools_not_rendered", message),))
    return Judgement("compared")
