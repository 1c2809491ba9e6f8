"""What a suite is: items that are asked again and again, each with a rule of its own.

1. An item sends its requests through the context of its suite, as checks do, and judges them; one
   repetition of it passed when all its requests did.
2. What an item asks is the same in every repetition, so that what differs is the model's.
3. A changed question, rule or corpus is a new version of its suite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from anvil.collectors.checks.interface import CheckContext
from anvil.collectors.checks.judging import Judgement
from anvil.collectors.checks.parameters import Parameters
from anvil.ledger.events.suites import Modality

Purpose = Literal["diagnostic", "ranking"]
"""What results may be used for: to find out what is wrong, or to compare models."""

MAX_REQUESTS = 45
"""How many requests a selected suite may count: one event names all of their bodies, and an entry has a limit."""

MAX_NAMES = 720
"""Characters that the items' names of these requests may have together, for the same reason: 16 each."""

KEPT_FOR = "suite:"
"""Before a suite's id, where bytes are noted as kept for it: a check may have the same id."""


class Item(Protocol):
    """One thing that is asked."""

    @property
    def id(self) -> str:
        """Its name inside the suite."""

    @property
    def modality(self) -> Modality:
        """What it shows to the model."""

    @property
    def requests(self) -> int:
        """How many requests one repetition sends at most."""

    async def once(self, ctx: CheckContext[Any], name: str) -> Sequence[Judgement]:
        """Carry one repetition out, its requests named after `name`, and judge each of them."""


@dataclass(frozen=True)
class Source:
    """The file that a suite is made of; `name` is that of its artifact."""

    name: Literal["suite", "corpus"]
    media_type: str
    content: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes, as ``sha256:…``."""
        return "sha256:" + hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Suite:
    """A set of items. `make` returns them for what a recipe says; what they keep lasts for one run."""

    id: str
    version: int
    purpose: Purpose
    parameters: type[Parameters]
    make: Callable[[Any], tuple[Item, ...]]
    source: Source | None = None


@dataclass(frozen=True)
class Chosen:
    """A suite as a recipe selects it."""

    suite: Suite
    selected_as: str
    repetitions: int
    required_rate: str
    parameters: Parameters

    def items(self) -> tuple[Item, ...]:
        """Return its items, fresh."""
        return self.suite.make(self.parameters)

    @property
    def expected_requests(self) -> int:
        """How many requests it counts."""
        return self.repetitions * sum(item.requests for item in self.items())

    @property
    def expected_names(self) -> int:
        """How many characters the items' names of these requests have together."""
        return self.repetitions * sum(item.requests * len(item.id) for item in self.items())


Members = Mapping[str, Any]
"""The members of a message or of a tool, as they are sent."""
