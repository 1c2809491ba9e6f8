"""Two clocks and what is known of their difference.

1. Whatever a run measures is a duration of the monotonic clock. The kernel stamps what it receives with
   the realtime clock, so their difference must be known, and must stay.
2. The kernel keeps both clocks by one counter and slews both alike (``clock_settime(2)``,
   ``adjtimex(2)``): their difference changes only when somebody sets the time, a leap second is put in,
   or the machine was suspended.
3. It is measured by reading the realtime clock between two readings of the monotonic one, which gives an
   interval that holds it. What all intervals of a run have in common is sharper than each of them. When
   they have nothing in common the clock was stepped, and the run is void.
4. Moments are nanoseconds since the run's base, so that they are small: an integer of canonical JSON
   cannot hold a moment of the realtime clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Reading = Callable[[], int]
"""Returns a clock's nanoseconds."""

_TRIES = 5


def realtime_ns() -> int:
    """Return the realtime clock, which the kernel stamps with. Nothing else is measured by it."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


@dataclass(frozen=True)
class Offset:
    """By how much the realtime clock is ahead of the monotonic one, both since their bases.

    The difference lies in `low_ns` to `high_ns`, unless `is_stepped`.
    """

    low_ns: int
    high_ns: int
    is_stepped: bool = False

    @property
    def middle_ns(self) -> int:
        """The difference that is reckoned with; it is wrong by half the interval at most."""
        return (self.low_ns + self.high_ns) // 2


class Clocks:
    """Both clocks of a run, from their base on. `watch` is to be called now and then while it runs."""

    def __init__(self, monotonic: Reading = time.monotonic_ns, realtime: Reading = realtime_ns) -> None:
        self._monotonic = monotonic
        self._realtime = realtime
        self.base_ns = monotonic()
        self.base_realtime_ns = realtime()
        self.offset = self._bracket()
        self.watch()

    def now_ns(self) -> int:
        """Return the moment, on the monotonic clock."""
        return self._monotonic() - self.base_ns

    def watch(self) -> Offset:
        """Measure the difference again and return what is known of it by now (rule 3)."""
        for _ in range(_TRIES):
            found, known = self._bracket(), self.offset
            low, high = max(known.low_ns, found.low_ns), min(known.high_ns, found.high_ns)
            if known.is_stepped or low > high:
                self.offset = Offset(known.low_ns, known.high_ns, is_stepped=True)
            else:
                self.offset = Offset(low, high)
        return self.offset

    def _bracket(self) -> Offset:
        before = self._monotonic()
        between = self._realtime() - self.base_realtime_ns + self.base_ns
        after = self._monotonic()
        return Offset(between - after, between - before)
