"""Suites from files: questions of a user's own, with the rules for their answers.

1. A file is TOML or JSON, of one shape; whatever it holds that it should not has its line and a remedy.
2. A validator has what it needs and nothing else: `exact` and `json_equals` an `expected` value, `regex_full` a
   `pattern`, `tool_call` the `expected` call and the `tools` that are offered.
3. What is expected can be met: a text that is not blank, a JSON value, a pattern, a call of a tool that is offered.
4. No item stands twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.recipes.jsonfile import read_json_file
from anvil.collectors.recipes.parts import Part, Text
from anvil.collectors.recipes.problems import Complaint, KeyPath
from anvil.collectors.recipes.tomlfile import read_toml, validated
from anvil.collectors.suites.interface import MAX_REQUESTS, Item, Purpose, Source, Suite
from anvil.collectors.suites.questions import Question, system, user
from anvil.collectors.suites.validators import CallsTool, Exact, JsonEquals, RegexFull, Validator, compiled
from anvil.ledger.public import Count, Label

KIND = "suite"
LONGEST_PATTERN = 1000
LONGEST_TEXT = 200_000
DEEPEST = 32
_MEDIA_TYPES = {"toml": "application/toml", "json": "application/json"}

ItemId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
"""An item's name: `a-z 0-9 _ -`, at most 40 characters."""

Prompt = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_TEXT)]
"""What is sent, at most 200,000 characters."""

ValidatorName = Literal["exact", "regex_full", "json_equals", "tool_call"]
"""By which rule an answer is judged."""


class SuiteItemBlock(Part):
    """One question: an `[[items]]` block."""

    id: ItemId
    """What it is called."""
    prompt: Prompt
    """The user's message."""
    system: Prompt | None = None
    """The system message, if there is one."""
    validator: ValidatorName
    """By which rule the answer is judged."""
    expected: Any = None
    """Of `exact` a text, of `json_equals` any JSON value, of `tool_call` `{ name = …, arguments = … }`."""
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_PATTERN)] | None = None
    """Of `regex_full`: what the whole answer matches, as RE2 reads it; always anchored at both ends."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Of `tool_call`: the tools that are offered, as the endpoint takes them."""


class SuiteFileBlock(Part):
    """The whole of a suite file."""

    format: Literal["anvil.suite/1"]
    """Which language the file is in."""
    name: Label
    """What the suite is called; the recipe's `id`."""
    version: Count = 1
    """Its version; a changed question or rule is a new one."""
    about: Text
    """What it is for, for people."""
    purpose: Purpose
    """`diagnostic`: to find out what is wrong; `ranking`: to compare models."""
    items: Annotated[tuple[SuiteItemBlock, ...], Field(min_length=1)]
    """The questions."""


class ExternalParameters(Parameters):
    """Parameters of a suite from a file."""


def read_suite(content: bytes, source: str) -> Suite:
    """Return the suite that a file holds; the end of `source`, its name, says whether it is TOML or JSON.

    Raises:
        FileRefused: it is none; each problem has its line and what to write instead.
    """
    ending = source.rpartition(".")[2]
    toml = (read_json_file if ending == "json" else read_toml)(content, source, KIND)
    file = validated(toml, SuiteFileBlock)
    toml.refuse(list(complaints(file)))
    items: tuple[Item, ...] = tuple(_question(block) for block in file.items)
    made_of = Source("suite", _MEDIA_TYPES[ending], content)
    return Suite(file.name, file.version, file.purpose, ExternalParameters, lambda _: items, made_of)


def _question(block: SuiteItemBlock) -> Question:
    before = () if block.system is None else (system(block.system),)
    tools = tuple(plain(tool) for tool in block.tools)
    return Question(block.id, (*before, user(block.prompt)), _validator(block), tools)


def _validator(block: SuiteItemBlock) -> Validator:
    match block.validator:
        case "exact":
            return Exact(block.expected)
        case "regex_full":
            return RegexFull(block.pattern or "")
        case "json_equals":
            return JsonEquals(plain(block.expected))
        case "tool_call":
            call = plain(block.expected)
            return CallsTool(call["name"], call["arguments"])


