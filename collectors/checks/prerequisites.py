"""What a selection of checks lacks: each that can only end without a verdict, as `prerequisite_failed`.

Said before a run, from the recipe alone; in the order of the checks, since each looks back at those before it.

1. `finish` and `reasoning-leak` judge answers that earlier checks got; `identity` and `tools-rendered` only probe.
2. `reasoning-leak` judges those among them that were asked with thinking disabled.
3. `thinking-control` needs a candidate with a thinking control.
4. A prompt and its cap must fit the window, also where the size is a default.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.checks.retrieval import RetrievalParameters
from anvil.collectors.checks.tools_long import ToolsLongParameters

PROBING = frozenset({"identity", "tools-rendered"})
"""Checks whose requests only measure the endpoint."""

POLICIES = frozenset({"reasoning-leak", "finish"})
"""Checks that send nothing, and judge what the others saw."""


@dataclass(frozen=True)
class Planned:
    """A selected check: what the recipe calls it, which it is, and its parameters."""

    name: str
    id: str
    parameters: Parameters


@dataclass(frozen=True)
class Lack:
    """Something that a selected check lacks."""

    name: str
    """What the recipe calls it."""
    why: str
    """Why it comes to no verdict, for people."""
    write: str
    """What to write."""


def lacks(checks: Sequence[Planned], *, has_control: bool, window: int | None) -> Iterator[Lack]:
    """Yield what the checks lack, in order.

    `has_control` says whether the candidate has a thinking control; `window` is null where the recipe names none.
    """
    for position, check in enumerate(checks):
        yield from _lacks(check, checks[:position], has_control=has_control, window=window)


def _lacks(
    check: Planned, before: Sequence[Planned], *, has_control: bool, window: int | None
) -> Iterator[Lack]:
    asking = [one for one in before if one.id not in PROBING | POLICIES]
    if check.id in POLICIES and not asking:
        yield Lack(
            check.name,
            "no check before it asks the model anything, so there is nothing to judge",
            "Select a check that asks something (`structured-json`, `coding`, …), before it",
        )
    elif check.id == "reasoning-leak" and not any(_is_disabled(one) for one in asking):
        yield Lack(
            check.name,
            "every check before it leaves thinking on, so there is nothing to judge",
            'Select a check with `thinking = "disabled"`, which is the default, before it',
        )
    if check.id == "thinking-control" and not has_control:
        yield Lack(
            check.name,
            "the candidate names no thinking control",
            'Write `thinking = "enable_thinking"` or "reasoning_effort" in the candidate, or leave the check out',
        )
    if (needed := _prompt_tokens(check.parameters)) and window and needed + check.parameters.cap > window:
        yield Lack(
            check.name,
            f"{needed} prompt tokens and a cap of {check.parameters.cap} do not fit the window of {window}",
            "Write a smaller size in its `parameters`, or give the engine a larger window",
        )


def _is_disabled(check: Planned) -> bool:
    return check.id == "thinking-control" or check.parameters.thinking == "disabled"


def _prompt_tokens(parameters: Any) -> int | None:
    match parameters:
        case RetrievalParameters():
            return parameters.target_tokens
        case ToolsLongParameters():
            return parameters.floor_tokens
        case _:
            return None
