"""`canary`: one short question with one right answer. A server that has begun to talk nonsense fails it.

1. It passes when the right word stands in the answer, whole, whatever its case, and the answer ended by itself
   within few tokens. Whether it was that word and nothing else is recorded beside. Even a very small model
   that is sound knows this one.
2. Load protocols ask it before, between and after their cells, under names of their own: one that fails
   invalidates what follows. A recipe can select it like any other check.
"""

from __future__ import annotations

import re

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import STOP, Fault, Judgement, text_faults, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.ledger.events.checks import CheckCompleted

QUESTION = "What is the capital of France? Answer with one word."
_RIGHT = re.compile(r"\bparis\b")
_MARKS = " \t\r\n.!\"'`*"


class CanaryParameters(Parameters):
    """Parameters of `canary`."""

    visible_tokens: int = 32
    """Tokens allowed for the visible answer."""


class Canary:
    """The check."""

    id = "canary"
    version = 1
    parameters = CanaryParameters

    async def run(self, ctx: CheckContext[CanaryParameters]) -> CheckCompleted:
        """Ask once."""
        answer = await ctx.chat("canary", [{"role": "user", "content": QUESTION}])
        faults = text_faults(ctx, answer, finish=STOP)
        said = answer.visible.casefold()
        if answer.failure is None and not _RIGHT.search(said):
            faults.append(Fault("wrong_value", f"expected 'Paris', found {answer.visible[:200]!r}"))
        findings = {} if answer.failure else {"is_exact": said.strip(_MARKS) == "paris"}
        return verdict(ctx, self, [Judgement("canary", answer, tuple(faults))], findings)
