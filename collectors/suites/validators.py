r"""Validators: the rules by which an item's answer is right or wrong, and the class of what is wrong.

1. A validator looks at the whole visible answer, blanks at its ends aside; `\r\n` is `\n`. A pattern is always
   anchored at both ends.
2. What is right inside a fence or among other words is not right, and has a class of its own, so that it is not
   taken for a wrong value. What a lenient reader would have said is recorded beside.
3. Patterns are RE2's: whatever the pattern and the answer, matching takes time in proportion to the answer.
   They have no look-around and no back references.
4. An answer whose visible text holds reasoning though none was asked for is `reasoning_leaked` before anything
   else: it says nothing about the value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.jsonanswers import BLANKS, FENCE, is_leniently, same, strict_faults
from anvil.collectors.checks.judging import Fault, Judgement, common_faults, text_faults
from anvil.collectors.checks.toolquestions import CALL_REASONS, debris_faults, parsed
from anvil.collectors.interface import Answer, ToolCall


class Validator(Protocol):
    """A rule for one answer."""

    @property
    def wants_call(self) -> bool:
        """Whether the answer is to be a tool call, and no text."""

    def faults(self, answer: Answer) -> list[Fault]:
        """Return what is wrong with an answer that is whole."""

    def is_lenient(self, answer: Answer) -> bool | None:
        """Say whether a forgiving reader would let it pass; null where there is no such reading."""


def judge(ctx: CheckContext[Any], name: str, answer: Answer, validator: Validator) -> Judgement:
    """Judge an answer by the rules that hold for every answer, and by its validator."""
    if validator.wants_call:
        faults = common_faults(ctx, answer, finish=CALL_REASONS)
        is_judged = answer.failure is None
    else:
        faults = text_faults(ctx, answer)
        is_judged = answer.failure is None and bool(answer.visible.strip())
    if not is_judged:
        return Judgement(name, answer, tuple(faults))
    own = validator.faults(answer)
    if own and "tags" in answer.reasoning_seen and ctx.parameters.thinking == "disabled":
        faults.append(
            Fault("reasoning_leaked", "the visible text holds reasoning though thinking is disabled")
        )
    return Judgement(name, answer, (*faults, *own), lenient_passed=validator.is_lenient(answer))


@dataclass(frozen=True)
class Exact:
    """The visible answer is one text."""

    expected: str
    wants_call: bool = False

    def faults(self, answer: Answer) -> list[Fault]:
        """Compare the texts."""
        found, wanted = _plain(answer.visible), _plain(self.expected)
        return [] if found == wanted else _texts_apart(found, wanted)

    def is_lenient(self, answer: Answer) -> bool | None:
        """Forgive a fence, and words around."""
        return _plain(self.expected) in _plain(answer.visible)


@dataclass(frozen=True)
class RegexFull:
    """The whole visible answer matches a pattern."""

    pattern: str
    wants_call: bool = False

    def faults(self, answer: Answer) -> list[Fault]:
        """Match the whole text."""
        found = _plain(answer.visible)
        if self._fits(found):
            return []
        fenced = FENCE.search(found)
        if fenced and self._fits(_plain(fenced.group(1))):
            around = bool(FENCE.sub("", found, count=1).strip(BLANKS))
            return [_FENCED, *([_PROSE] if around else [])]
        return [Fault("wrong_value", f"the answer {found!r} does not match {self.pattern!r}")]

    def is_lenient(self, answer: Answer) -> bool | None:
        """There is no lenient reading of a pattern."""
        del answer
        return None

    def _fits(self, text: str) -> bool:
        return compiled(self.pattern).fullmatch(text) is not None


@dataclass(frozen=True)
class JsonEquals:
    """The visible answer is JSON that is equal to a value. Members may come in any order."""

    expected: Any
    wants_call: bool = False

    def faults(self, answer: Answer) -> list[Fault]:
        """Read strictly and compare."""
        return strict_faults(answer.visible, self.expected)

    def is_lenient(self, answer: Answer) -> bool | None:
        """Read an object leniently."""
        if not isinstance(self.expected, dict):
            return None
        return is_leniently(answer.visible, self.expected)


@dataclass(frozen=True)
class CallsTool:
    """The answer makes exactly one call, of one tool, with exactly these arguments."""

    name: str
    arguments: Any
    wants_call: bool = True

    def faults(self, answer: Answer) -> list[Fault]:
        """Look at the calls, and for remains of a protocol in the text."""
        faults = debris_faults(answer)
        calls = answer.tool_calls
        if not calls:
            return [*faults, Fault("no_call", "no tool was called")]
        if len(calls) > 1:
            made = ", ".join(f"{call.name}({call.arguments})" for call in calls)
            faults.append(Fault("several_calls", f"{len(calls)} calls instead of one: {made}"))
        for call in calls:
            faults += self._faults_of(call)
        return faults

    def is_lenient(self, answer: Answer) -> bool | None:
        """There is no lenient reading of a call."""
        del answer
        return None

    def _faults_of(self, call: ToolCall) -> list[Fault]:
        if call.name != self.name:
            return [Fault("wrong_tool", f"{call.name!r} was called instead of {self.name!r}")]
        found = parsed(call)
        if not isinstance(found, dict) or _shape(found) != _shape(self.arguments):
            return [Fault("invalid_arguments", f"not what the tool takes: {call.arguments}")]
        if not same(found, self.arguments):
            wanted = json.dumps(self.arguments, ensure_ascii=False)
            return [Fault("wrong_arguments", f"{call.arguments} instead of {wanted}")]
        return []


_FENCED = Fault("fenced", "the answer is in a code fence")
_PROSE = Fault("prose_around", "there is text around the answer")


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").strip(BLANKS)


def _texts_apart(found: str, wanted: str) -> list[Fault]:
    fenced = FENCE.search(found)
    if fenced and _plain(fenced.group(1)) == wanted:
        around = bool(FENCE.sub("", found, count=1).strip(BLANKS))
        return [_FENCED, *([_PROSE] if around else [])]
    if wanted in found:
        return [_PROSE]
    return [Fault("wrong_value", f"expected {wanted!r}, found {found!r}")]


def _shape(arguments: dict[str, Any]) -> dict[str, type]:
    """Return the kind of each argument; all numbers are of one kind."""
    kinds = {name: type(value) for name, value in arguments.items()}
    return {name: float if kind is int else kind for name, kind in kinds.items()}


@cache
def compiled(pattern: str) -> Any:
    """Return a pattern as RE2 reads it.

    Raises:
        ValueError: it is none; the message says why.
    """
    import re2  # type: ignore[import-untyped]  # it has no types of its own

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        told = error.args[0] if error.args else ""
        raise ValueError(told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)) from None
