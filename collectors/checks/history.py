"""The history of an attempt: what its checks have seen so far.

Policies (`reasoning-leak`, `finish`) judge it, and checks look up what an earlier one found. Bodies
are not held here: they are in the blob store.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from anvil.collectors.checks.parameters import Thinking
from anvil.ledger.events.checks import CheckCompleted, FailureClass, ReasoningChannel


@dataclass(frozen=True)
class Observed:
    """One answer, without its bytes.

    `check` is what the recipe calls the check, and `serial` tells two runs of one check apart.
    """

    check: str
    serial: int
    name: str
    thinking: Thinking
    is_probe: bool
    """A request that only measures the endpoint: its answer is cut on purpose."""
    finish_reason: str | None
    reasoning_seen: tuple[ReasoningChannel, ...]
    reasoning_chars: int
    failure: FailureClass | None


@dataclass
class History:
    """What happened so far in one attempt; its checks run one after another and share it."""

    completed: list[CheckCompleted] = field(default_factory=list)
    observed: list[Observed] = field(default_factory=list)
    tokenizer: str | None = None
    """Which dialect of token counting the endpoint speaks; null when none is known."""
    tokenizer_tried: bool = False
    tokenizer_confirmed: bool | None = None
    """Whether one `usage` agreed with it; null when no usage was to be had."""
    serial: int = 0

    def next_serial(self) -> int:
        """Return a number for the next check that starts."""
        self.serial += 1
        return self.serial

    def latest(self, check: str) -> CheckCompleted | None:
        """Return the latest result of a check, or nothing when it did not run."""
        return next((event for event in reversed(self.completed) if event.check == check), None)

    def by_check(self) -> dict[tuple[int, str], list[Observed]]:
        """Return the answers of each check that ran, in order, without probes."""
        groups: dict[tuple[int, str], list[Observed]] = {}
        for seen in self.observed:
            if not seen.is_probe:
                groups.setdefault((seen.serial, seen.check), []).append(seen)
        return groups
