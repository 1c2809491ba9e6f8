"""`tools-rendered`: the chat template puts the offered tools into the prompt.

The same request is sent with and without `tools`. Equal counts of prompt tokens mean that the template
drops them; the other tool checks are then incomplete, which is not the model's failure.
"""

from __future__ import annotations

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, common_faults, refuses, unsupported, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.toolquestions import CITIES, TOOLS, messages
from anvil.ledger.events.checks import CheckCompleted

_ANY_END = frozenset({"stop", "length", "tool_calls"})


class ToolsRenderedParameters(Parameters):
    """Parameters of `tools-rendered`; the answers themselves are of no interest."""

    visible_tokens: int = 16


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
        # Where one of the two failed, why it failed is also why nothing could be compared.
        faults = tuple(fault for judgement in sent for fault in judgement.faults)
        compared = (
            Judgement("compared", faults=faults)
            if faults
            else _compared(bare.usage.prompt_tokens, offered.usage.prompt_tokens)
        )
        return verdict(ctx, self, [*sent, compared])


def _compared(bare: int | None, offered: int | None) -> Judgement:
    if bare is None or offered is None:
        return Judgement("compared", inconclusive="the endpoint reports no prompt tokens")
    if bare == offered:
        message = f"{bare} prompt tokens with tools and without"
        return Judgement("compared", faults=(Fault("tools_not_rendered", message),))
    return Judgement("compared")
