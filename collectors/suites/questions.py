"""An item of one request: a text question, and the rule for its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement
from anvil.collectors.checks.toolquestions import DROPPED, are_dropped
from anvil.collectors.suites.interface import Members
from anvil.collectors.suites.validators import Validator, judge
from anvil.ledger.events.suites import Modality


@dataclass(frozen=True)
class Question:
    """Messages that are sent as they are, with tools if there are any."""

    id: str
    messages: tuple[Members, ...]
    validator: Validator
    tools: tuple[Members, ...] = ()
    modality: Modality = "text"
    requests: int = 1

    async def once(self, ctx: CheckContext[Any], name: str) -> Sequence[Judgement]:
        """Ask once; where the chat template is known to drop tools, nothing that needs them is sent."""
        if self.tools and are_dropped(ctx):
            return (Judgement(name, None, (Fault("tools_not_rendered", DROPPED),)),)
        members: dict[str, Any] = {"tools": list(self.tools), "tool_choice": "auto"} if self.tools else {}
        answer = await ctx.chat(name, self.messages, **members)
        return (judge(ctx, name, answer, self.validator),)


def user(text: str) -> Members:
    """Return a user's message."""
    return {"role": "user", "content": text}


def system(text: str) -> Members:
    """Return a system message."""
    return {"role": "system", "content": text}
