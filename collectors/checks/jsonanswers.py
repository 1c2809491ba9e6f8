"""Strict and lenient readings of an answer that should be one JSON object and nothing else.

1. The strict reading decides: the whole visible answer, blanks around it aside, is the object asked for.
2. What is wrong has a class: a fence, prose around, extra keys, a wrong value; what is no JSON at all
   fails the check without a finer name.
3. The lenient reading (fence and prose taken off, a trailing comma forgiven, extra keys ignored) is
   recorded beside and decides nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Fault, Judgement, text_faults
from anvil.collectors.filler import Draws
from anvil.collectors.interface import Answer

BLANKS = " \t\n\r"
FENCE = re.compile(r"```[^\n`]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_COLOURS = ("amber", "crimson", "indigo", "olive", "silver", "teal")
_TOOLS = ("anchor", "chisel", "hammer", "ladder", "pulley", "wrench")


class _DoubledKeyError(ValueError):
    """An object has one key twice; what it means depends on the reader."""


def wanted(draws: Draws) -> dict[str, Any]:
    """Return the object that is asked for."""
    return {
        "item": draws.pick(_TOOLS),
        "count": 2 + draws.below(90),
        "in_stock": draws.below(2) == 1,
        "colours": draws.sample(_COLOURS, 2),
    }


def question(value: dict[str, Any]) -> str:
    """Return the request for an object, in words."""
    first, second = value["colours"]
    stock = "true" if value["in_stock"] else "false"
    return (
        "Answer with one JSON object and nothing else: no code fence, no explanation. It has exactly four "
        f'keys. "item" is the string "{value["item"]}". "count" is the number {value["count"]}. "in_stock" '
        f'is {stock}. "colours" is an array of the strings "{first}" and "{second}", in this order.'
    )


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "item": {"type": "string"},
        "count": {"type": "integer"},
        "in_stock": {"type": "boolean"},
        "colours": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
    },
    "required": ["item", "count", "in_stock", "colours"],
    "additionalProperties": False,
}


def judge(ctx: CheckContext[Any], name: str, answer: Answer, value: dict[str, Any]) -> Judgement:
    """Judge an answer that should be `value` as JSON."""
    faults = text_faults(ctx, answer)
    if answer.failure is not None or not answer.visible.strip():
        return Judgement(name, answer, tuple(faults), lenient_passed=False)
    faults += strict_faults(answer.visible, value)
    return Judgement(name, answer, tuple(faults), lenient_passed=is_leniently(answer.visible, value))


def strict_faults(text: str, value: Any) -> list[Fault]:
    """Return what keeps a text from being `value` as JSON and nothing else."""
    try:
        found = strictly(text.strip(BLANKS))
    except (ValueError, RecursionError) as error:
        return [*_wrapped(text), Fault("deterministic_check_failed", f"not JSON: {error}")]
    if same(found, value):
        return []
    if isinstance(found, dict) and isinstance(value, dict) and set(found) > set(value):
        extra = ", ".join(sorted(set(found) - set(value)))
        faults = [Fault("extra_keys", f"keys that were not asked for: {extra}")]
        if same({key: found[key] for key in value}, value):
            return faults
        return [*faults, Fault("wrong_value", f"expected {json.dumps(value)}")]
    return [Fault("wrong_value", f"expected {json.dumps(value)}, found {json.dumps(found)}")]


def _wrapped(text: str) -> list[Fault]:
    faults = []
    fenced = FENCE.search(text)
    if fenced:
        faults.append(Fault("fenced", "the object is in a code fence"))
    rest = FENCE.sub("", text) if fenced else text
    if fenced and rest.strip(BLANKS):
        faults.append(Fault("prose_around", "there is text around the code fence"))
    elif not fenced and (found := _first_object(text)) is not None:
        begin, end, _ = found
        if (text[:begin] + text[end:]).strip(BLANKS):
            faults.append(Fault("prose_around", "there is text around the object"))
    return faults


def is_leniently(text: str, value: dict[str, Any]) -> bool:
    """Say whether a forgiving reader finds `value` in a text."""
    fenced = FENCE.search(text)
    found = _first_object(_TRAILING_COMMA.sub(r"\1", fenced.group(1) if fenced else text))
    if found is None or not isinstance(found[2], dict):
        return False
    return same({key: found[2][key] for key in value if key in found[2]}, value)


def _first_object(text: str) -> tuple[int, int, Any] | None:
    decoder = json.JSONDecoder()
    for match in re.finditer(r"\{", text[:20_000]):
        try:
            found, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        return match.start(), end, found
    return None


def strictly(text: str) -> Any:
    """Return the value of a JSON text that all readers read alike.

    Raises:
        ValueError: it is none; a key that an object has twice is what readers differ about.
        RecursionError: it is nested too deep.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise _DoubledKeyError("an object has one key twice")
        return dict(pairs)

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name} is not JSON")

    return json.loads(text, object_pairs_hook=once, parse_constant=no_constant)


def same(found: Any, value: Any) -> bool:
    """Say whether two JSON values are equal; unlike in Python, ``true`` is not ``1``."""
    if isinstance(found, bool) or isinstance(value, bool):
        return found is value
    if isinstance(found, dict) and isinstance(value, dict):
        return set(found) == set(value) and all(same(found[key], value[key]) for key in value)
    if isinstance(found, list) and isinstance(value, list):
        return len(found) == len(value) and all(map(same, found, value))
    return bool(found == value)
