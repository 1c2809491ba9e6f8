"""What cannot be, and what is suspicious: looked for in the rows of every finished run.

1. *Impossible* contradicts what the words mean: a figure made from such rows is wrong. *Suspicious* can be,
   and usually has a reason that should be known. *Limited* is neither: it says what can be concluded.
2. All is found in the rows, with what the run was asked to do beside them; nobody's word is taken.
3. Only completed requests have moments and counts to contradict each other.
4. Two clocks may differ by the run's `offset_error_ns`: what that explains is not found.
5. Labels are a closed list (`FINDINGS`), each with its meaning; docs/load.md is made from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from anvil.collectors.load.cachestate import DISAGREE, NOT_AS_WANTED, OTHERS, UNPROVED
from anvil.collectors.load.prompts import size_problem
from anvil.ledger.metrics import decode_last_output, prefill_effective
from anvil.ledger.rows import Row, RunRow
from anvil.ledger.statistics import Number, mean, nearest_rank

_REFUSALS = frozenset({429, 503})

Severity = Literal["impossible", "suspicious", "limited"]

_SECOND_NS = 1_000_000_000

_LONG_PROMPT, _MANY_TOKENS, _BURST = 256, 16, 10
"""From how many tokens on, and by how much, decoding is compared with prefill: short ones are ruled by latency."""

FINDINGS: Mapping[str, tuple[Severity, str]] = MappingProxyType(
    {
        "clock_stepped": ("impossible", "somebody set the clock while the run went on: it is void"),
        "moments_out_of_order": ("impossible", "a later moment of a request comes before an earlier one"),
        "gaps_do_not_sum": (
            "impossible",
            "the times between outputs do not add up to the time from the first to the last",
        ),
        "peak_rate_under_mean": (
            "impossible",
            "no two outputs came as fast as all of them are said to have come",
        ),
        "more_in_flight_than_cap": ("impossible", "more requests were under way than streams were asked for"),
        "cap_exceeded": ("impossible", "more completion tokens are reported than the request's cap allows"),
        "prefill_contradicts": (
            "impossible",
            "prefill rate and time to first output do not give the prompt's tokens",
        ),
        "more_cached_than_prompt": (
            "impossible",
            "more prompt tokens are reported as cached than there were",
        ),
        "requests_missing": (
            "impossible",
            "a run that went to its end has no row for a request that it plans",
        ),
        "requests_doubled": ("impossible", "a request has two rows and was not sent twice"),
        "load_client_ended": (
            "suspicious",
            "the load client's process was ended by others: its run is not whole",
        ),
        "sent_late": (
            "suspicious",
            "requests of an open loop were sent later than their moments, so that the rate was not kept",
        ),
        "tokens_not_seen": (
            "suspicious",
            "tokens are counted that never came: reasoning is hidden, or the count is wrong, and so is the aggregate then",
        ),
        "output_in_a_burst": (
            "suspicious",
            "output came ten times as fast as its prompt was read: it was held back, or the request waited",
        ),
        "ttft_falls_along_ladder": (
            "suspicious",
            "a longer prompt was answered sooner than a shorter one, and the cache does not explain it",
        ),
        "cap_reached_with_stop": (
            "suspicious",
            "the cap was reached and the finish reason is `stop`: it may have been cut",
        ),
        "lengths_differ": (
            "suspicious",
            "the engine was asked to go on to the cap, and a request has another length",
        ),
        "prompt_size_off": ("suspicious", "the mean of the prompts' tokens is over 1 % off its target"),
        "prompt_size_unknown": ("suspicious", "the endpoint does not report how many tokens a prompt had"),
        NOT_AS_WANTED: ("suspicious", "the prefix cache was in another state than the protocol wants"),
        UNPROVED: ("suspicious", "nothing proves in which state the prefix cache was"),
        DISAGREE: ("suspicious", "requests and engine counters tell different numbers of cached tokens"),
        OTHERS: (
            "suspicious",
            "the engine counted other prompt tokens than this run's: somebody else used it",
        ),
        "engine_exited": (
            "limited",
            "the engine ended while the run went on: what it did not answer has failed",
        ),
        "requests_failed": (
            "limited",
            "requests failed: they are in no figure, and the others met less load than the cell asks for",
        ),
        "load_refused": (
            "limited",
            "the endpoint refused requests with 429 or 503: it was not given the load that the cell asks for",
        ),
        "reuse_by_timing_only": (
            "limited",
            "cached tokens are not reported: that a prefix was reused is seen by its times alone",
        ),
    }
)
"""Every label, how grave it is, and what it means."""


@dataclass(frozen=True)
class Asked:
    """What a run was asked to do; null where it was asked nothing."""

    requests: int
    cap_tokens: int | None = None
    target_tokens: int | None = None
    ignores_eos: bool = False


@dataclass(frozen=True)
class Finding:
    """One thing that is impossible or suspicious, and in which requests; in none when it is of the whole run."""

    label: str
    requests: tuple[int, ...] = ()

    @property
    def severity(self) -> Severity:
        """How grave it is."""
        return FINDINGS[self.label][0]


def find(run: RunRow, rows: Sequence[Row], asked: Asked) -> tuple[Finding, ...]:
    """Return what is found in a run that has ended, in the order of the list."""
    done = [row for row in rows if row.outcome == "completed"]
    found = {
        label: tuple(row.index for row in done if is_so(run, row, asked)) for label, is_so in _OF_ROWS.items()
    }
    listed = {label: Finding(label, requests) for label, requests in found.items() if requests}
    listed |= {finding.label: finding for finding in _of_run(run, rows, done, asked)}
    return tuple(listed[label] for label in FINDINGS if label in listed)


# --- of one request ---------------------------------------------------------------------------------------------


def _out_of_order(run: RunRow, row: Row, asked: Asked) -> bool:
    del asked
    moments = [row.head_ns, row.first_event_ns, row.ttfo_ns, row.ttft_ns, row.last_output_ns]
    known = [moment for moment in moments if moment is not None]
    if row.first_event_ns == 0:
        return True  # a stamp before the start is taken for the start: it came before it was asked for
    bounds = (
        (row.ttfo_earliest_ns, row.ttfo_ns),
        (row.ttft_earliest_ns, row.ttft_ns),
        (row.last_output_earliest_ns, row.last_output_ns),
    )
    last = known[-1] if known else 0
    return (
        any(later < earlier for earlier, later in pairwise(known))
        or any(low is not None and high is not None and high < low for low, high in bounds)
        or (row.end_ns is not None and row.end_ns + run.offset_error_ns < last)
    )


def _gaps_differ(run: RunRow, row: Row, asked: Asked) -> bool:
    del run, asked
    if not row.delta_ns or row.ttfo_ns is None or row.last_output_ns is None:
        return bool(row.delta_ns)
    gaps = [later - earlier for earlier, later in pairwise(row.delta_ns)]
    return (
        sum(gaps) != row.last_output_ns - row.ttfo_ns
        or min(gaps, default=0) < 0
        or row.delta_ns[0] != row.ttfo_ns
    )


def _peak_under_mean(run: RunRow, row: Row, asked: Asked) -> bool:
    """Compare each step's rate with the whole's; only an endpoint that counts along tells tokens of a step."""
    del run, asked
    along, total = row.delta_completion_tokens, row.completion_tokens
    if along is None or total is None or len(along) != len(row.delta_ns) or row.decode_unmeasurable:
        return False
    lasted = row.delta_ns[-1] - row.delta_ns[0]
    steps = [
        (tokens - before, later - earlier)
        for (before, tokens), (earlier, later) in zip(pairwise(along), pairwise(row.delta_ns), strict=True)
    ]
    if lasted <= 0 or any(time <= 0 < tokens for tokens, time in steps):
        return False  # tokens that came together came at no known rate
    peak = max((Fraction(tokens, time) for tokens, time in steps if time > 0), default=Fraction(0))
    return peak < Fraction(total - along[0], lasted)


def _over_cap(run: RunRow, row: Row, asked: Asked) -> bool:
    del run
    used, cap = row.completion_tokens, asked.cap_tokens
    return "cap_exceeded" in row.warnings or (used is not None and cap is not None and used > cap)


def _prefill_contradicts(run: RunRow, row: Row, asked: Asked) -> bool:
    del run, asked
    if row.prompt_tokens is None or row.ttfo_ns is None:
        return False
    rate = prefill_effective(row)
    return rate is None or rate * row.ttfo_ns != row.prompt_tokens * _SECOND_NS


def _more_cached(run: RunRow, row: Row, asked: Asked) -> bool:
    del run, asked
    return (
        row.cached_tokens is not None
        and row.prompt_tokens is not None
        and row.cached_tokens > row.prompt_tokens
    )


def _not_seen(run: RunRow, row: Row, asked: Asked) -> bool:
    del run, asked
    return row.decode_unmeasurable in ("more_tokens_than_bytes", "reasoning_not_streamed")


def _in_a_burst(run: RunRow, row: Row, asked: Asked) -> bool:
    """Compare decoding with prefill: a token takes at least one pass over the weights, and so did the whole prompt.

    What is held back until it is whole, by a proxy or an endpoint, comes in no time; its prompt seems to take long.
    """
    del run, asked
    prompt, tokens = row.prompt_tokens, row.completion_tokens
    decode, prefill = decode_last_output(row), prefill_effective(row)
    if prompt is None or tokens is None or decode is None or prefill is None:
        return False
    return prompt >= _LONG_PROMPT and tokens >= _MANY_TOKENS and decode > _BURST * prefill


def _cut_with_stop(run: RunRow, row: Row, asked: Asked) -> bool:
    del run
    is_at_cap = row.completion_tokens is not None and row.completion_tokens == asked.cap_tokens
    return "cap_reached_with_stop" in row.warnings or (is_at_cap and row.finish_reason == "stop")


def _other_length(run: RunRow, row: Row, asked: Asked) -> bool:
    del run
    return asked.ignores_eos and row.completion_tokens != asked.cap_tokens


_OF_ROWS: Mapping[str, Callable[[RunRow, Row, Asked], bool]] = {
    "moments_out_of_order": _out_of_order,
    "gaps_do_not_sum": _gaps_differ,
    "peak_rate_under_mean": _peak_under_mean,
    "cap_exceeded": _over_cap,
    "prefill_contradicts": _prefill_contradicts,
    "more_cached_than_prompt": _more_cached,
    "tokens_not_seen": _not_seen,
    "output_in_a_burst": _in_a_burst,
    "cap_reached_with_stop": _cut_with_stop,
    "lengths_differ": _other_length,
}


# --- of a run ---------------------------------------------------------------------------------------------------


def _of_run(run: RunRow, rows: Sequence[Row], done: Sequence[Row], asked: Asked) -> Iterator[Finding]:
    if run.stepped:
        yield Finding("clock_stepped")
    if run.concurrency is not None and most_in_flight(run, rows) > run.concurrency:
        yield Finding("more_in_flight_than_cap")
    planned = set(range(asked.requests))
    missing = planned - {row.index for row in rows}
    if missing and not run.aborted:
        yield Finding("requests_missing", tuple(sorted(missing)))
    times = Counter((row.index, row.attempt) for row in rows)
    again = {row.index for row in rows if row.attempt == 2}
    stale = {row.index for row in rows if row.attempt == 1 and row.failure == "connection_stale"}
    doubled = {index for (index, _), count in times.items() if count > 1} | (again - stale)
    if doubled:
        yield Finding("requests_doubled", tuple(sorted(doubled)))
    yield from _failed(rows)
    if asked.target_tokens is not None and done:
        problem = size_problem(asked.target_tokens, [row.prompt_tokens for row in done])
        if problem is not None:
            yield Finding(f"prompt_size_{problem}")


def _failed(rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield what failed requests say of the others; one that was sent again on a fresh connection counts by that."""
    newest = {row.index: row for row in sorted(rows, key=lambda row: row.attempt)}
    failed = [row for row in newest.values() if row.outcome == "failed"]
    refused = [row for row in failed if row.http_status in _REFUSALS]
    for label, found in (("requests_failed", failed), ("load_refused", refused)):
        if found:
            yield Finding(label, tuple(sorted(row.index for row in found)))


