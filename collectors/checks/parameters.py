"""Parameters of checks: what a recipe may say about a check, and how it stands in an event.

1. Each check has a frozen, strict model of its own; an unknown or ill-typed parameter is refused when
   the recipe is read, long before anything is launched.
2. An event lists every parameter with the value that held, defaults too. A list is spelled out with
   ordinals: ``depths.1``, ``depths.2``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anvil.ledger.errors import CollectorError
from anvil.ledger.events.base import explain
from anvil.ledger.events.checks import Parameter
from anvil.ledger.public import SettingValue

Thinking = Literal["disabled", "enabled", "default"]
"""Whether a request asks for thinking; `default` leaves it to the server."""

ParametersT = TypeVar("ParametersT", bound="Parameters")


class Parameters(BaseModel):
    """What every check can be told."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    visible_tokens: int = Field(default=256, ge=1)
    """Tokens allowed for the visible answer."""
    reasoning_tokens: int = Field(default=0, ge=0)
    """Tokens allowed for reasoning, besides; the sum is the cap that is sent."""
    thinking: Thinking = "disabled"
    """Whether its requests ask for thinking."""

    @property
    def cap(self) -> int:
        """The completion tokens that a request may use."""
        return self.visible_tokens + self.reasoning_tokens

    def recorded(self) -> tuple[Parameter, ...]:
        """Return the parameters as an event lists them."""
        return tuple(Parameter(name=name, value=value) for name, value in _spelled(self.model_dump()))


def parse(model: type[ParametersT], check: str, given: Mapping[str, Any]) -> ParametersT:
    """Return the parameters of a check from what a recipe says.

    Raises:
        CollectorError: a parameter is unknown or not of its type; the message names it.
    """
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise CollectorError(
            f"the parameters of check {check!r}: {explain(error)}",
            advice=f"It takes {', '.join(model.model_fields)}.",
        ) from error


def misfits(
    model: type[Parameters], what: str, given: Mapping[str, object]
) -> Iterator[tuple[str | None, str, str]]:
    """Yield what is wrong with parameters, each once: which one, what, and what to write. `what` has them."""
    try:
        model.model_validate(dict(given))
    except ValidationError as error:
        told = {str(item["loc"][0]) if item["loc"] else None: item for item in reversed(error.errors())}
        for where, item in reversed(told.items()):
            found = f"{what}: {item['msg']}, found {str(item.get('input'))[:60]!r}"
            yield where, found, f"It takes {', '.join(model.model_fields)}"


def _spelled(members: Mapping[str, Any]) -> Iterator[tuple[str, SettingValue]]:
    for name, value in members.items():
        if isinstance(value, tuple):
            yield from ((f"{name}.{at}", item) for at, item in enumerate(value, start=1))
        elif value is not None:
            yield name, value
