"""Whether the engine of an attempt has ended, and whether that is why a request has no verdict."""

from __future__ import annotations

import asyncio
import time

from anvil.collectors.checks.judging import Judgement
from anvil.collectors.launchers.interface import NOBODY_KNOWS, Running
from anvil.ledger.events.checks import CheckCompleted, FailureClass

_EXIT_SHOWS_S = 1.0  # an engine's connections break a moment before the system says that it ended
_BROKEN: frozenset[FailureClass | None] = frozenset(
    {"connection_failed", "connection_stale", "connection_reset", "truncated_stream"}
)


async def has_exited(running: Running) -> bool:
    """Say whether it is known that the engine ended."""
    state = await running.state()
    return state is not None and (running.is_ours or state is not NOBODY_KNOWS)


async def broke_off(running: Running, event: CheckCompleted | Judgement) -> bool:
    """Say whether a check or a request has no verdict because its engine ended meanwhile."""
    if event.outcome == "passed":
        return False
    until = time.monotonic() + (_EXIT_SHOWS_S if event.failure in _BROKEN else 0.0)
    while not (is_over := await has_exited(running)) and time.monotonic() < until:
        await asyncio.sleep(0.05)
    return is_over
