"""`responses`: the Responses API gives an exact answer."""

from __future__ import annotations

from anvil.collectors.checks.interface import RESPONSES, CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, refuses, text_faults, unsupported, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.interface import Answer
from anvil.ledger.events.checks import CheckCompleted, FailureClass

_WORDS = ("BASALT", "CITRINE", "GRANITE", "MARBLE", "PUMICE", "SLATE")
_ENDED = frozenset({"stop", "completed"})


class Responses:
    """The check."""

    id = "responses"
    version = 1
    parameters = Parameters

    async def run(self, ctx: CheckContext[Parameters]) -> CheckCompleted:
        """Ask once; the joined output text must be the answer."""
        draws = ctx.draws("answer")
        expected = f"{draws.pick(_WORDS)}-{100 + draws.below(900)}"
        prompt = f"Answer with exactly this and nothing else: {expected}"
        answer = await ctx.ask("response", {"input": prompt}, path=RESPONSES)
        if refuses(answer):
            return verdict(ctx, self, [unsupported("response", answer)])
        return verdict(ctx, self, [_judge(ctx, answer, expected)])


def _judge(ctx: CheckContext[Parameters], answer: Answer, expected: str) -> Judgement:
    faults = text_faults(ctx, answer, finish=_ENDED)
    text = answer.visible.strip()
    if answer.failure is None:
        status = answer.raw.get("status") if isinstance(answer.raw, dict) else None
        if status != "completed" and not faults:
            faults.append(Fault("unexpected_finish_reason", f"status {status!r}, expected 'completed'"))
        if text and text != expected:
            kind: FailureClass = "prose_around" if expected in text else "wrong_value"
            faults.append(Fault(kind, f"expected {expected!r}, found {text!r}"))
    return Judgement("response", answer, tuple(faults), lenient_passed=expected in text)
