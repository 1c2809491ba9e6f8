"""Signals that end a command in order: what is under way is kept and closed before it goes.

1. Ctrl-C, SIGTERM, and SIGHUP, which comes when the terminal or the connection of who started it is lost.
2. A SIGHUP that is ignored from the start stays so: `nohup` asks for a command that goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.errors import CollectorError

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(CollectorError):
    """A signal ended the command; it exits with 128 and the signal's number, as shells say it."""

    def __init__(self, message: str, number: int, *, advice: str = "") -> None:
        super().__init__(message, advice=advice)
        self.exit_code = 128 + number


@dataclass
class Interrupt:
    """Which signal came first; SIGINT as long as none did."""

    number: int = signal.SIGINT


@contextlib.contextmanager
def interruptible(interrupt: Interrupt | None = None) -> Iterator[None]:
    """Turn signals into a cancellation of this task; further ones do not hurry what is being kept.

    `interrupt` is told which signal came first.
    """
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    came: list[int] = []
    is_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    numbers = [number for number in NUMBERS if not (is_nohup and number == signal.SIGHUP)]

    def cancel(number: int) -> None:
        came.append(number)
        if interrupt is not None:
            interrupt.number = came[0]
        if task is not None:
            task.cancel()

    for number in numbers:
        loop.add_signal_handler(number, cancel, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
