"""From a byte of a body to the moment in which it came, as far as that can be known.

1. A read has one stamp, that of its last byte. An event is complete with its last byte, so it came in the
   read that brought this byte, and no later than the read's stamp: its *latest* moment.
2. When it is the last thing in its read, the stamp is its own, and *earliest* is the same. Otherwise it
   came at some moment after the read before: *earliest* is that read's stamp, or the start. Such a sample
   is interval-censored; the time between two events of one read is unknown, and not 0.
3. TCP gives bytes in order. A stamp that is earlier than one before it belongs to bytes that arrived
   early and had to wait: they came, for a reader, with those before them.
4. A line end in CR LF is complete with its CR; that the LF follows in the same read changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from anvil.collectors.load.framing import Frames

_CR, _LF = b"\r", b"\n"


@dataclass(frozen=True)
class Came:
    """When something came, in nanoseconds since the start, and in which read."""

    earliest_ns: int
    latest_ns: int
    read: int


class Timeline:
    """The reads of one response. `stamps_ns` are their moments since the start."""

    def __init__(self, frames: Frames, stamps_ns: Sequence[int]) -> None:
        self._frames = frames
        self._stamps: list[int] = []
        latest = 0
        for stamp in stamps_ns:
            latest = max(latest, stamp)
            self._stamps.append(latest)

    def of_read(self, number: int | None) -> int | None:
        """Return the latest moment of what a read brought; null when there is no such read."""
        return None if number is None else self._stamps[number]

    def of_event(self, end: int) -> Came:
        """Return when the event came whose last byte stands before offset `end` of the body."""
        frames = self._frames
        read = bisect_left(frames.ends, end)
        latest = self._stamps[read]
        rest = bytes(frames.body[end - 1 : frames.ends[read]]) if frames.ends[read] - end < 2 else b""
        if frames.is_exact[read] and (len(rest) == 1 or rest == _CR + _LF):
            return Came(latest, latest, read)
        return Came(self._stamps[read - 1] if read else 0, latest, read)
