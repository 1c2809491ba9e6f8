"""The tool question that several checks ask: one city, one tool that is needed, one that is not.

An answer passes with exactly one call, of the right tool, whose arguments are an object valid by the
tool's schema and name the city that was asked for (trimmed, case folded), and with no remains of a
tool protocol in the visible text.
"""

from __future__ import annotations

import re
from typing import Any

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.jsonanswers import strictly
from anvil.collectors.checks.judging import Fault, Judgement, common_faults
from anvil.collectors.interface import Answer, ToolCall

SYSTEM = (
    "You look things up with tools. When a tool can answer, call it once, with the arguments exactly as "
    "they were written, and say nothing else."
)

TOOL = "get_weather"

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Returns the weather of a city at this moment.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "description": "The name of the city."}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "convert_currency",
            "description": "Converts an amount of money from one currency to another.",
            "parameters": {
                "type": "object",
                "properties": {
                    "amount": {"type": "number"},
                    "from": {"type": "string"},
                    "to": {"type": "string"},
                },
                "required": ["amount", "from", "to"],
                "additionalProperties": False,
            },
        },
    },
]

CITIES = (
    "Aalborg", "Antofagasta", "Bergen", "Białystok", "Bordeaux", "Brno", "Cagliari", "Chiang Mai",
    "Córdoba", "Cuenca", "Da Nang", "Dunedin", "Durban", "Esbjerg", "Ghent", "Gothenburg", "Graz",
    "Hobart", "Izmir", "Kanazawa", "Kraków", "Kumasi", "La Plata", "Leipzig", "Lille", "Ljubljana",
    "Mombasa", "Montpellier", "Nagasaki", "Oulu", "Pécs", "Perth", "Plovdiv", "Porto", "Quebec",
    "Reykjavík", "Rosario", "Saint-Étienne", "Salta", "San Luis Potosí", "Sapporo", "Split",
    "São Luís", "Tampere", "Trondheim", "Uppsala", "Valparaíso", "Zaragoza",
)  # fmt: skip
"""48 cities; most of them need care to be written exactly."""

CALL_REASONS = frozenset({"tool_calls", "stop"})
"""Finish reasons that engines give to an answer that is a call."""

_DEBRIS = re.compile(
    r"</?tool_calls?>|</?tool_response>|</?function(?:_call)?\b[^>]*>|<parameter\b|\[/?TOOL_CALLS\]|\[ARGS\]"
    r"|<\|[^|>\n]{1,40}\|>|<\uff5c[^\uff5c>\n]{1,40}\uff5c>|\[/?INST\]|</?arg_(?:key|value)>"
)


def messages(city: str, before: str = "") -> list[dict[str, Any]]:
    """Return the question about a city, after some other text if there is any."""
    question = f'What is the weather in the city "{city}"? Pass the name of the city exactly as written.'
    text = f"{before}\n\n{question}" if before else question
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]


def judge(
    ctx: CheckContext[Any], name: str, answer: Answer, city: str, *, finish: frozenset[str] = CALL_REASONS
) -> Judgement:
    """Judge the answer to the question about `city`."""
    faults = common_faults(ctx, answer, finish=finish)
    warnings: tuple[str, ...] = ()
    if answer.failure is None:
        faults += call_faults(answer.tool_calls, city)
        faults += debris_faults(answer)
        if answer.tool_calls and answer.finish_reason == "stop":
            warnings = ("call_with_finish_reason_stop",)
    return Judgement(name, answer, tuple(faults), warnings=warnings)


def debris_faults(answer: Answer) -> list[Fault]:
    """Return what remains of a tool protocol in the visible text."""
    found = _DEBRIS.search(answer.visible)
    return [Fault("protocol_debris", f"{found.group()!r} in the visible text")] if found else []


def call_faults(calls: tuple[ToolCall, ...], city: str) -> list[Fault]:
    """Return what is wrong with the calls that an answer makes."""
    if not calls:
        return [Fault("no_call", "no tool was called")]
    faults = []
    if len(calls) > 1:
        made = ", ".join(f"{call.name}({call.arguments})" for call in calls)
        faults.append(Fault("several_calls", f"{len(calls)} calls instead of one: {made}"))
    for call in calls:
        faults += _faults_of(call, city)
    return faults


def _faults_of(call: ToolCall, city: str) -> list[Fault]:
    if call.name != TOOL:
        return [Fault("wrong_tool", f"{call.name!r} was called instead of {TOOL!r}")]
    arguments = parsed(call)
    if (
        not isinstance(arguments, dict)
        or set(arguments) != {"city"}
        or not isinstance(arguments["city"], str)
    ):
        return [Fault("invalid_arguments", f"not valid by the tool's schema: {call.arguments}")]
    if arguments["city"].strip().casefold() != city.casefold():
        return [Fault("wrong_arguments", f"city {arguments['city']!r} instead of {city!r}")]
    return []


def parsed(call: ToolCall) -> Any:
    """Return the arguments of a call, or null when they are not JSON that all readers read alike."""
    try:
        return strictly(call.arguments)
    except (ValueError, RecursionError):
        return None


def are_dropped(ctx: CheckContext[Any]) -> bool:
    """Say whether `tools-rendered` found that the chat template drops tools."""
    found = ctx.under_test.history.latest("tools-rendered")
    return found is not None and any(r.failure == "tools_not_rendered" for r in found.requests)


DROPPED = "the check tools-rendered found that the chat template does not render tools"
