"""Waiting for what must not be broken off half way: what was started, or bytes that are being kept."""

from __future__ import annotations

import asyncio
from typing import Any


async def to_the_end(task: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait for a task even when this one is cancelled meanwhile; return the cancellation."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled
