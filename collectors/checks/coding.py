"""`coding`: a small function is written, and gives the right values.

A code fence around it is how models answer such a question, so it is no fault here. The code passes an
allow-list and runs in isolation (`anvil.collectors.sandbox`); without isolation it is never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.jsonanswers import same
from anvil.collectors.checks.judging import Fault, Judgement, text_faults, verdict
from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.interface import Answer
from anvil.collectors.sandbox import SandboxUnavailable, evaluate
from anvil.ledger.events.checks import CheckCompleted

_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Task:
    """A function to write, and what it must return."""

    function: str
    request: str
    cases: tuple[tuple[list[Any], Any], ...]


TASKS: dict[str, Task] = {
    "count_vowels": Task(
        "count_vowels",
        "count_vowels(text) returns how many of the letters of text are one of a, e, i, o, u, in upper or "
        "lower case",
        ((["Anvil"], 2), ([""], 0), (["RHYTHM"], 0), (["AEIOU aeiou"], 10), (["x" * 50 + "e"], 1)),
    ),
    "run_lengths": Task(
        "run_lengths",
        "run_lengths(text) returns a list of two-element lists: each run of one character, and its length",
        (
            (["aaab"], [["a", 3], ["b", 1]]),
            ([""], []),
            (["abba"], [["a", 1], ["b", 2], ["a", 1]]),
            (["zzzzzz"], [["z", 6]]),
        ),
    ),
    "second_largest": Task(
        "second_largest",
        "second_largest(numbers) returns the second largest of the different numbers of a list, or None when "
        "there are not two different ones",
        (([[4, 9, 9, 7]], 7), ([[5]], None), ([[2, 2]], None), ([[-3, -8, 0]], -3), ([[]], None)),
    ),
}


class CodingParameters(Parameters):
    """Parameters of `coding`."""

    visible_tokens: int = Field(default=512, ge=1)
    tasks: Annotated[
        tuple[Literal["count_vowels", "run_lengths", "second_largest"], ...],
        Field(strict=False, min_length=1, max_length=3),
    ] = ("count_vowels", "second_largest")
    """Which functions are asked for."""


class Coding:
    """The check."""

    id = "coding"
    version = 1
    parameters = CodingParameters

    async def run(self, ctx: CheckContext[CodingParameters]) -> CheckCompleted:
        """Ask for each function and evaluate what comes back."""
        judgements = []
        for name in dict.fromkeys(ctx.parameters.tasks):
            task = TASKS[name]
            question = (
                f"Write a Python function such that {task.request}. Use no imports. "
                "Answer with the code alone."
            )
            answer = await ctx.chat(name, [{"role": "user", "content": question}])
            faults = text_faults(ctx, answer)
            if answer.failure is None and answer.visible.strip():
                faults += await _evaluated(answer, task)
            judgements.append(Judgement(name, answer, tuple(faults)))
        return verdict(ctx, self, judgements)


def code_of(text: str) -> str:
    """Return the code in an answer: its fenced blocks joined, or all of it where there is none."""
    blocks = _FENCE.findall(text)
    return "\n".join(blocks) if blocks else text.strip()


async def _evaluated(answer: Answer, task: Task) -> list[Fault]:
    try:
        found = await evaluate(code_of(answer.visible), task.function, [given for given, _ in task.cases])
    except SandboxUnavailable as error:
        return [Fault("sandbox_unavailable", str(error))]
    if found.problem:
        return [Fault("deterministic_check_failed", found.problem)]
    return [
        fault
        for case, result in zip(task.cases, found.results, strict=True)
        for fault in _wrong(case, result)
    ]


def _wrong(case: tuple[Sequence[Any], Any], result: dict[str, Any]) -> list[Fault]:
    given, expected = case
    if "value" in result and same(result["value"], expected):
        return []
    found = json.dumps(result["value"]) if "value" in result else result.get("error")
    message = f"for {json.dumps(list(given))} expected {json.dumps(expected)}, found {found}"
    return [Fault("deterministic_check_failed", message)]
