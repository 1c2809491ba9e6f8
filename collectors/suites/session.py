"""`session`: a fact that was told in the first turn is recalled in the third.

1. The turns between are the model's own: what it answered is sent back, as a client of a chat would.
2. An earlier turn need only be an answer: one that is cut by its cap, or says more than it was asked, goes into the
   conversation as it is. One that is none ends the repetition.
3. The last answer passes when it states the number, in figures, and no other of two figures or more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, common_faults, text_faults
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.interface import Answer
from anvil.collectors.suites.interface import Members, Suite
from anvil.collectors.suites.questions import user
from anvil.ledger.events.suites import Modality

FACT = "4715"

TURNS = (
    f"My locker at the station has the number {FACT}. I will ask you for it later. Answer with the word Noted.",
    "Which is heavier, a kilogram of iron or a kilogram of feathers? Answer with one short sentence.",
    "What is the number of my locker? Answer with the number alone.",
)

_CUT = frozenset({"stop", "length"})
_NUMBER = re.compile(r"\d{2,}")


class SessionParameters(Parameters):
    """Parameters of `session`."""

    visible_tokens: int = Field(default=64, ge=1)


@dataclass(frozen=True)
class Recall:
    """The item."""

    id: str = "recall"
    modality: Modality = "text"
    requests: int = len(TURNS)

    async def once(self, ctx: CheckContext[Any], name: str) -> Sequence[Judgement]:
        """Hold the conversation once."""
        said: list[Members] = []
        judgements = []
        for number, text in enumerate(TURNS, start=1):
            said.append(user(text))
            turn = f"{name}.{number}"
            answer = await ctx.chat(turn, said)
            is_last = number == len(TURNS)
            judgement = judge_recall(ctx, turn, answer) if is_last else judge_turn(ctx, turn, answer)
            judgements.append(judgement)
            if judgement.outcome != "passed":
                break
            said.append({"role": "assistant", "content": answer.visible})
        return judgements


def judge_turn(ctx: CheckContext[Any], name: str, answer: Answer) -> Judgement:
    """Judge a turn that only has to be an answer (rule 2)."""
    faults = common_faults(ctx, answer, finish=_CUT)
    if answer.failure is None and not answer.visible.strip():
        faults.append(Fault("visible_answer_missing", "no visible answer"))
    return Judgement(name, answer, tuple(faults))


def judge_recall(ctx: CheckContext[Any], name: str, answer: Answer) -> Judgement:
    """Judge the answer that is to state the fact (rule 3)."""
    faults = text_faults(ctx, answer)
    if answer.failure is not None or not answer.visible.strip():
        return Judgement(name, answer, tuple(faults))
    # Many write four figures with a separator.
    found = _NUMBER.findall(re.sub(r"(?<=\d)[,\u202f\u00a0'](?=\d{3}\b)", "", answer.visible))
    if set(found) != {FACT}:
        told = ", ".join(found) or "no number"
        faults.append(Fault("wrong_value", f"expected {FACT}, found {told} in {answer.visible!r}"))
    return Judgement(name, answer, tuple(faults), lenient_passed=FACT in found)


SESSION = Suite("session", 1, "diagnostic", SessionParameters, lambda _: (Recall(),))
"""The suite."""