def most_in_flight(run: RunRow, rows: Sequence[Row]) -> int:
    """Return how many requests were certainly under way at the same time (rule 4)."""
    steps: list[tuple[int, int]] = []
    for row in rows:
        lasted = row.end_ns if row.end_ns is not None else row.gave_up_ns
        if row.started_ns is None or lasted is None:
            continue
        ended = row.started_ns + lasted - 2 * run.offset_error_ns
        if ended > row.started_ns:
            steps += [(row.started_ns, 1), (ended, -1)]
    now = most = 0
    for _, change in sorted(steps):
        now += change
        most = max(most, now)
    return most


# --- along a ladder -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rung:
    """One size of a ladder: its name, and what its completed requests come to; null when they tell nothing."""

    name: str
    prompt_tokens: Number | None
    ttft_ns: Number | None
    cached_tokens: int | None

    @classmethod
    def of(cls, name: str, rows: Sequence[Row]) -> Rung:
        """Return the rung of these rows: the mean of prompt tokens, p50 of ttft, the most cached tokens."""
        done = [row for row in rows if row.outcome == "completed"]
        sizes = [row.prompt_tokens for row in done if row.prompt_tokens is not None]
        times = [row.ttft_ns for row in done if row.ttft_ns is not None]
        cached = [row.cached_tokens for row in done if row.cached_tokens is not None]
        return cls(name, mean(sizes), nearest_rank(times, 50), max(cached, default=None))


def falls(rungs: Sequence[Rung], allowed_cached_tokens: int) -> tuple[str, ...]:
    """Return the rungs that were answered sooner than a shorter one without a hit in the cache.

    Up to `allowed_cached_tokens` are no hit: the template's prefix and a block. A rung that does not report
    cached tokens is not excused.
    """
    known = [
        (rung.prompt_tokens, rung.ttft_ns, rung)
        for rung in rungs
        if rung.prompt_tokens is not None and rung.ttft_ns is not None
    ]
    found = []
    slowest: Number = 0
    for _, took, rung in sorted(known, key=lambda entry: (entry[0], entry[1])):
        if took < slowest and (rung.cached_tokens or 0) <= allowed_cached_tokens:
            found.append(rung.name)
        slowest = max(slowest, took)
    return tuple(found)
