"""The floor under a prompt: a label such as "128k" is only ever the count that was reported."""

from __future__ import annotations

from dataclasses import replace

from anvil.collectors.checks.judging import Fault, Judgement


def with_floor(judgement: Judgement, floor: int) -> Judgement:
    """Return a judgement that also asks for at least `floor` reported prompt tokens.

    Where the endpoint reports none, whatever was answered proves nothing about such a length.
    """
    answer = judgement.answer
    if answer is None or answer.failure is not None:
        return judgement
    reported = answer.usage.prompt_tokens
    if reported is not None and reported >= floor:
        return judgement
    found = "no prompt tokens are reported" if reported is None else f"{reported} prompt tokens are reported"
    missed = Fault("prompt_floor_missed", f"{found}, at least {floor} were to be")
    undecided = "the length of the prompt is not known" if reported is None and not judgement.faults else ""
    return replace(judgement, faults=(*judgement.faults, missed), inconclusive=undecided)
