"""`tool`: one tool call whose argument is copied to the character.

The argument holds what is easily lost on the way: letters with marks, an apostrophe, quotes, a backslash, two
blanks side by side. A second tool is offered that the question does not need.
"""

from __future__ import annotations

from pydantic import Field

from anvil.collectors.checks.parameters import Parameters
from anvil.collectors.suites.interface import Members, Suite
from anvil.collectors.suites.questions import Question, system, user
from anvil.collectors.suites.validators import CallsTool

TOOL = "open_ticket"

TITLE = 'Żuraw n°7: hook\'s "upper" limit  (bay C\\D)'

TOOLS: tuple[Members, ...] = (
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Opens a ticket for the workshop.",
            "parameters": {
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "The title of the ticket, as it was given."},
                    "urgent": {"type": "boolean", "description": "Whether somebody is to come today."},
                },
                "required": ["title", "urgent"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "close_ticket",
            "description": "Closes a ticket of the workshop.",
            "parameters": {
                "type": "object",
                "properties": {"number": {"type": "integer", "description": "The number of the ticket."}},
                "required": ["number"],
                "additionalProperties": False,
            },
        },
    },
)

ARGUMENTS = {"title": TITLE, "urgent": True}

_SYSTEM = (
    "You write tickets with tools. Call the tool that fits once, with every text copied character by character, and "
    "say nothing else."
)
_QUESTION = f"""\
Open an urgent ticket. Its title is the whole next line, exactly as it stands there, without anything added:
{TITLE}"""


class ToolParameters(Parameters):
    """Parameters of `tool`."""

    visible_tokens: int = Field(default=128, ge=1)


_ITEM = Question("exact-argument", (system(_SYSTEM), user(_QUESTION)), CallsTool(TOOL, ARGUMENTS), TOOLS)

TOOL_SUITE = Suite("tool", 1, "diagnostic", ToolParameters, lambda _: (_ITEM,))
"""The suite."""
