"""Rows for figures that are wanted: made so that each run's statistics are exactly these, by construction.

Nothing here knows the code that computes figures. Of ten requests, sorted by what is asked of them, the fifth
has the wanted value and the others lie on both sides of it; the gaps between requests give the aggregate.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

from anvil.ledger.rows import Row
from support.fine.loads import row

SECOND = 10**9
MS = 10**6


@dataclass(frozen=True)
class Wanted:
    """What one run is to give: times in nanoseconds, rates in tokens a second. `prefill` and `e2e` may be left open."""

    ttft: int
    decode: Fraction
    aggregate: Fraction
    e2e: int | None = None
    prefill: Fraction | None = None
    prompt_tokens: int = 4096
    cached_tokens: int = 0


def spread(wanted: Wanted, runs: int, share: Fraction = Fraction(1, 400)) -> list[Wanted]:
    """Return what each of several runs is to give, so that their mean is what is wanted."""
    offsets = [1 + share * (2 * at - (runs - 1)) / 2 for at in range(runs)]
    whole = [round(wanted.ttft * offset) for offset in offsets]
    whole[-1] += wanted.ttft * runs - sum(whole)
    ends: list[int | None] = [None] * runs
    if wanted.e2e is not None:
        told = [round(wanted.e2e * offset) for offset in offsets]
        told[-1] += wanted.e2e * runs - sum(told)
        ends = list(told)
    return [
        Wanted(
            whole[at],
            wanted.decode * offset,
            wanted.aggregate * offset,
            ends[at],
            None if wanted.prefill is None else wanted.prefill * offset,
            wanted.prompt_tokens,
            wanted.cached_tokens,
        )
        for at, offset in enumerate(offsets)
    ]


def one_by_one(wanted: Wanted, seed: int = 0) -> list[Row]:
    """Return ten requests one after another with all five statistics as wanted."""
    assert wanted.e2e is not None
    assert wanted.prefill is not None
    rates = [wanted.decode * (1 + Fraction(rank - 4, 500)) for rank in range(10)]
    sixth = round(Fraction(wanted.prompt_tokens * SECOND) / wanted.prefill)
    assert sixth > wanted.ttft, "the sixth prompt must take longer than the fifth"
    firsts = [wanted.ttft - (4 - rank) * 2 * MS for rank in range(5)]
    firsts += [sixth + (rank - 5) * 3 * MS for rank in range(5, 10)]
    tokens = [_tokens(wanted.e2e - MS - first, rate) for first, rate in zip(firsts, rates, strict=True)]
    tokens[2] = (
        _tokens(wanted.e2e - wanted.ttft, rates[2]) + 1
    )  # the fifth to end: it has its end, and its start
    firsts[2] = wanted.e2e - _lasts(tokens[2], rates[2])
    tokens[5:] = [_tokens(wanted.e2e + MS - firsts[rank], rates[rank]) + 2 for rank in range(5, 10)]
    while _slack(firsts, tokens, rates, wanted.aggregate) < 0:
        tokens[5:] = [count + 1 for count in tokens[5:]]
    assert firsts[2] < wanted.ttft
    assert max(tokens) <= 256
    order = list(range(10))
    random.Random(seed).shuffle(order)
    gap, rest = divmod(_slack(firsts, tokens, rates, wanted.aggregate), 9)
    made, at = [], 0
    for index, rank in enumerate(order):
        end = firsts[rank] + _lasts(tokens[rank], rates[rank])
        at += (gap + (rest if index == 9 else 0)) if index else 0
        made.append(_row(wanted, index, firsts[rank], end, tokens[rank], at, 0))
        at += end
    return made


def side_by_side(wanted: Wanted, concurrency: int, requests: int) -> list[Row]:
    """Return requests in so many streams with ttft, decode rate and aggregate as wanted."""
    middle = -(-requests // 2) - 1
    rates = [wanted.decode * (1 + Fraction(rank - middle, 300)) for rank in range(requests)]
    step = min(7 * MS, wanted.ttft // (2 * requests))
    firsts = [wanted.ttft + (rank - middle) * step for rank in range(requests)]
    tokens = [40 + rank % 3 for rank in range(requests)]
    while True:
        ends, starts = [0] * concurrency, []
        for rank in range(requests):
            slot = rank % concurrency
            starts.append(ends[slot])
            ends[slot] += firsts[rank] + _lasts(tokens[rank], rates[rank])
        wall = round(sum(tokens) * SECOND / wanted.aggregate)
        if max(ends) <= wall:
            break
        tokens = [count + 1 for count in tokens]
        assert max(tokens) <= 2048, "no number of tokens gives this aggregate"
    last = ends.index(max(ends))
    moved = max(rank for rank in range(requests) if rank % concurrency == last)
    starts[moved] += wall - max(ends)
    return [
        _row(
            wanted,
            rank,
            firsts[rank],
            firsts[rank] + _lasts(tokens[rank], rates[rank]),
            tokens[rank],
            starts[rank],
            rank % concurrency,
        )
        for rank in range(requests)
    ]


def _row(wanted: Wanted, index: int, first: int, end: int, tokens: int, started: int, slot: int) -> Row:
    return row(
        index,
        first,
        end,
        tokens,
        prompt_tokens=wanted.prompt_tokens,
        cached_tokens=wanted.cached_tokens,
        started_ns=started,
        slot=slot,
    )


def _tokens(lasts: int, rate: Fraction) -> int:
    """Return how many tokens there are at most in so long a time."""
    return int(rate * lasts / SECOND) + 1


def _lasts(tokens: int, rate: Fraction) -> int:
    return round((tokens - 1) * SECOND / rate)


def _slack(firsts: list[int], tokens: list[int], rates: list[Fraction], aggregate: Fraction) -> int:
    """Return how much longer the run lasts than its requests together."""
    lasted = sum(
        first + _lasts(count, rate) for first, count, rate in zip(firsts, tokens, rates, strict=True)
    )
    return round(sum(tokens) * SECOND / aggregate) - lasted
