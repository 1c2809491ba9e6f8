"""Ports that a recipe leaves to us: free when they are chosen, and held until the engine is started.

1. One is taken from below the range out of which the system serves whoever names none, so that nobody gets it
   by chance in the seconds between our letting go of it and the engine's taking it.
2. Until then a socket of ours has it, without listening: another run that chooses finds it taken.
3. It is let go of immediately before the engine starts, since most engines cannot take over a socket.
"""

from __future__ import annotations

import errno
import secrets
import socket
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

from anvil.collectors.launchers.interface import LOOPBACK
from anvil.ledger.errors import CollectorError

LOWEST = 20_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES = 200


class HeldPort:
    """A free port of the loopback address, ours until `release`. Use it as a context manager."""

    def __init__(self) -> None:
        """Choose and hold one.

        Raises:
            CollectorError: none is free.
        """
        self._socket = _bound()
        self.number: int = self._socket.getsockname()[1]

    def release(self) -> None:
        """Let go of it. Safe to call twice."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _bound() -> socket.socket:
    numbers = _below_the_systems()
    tried = (secrets.choice(numbers) for _ in range(_TRIES)) if numbers else iter(())
    for number in chain(tried, [0]):  # at last whatever the system gives
        chosen = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            chosen.bind((LOOPBACK, number))
        except OSError as error:
            chosen.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise CollectorError(f"no port of {LOOPBACK} can be held: {error.strerror}") from error
        else:
            return chosen
    raise CollectorError(
        f"no port of {LOOPBACK} is free", advice="Stop something, or write a `port` into the recipe."
    )


def _below_the_systems() -> range:
    """Return the numbers of rule 1; none where the system does not say, or leaves no room."""
    try:
        return range(LOWEST, int(_RANGE.read_text().split()[0]))
    except (OSError, ValueError, IndexError):
        return range(0)
