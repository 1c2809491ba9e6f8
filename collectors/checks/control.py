"""Thinking control: how a family of models is told to think or not.

Each family has its own switch, and engines accept values that they ignore; whether the switch works
is what the check `thinking-control` finds out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from anvil.collectors.checks.parameters import Thinking

Family = Literal["enable_thinking", "reasoning_effort", "none"]
"""``chat_template_kwargs.enable_thinking``, ``reasoning_effort``, or a model that does not think."""


@dataclass(frozen=True)
class ThinkingControl:
    """The switch of one model family.

    With the family `none` nothing is sent: the recipe says that the model does not think, so every
    request counts as one with thinking disabled.
    """

    family: Family = "none"
    off_effort: str = "none"
    on_effort: str = "medium"

    def members(self, thinking: Thinking) -> dict[str, Any]:
        """Return what a chat request must hold."""
        if thinking == "default" or self.family == "none":
            return {}
        is_on = thinking == "enabled"
        if self.family == "enable_thinking":
            return {"chat_template_kwargs": {"enable_thinking": is_on}}
        return {"reasoning_effort": self.on_effort if is_on else self.off_effort}

    def effort(self, word: str) -> dict[str, Any]:
        """Return what a chat request must hold to ask for one effort by name."""
        members: dict[str, Any] = {"reasoning_effort": word}
        if self.family == "enable_thinking":
            members["chat_template_kwargs"] = {"enable_thinking": True, "reasoning_effort": word}
        return members

    def responses_members(self, thinking: Thinking) -> dict[str, Any]:
        """Return what a request to the Responses API must hold."""
        members = self.members(thinking)
        if "reasoning_effort" in members:
            return {"reasoning": {"effort": members["reasoning_effort"]}}
        return members
