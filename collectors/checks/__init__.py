"""Functional checks: one file each, behind one interface, each versioned.

`CHECKS` is the registry; `context` and `carry_out` are how a run uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anvil.collectors.checks.canary import Canary
from anvil.collectors.checks.coding import Coding
from anvil.collectors.checks.execution import carry_out
from anvil.collectors.checks.finish import Finish
from anvil.collectors.checks.history import History
from anvil.collectors.checks.identity import Identity
from anvil.collectors.checks.image import Image
from anvil.collectors.checks.interface import Check, CheckContext, Launched, UnderTest
from anvil.collectors.checks.judging import not_carried_out
from anvil.collectors.checks.ocr import Ocr
from anvil.collectors.checks.parameters import misfits, parse
from anvil.collectors.checks.reasoning_leak import ReasoningLeak
from anvil.collectors.checks.responses import Responses
from anvil.collectors.checks.retrieval import Retrieval
from anvil.collectors.checks.structured_json import StructuredJson
from anvil.collectors.checks.structured_json_schema import StructuredJsonSchema
from anvil.collectors.checks.thinking_control import ThinkingControlCheck
from anvil.collectors.checks.tool_result import ToolResult
from anvil.collectors.checks.tools_batch import ToolsBatch
from anvil.collectors.checks.tools_long import ToolsLong
from anvil.collectors.checks.tools_rendered import ToolsRendered
from anvil.collectors.checks.tools_streaming import ToolsStreaming
from anvil.collectors.checks.video import Video

__all__ = [
    "CHECKS",
    "Check",
    "CheckContext",
    "History",
    "Launched",
    "UnderTest",
    "carry_out",
    "complaints_of",
    "context",
    "not_carried_out",
]

_ALL: tuple[Check[Any], ...] = (
    Identity(),
    Canary(),
    Coding(),
    StructuredJson(),
    StructuredJsonSchema(),
    Retrieval(),
    ToolsRendered(),
    ToolsBatch(),
    ToolsLong(),
    ToolsStreaming(),
    ToolResult(),
    Responses(),
    ThinkingControlCheck(),
    Image(),
    Ocr(),
    Video(),
    ReasoningLeak(),
    Finish(),
)

CHECKS: dict[str, Check[Any]] = {check.id: check for check in _ALL}
"""Every check by id, in an order in which each comes after what it looks back at."""


def context(
    under_test: UnderTest, check: str, parameters: Mapping[str, object], selected_as: str | None = None
) -> CheckContext[Any]:
    """Return the context of a selected check, with what the recipe says about it and calls it.

    Raises:
        CollectorError: a parameter is unknown or not of its type.
        KeyError: there is no such check.
    """
    return CheckContext(under_test, check, parse(CHECKS[check].parameters, check, parameters), selected_as)


def complaints_of(check: str, parameters: Mapping[str, object]) -> Iterable[tuple[str | None, str, str]]:
    """Yield what is wrong with a check that a recipe selects: which parameter, what, and what to write."""
    known = CHECKS.get(check)
    if known is None:
        yield None, f"there is no check {check!r}", f"One of {', '.join(CHECKS)}"
        return
    yield from misfits(known.parameters, f"check {check!r}", parameters)
