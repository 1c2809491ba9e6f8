"""When the requests of an open loop are sent: a Poisson process, drawn before anything is sent.

1. The gaps between two requests are exponential with mean 1 / rate, and independent: as of users who know nothing
   of each other. The first request comes after one gap, too.
2. The schedule is whole before the run begins, so that a slow endpoint cannot slow it.
3. It can be drawn again from its seed on every machine: uniform draws are 64 bits of SHA-256
   (`anvil.collectors.filler.Draws`), and logarithms are decimals rounded correctly, not those of a C library.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate, islice

from anvil.collectors.filler import Draws
from anvil.ledger.statistics import exact

_CONTEXT = Context(prec=34)
_SECOND_NS = 1_000_000_000


def poisson(seed: int, rate_per_s: str, count: int) -> tuple[int, ...]:
    """Return when each of `count` requests is sent, in nanoseconds since the run's beginning, in order.

    Raises:
        NoNumber: the rate is no decimal number.
        ValueError: it is not above 0.
    """
    rate = exact(rate_per_s)
    if rate <= 0:
        raise ValueError(f"a rate is above 0, found {rate_per_s}")
    moments = accumulate(_gaps(Draws("poisson", 1, seed), rate))
    return tuple(int(moment) for moment in islice(moments, count))


def _gaps(draws: Draws, rate: Fraction) -> Iterator[Fraction]:
    """Yield the gaps, in nanoseconds."""
    while True:
        drawn = (draws.below(2**32) << 32) + draws.below(2**32) + 1
        logarithm = _CONTEXT.ln(_CONTEXT.divide(Decimal(drawn), Decimal(2**64)))
        yield -Fraction(logarithm) * _SECOND_NS / rate