def plain(value: Any) -> Any:
    """Return a value with arrays as lists, which is how JSON is read."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


# --- what is wrong with a file ---------------------------------------------------------------------------

_NEEDS: Mapping[ValidatorName, frozenset[str]] = {
    "exact": frozenset({"expected"}),
    "regex_full": frozenset({"pattern"}),
    "json_equals": frozenset({"expected"}),
    "tool_call": frozenset({"expected", "tools"}),
}


def complaints(file: SuiteFileBlock) -> Iterator[Complaint]:
    """Yield what is wrong with a suite file that has the right shape."""
    if len(file.items) > MAX_REQUESTS:
        yield Complaint(
            ("items",),
            f"{len(file.items)} items are more than {MAX_REQUESTS}, the requests that one event can name",
            "Split the file in several suites",
        )
    seen: set[str] = set()
    for position, block in enumerate(file.items):
        at: KeyPath = ("items", position)
        if block.id in seen:
            yield Complaint((*at, "id"), f"item {block.id!r} stands twice", "Give one another `id`")
        seen.add(block.id)
        wrong = list(_members(at, block))
        yield from wrong or _expectation(at, block)


def _members(at: KeyPath, block: SuiteItemBlock) -> Iterator[Complaint]:
    needed = _NEEDS[block.validator]
    given = block.model_fields_set & {"expected", "pattern", "tools"}
    for name in sorted(needed - given):
        yield Complaint(at, f"`{block.validator}` needs `{name}`", f"Write `{name} = …`")
    for name in sorted(given - needed):
        told = " and ".join(f"`{need}`" for need in sorted(needed))
        yield Complaint((*at, name), f"`{block.validator}` has no `{name}`", f"It takes {told}; leave it out")


def _expectation(at: KeyPath, block: SuiteItemBlock) -> Iterator[Complaint]:
    where: KeyPath = (*at, "expected")
    match block.validator:
        case "exact":
            if not isinstance(block.expected, str) or not block.expected.strip():
                yield Complaint(
                    where,
                    "`exact` compares texts, and this is none",
                    'Write the answer in quotes: expected = "…"',
                )
        case "regex_full":
            yield from _pattern((*at, "pattern"), block.pattern or "")
        case "json_equals":
            yield from _json(where, block.expected)
        case "tool_call":
            yield from list(_json(where, block.expected)) or _call(at, block)


def _pattern(at: KeyPath, pattern: str) -> Iterator[Complaint]:
    try:
        matcher = compiled(pattern)
    except ValueError as error:
        yield Complaint(
            at,
            f"{pattern[:60]!r} is no pattern that can be matched in bounded time: {error}",
            "Write one as RE2 reads it, without look-around and back references",
        )
        return
    if matcher.fullmatch("") is not None:
        yield Complaint(
            at, f"{pattern[:60]!r} matches an empty answer", "Write a pattern that an answer must fit"
        )


def _json(at: KeyPath, value: Any, depth: int = 0) -> Iterator[Complaint]:
    if depth > DEEPEST:
        yield Complaint(at, "this is nested too deeply", "Write fewer brackets within brackets")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _json((*at, name), item, depth + 1)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _json((*at, position), item, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        yield Complaint(at, f"{value} is no number of JSON", "Write a number in figures")
    elif not isinstance(value, str | int | float | bool | None):
        yield Complaint(
            at, f"a {type(value).__name__} is no value of JSON", "Write it in quotes, as the answer has it"
        )


def _call(at: KeyPath, block: SuiteItemBlock) -> Iterator[Complaint]:
    call = block.expected
    where: KeyPath = (*at, "expected")
    if (
        not isinstance(call, Mapping)
        or set(call) != {"name", "arguments"}
        or not isinstance(call["name"], str)
        or not isinstance(call["arguments"], Mapping)
    ):
        yield Complaint(where, "this is no tool call", 'Write { name = "TOOL", arguments = { … } }')
        return
    offered = [_name_of(tool) for tool in block.tools]
    if None in offered:
        yield Complaint(
            (*at, "tools", offered.index(None)),
            "this is no tool",
            'Write { type = "function", function = { name = "…", description = "…", parameters = { … } } }',
        )
    elif call["name"] not in offered:
        told = ", ".join(name for name in offered if name) or "none"
        yield Complaint((*where, "name"), f"the tool {call['name'][:60]!r} is not offered", f"One of: {told}")


def _name_of(tool: Mapping[str, Any]) -> str | None:
    function = tool.get("function")
    name = function.get("name") if tool.get("type") == "function" and isinstance(function, Mapping) else None
    return name if isinstance(name, str) and name else None
