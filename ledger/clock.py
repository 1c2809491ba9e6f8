"""The one clock: what time the signer's machine says it is. A claim, never proof of time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns the current moment, aware of its time zone."""


def system_clock() -> datetime:
    """Return the operating system's current moment in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Return a moment as it stands in a header: UTC, six digits of a second, ``Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
