"""What is measured of a request and of a run, each under an id that says which definition it is.

1. A metric is a function of rows (`anvil.ledger.rows`) and of nothing else. Its value is exact; times are in
   nanoseconds, rates in tokens a second.
2. Only a completed request gives a sample. What cannot be told of one is None, never 0, and `why_not` says
   why. Tokens are those that the endpoint reported.
3. *Time to first output* is to the first token of any kind, *time to first token* to the first visible
   content; other tools use these words otherwise, so the id goes with every figure.
4. `decode.last_output/1` is ours. `decode.stream_end/1` divides by the time to the end of the stream, which
   holds whatever comes after the last token; it is kept for documents and imports that were made with it.
5. Of a moment that is only known to lie in an interval the later end is taken, as in the rows.
6. In an open loop a request has two beginnings: the moment of its schedule and the one at which it was sent. The
   metrics named *intended* count from the first: whatever held the request up is in them, the client's own
   *send lag* too.
7. The *aggregate* divides the tokens of completed requests by the time from the first send to the last end of
   any request, failed ones too: a failure costs its time and gives no token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Literal

from anvil.ledger.rows import Row
from anvil.ledger.statistics import Number, sum_over_wall

Unit = Literal["ns", "tokens_per_s"]

_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Metric:
    """One definition, by its id. `of` returns a request's value, or None (rule 2)."""

    id: str
    unit: Unit
    of: Callable[[Row], Number | None]
    is_better_when: Literal["lower", "higher"]


def ttfo(row: Row) -> int | None:
    """`ttfo.any/1`: to the first token of any kind."""
    return row.ttfo_ns if _is_sample(row) else None


def ttft(row: Row) -> int | None:
    """`ttft.visible/1`: to the first visible content."""
    return row.ttft_ns if _is_sample(row) else None


def e2e(row: Row) -> int | None:
    """`e2e/1`: to the end of the stream."""
    return row.end_ns if _is_sample(row) else None


def send_lag(row: Row) -> int | None:
    """`send.lag/1`: from the moment that was intended to the first byte that was written."""
    return row.started_ns - row.intended_ns if _is_sample(row) and row.started_ns is not None else None


def ttft_intended(row: Row) -> int | None:
    """`ttft.intended/1`: to the first visible content, from the moment that was intended."""
    return _since_intended(row, ttft(row))


def e2e_intended(row: Row) -> int | None:
    """`e2e.intended/1`: to the end of the stream, from the moment that was intended."""
    return _since_intended(row, e2e(row))


def decode_last_output(row: Row) -> Fraction | None:
    """`decode.last_output/1`: (completion tokens - 1) / (last output - ttfo)."""
    return _decode(row, row.last_output_ns)


def decode_stream_end(row: Row) -> Fraction | None:
    """`decode.stream_end/1`: (completion tokens - 1) / (e2e - ttfo)."""
    return _decode(row, row.end_ns)


def itl_mean(row: Row) -> Fraction | None:
    """`itl.mean/1`: (last output - ttfo) / (completion tokens - 1)."""
    rate = decode_last_output(row)
    return None if rate is None else _SECOND_NS / rate


def prefill_effective(row: Row) -> Fraction | None:
    """`prefill.effective/1`: prompt tokens / ttfo."""
    return _per_second(row.prompt_tokens, ttfo(row))


def prefill_uncached(row: Row) -> Fraction | None:
    """`prefill.uncached/1`: prompt tokens that were not cached / ttfo; None where the endpoint does not say."""
    if row.prompt_tokens is None or row.cached_tokens is None or row.cached_tokens > row.prompt_tokens:
        return None
    return _per_second(row.prompt_tokens - row.cached_tokens, ttfo(row))


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.id: metric
        for metric in (
            Metric("ttfo.any/1", "ns", ttfo, "lower"),
            Metric("ttft.visible/1", "ns", ttft, "lower"),
            Metric("e2e/1", "ns", e2e, "lower"),
            Metric("send.lag/1", "ns", send_lag, "lower"),
            Metric("ttft.intended/1", "ns", ttft_intended, "lower"),
            Metric("e2e.intended/1", "ns", e2e_intended, "lower"),
            Metric("decode.last_output/1", "tokens_per_s", decode_last_output, "higher"),
            Metric("decode.stream_end/1", "tokens_per_s", decode_stream_end, "higher"),
            Metric("itl.mean/1", "ns", itl_mean, "lower"),
            Metric("prefill.effective/1", "tokens_per_s", prefill_effective, "higher"),
            Metric("prefill.uncached/1", "tokens_per_s", prefill_uncached, "higher"),
        )
    }
)
"""The metrics of one request."""

AGGREGATE = "output.aggregate/1"
"""The metric of a run: see `output_aggregate`."""


def samples(metric: Metric, rows: Sequence[Row]) -> tuple[Number, ...]:
    """Return the values of those rows that have one, in their order."""
    return tuple(value for row in rows if (value := metric.of(row)) is not None)


def output_aggregate(rows: Sequence[Row]) -> Fraction | None:
    """`output.aggregate/1`: completion tokens of completed requests by the wall time of the run (rule 7).

    None when nothing completed, when a completed request does not report its tokens, or without a time.
    """
    done = [row for row in rows if _is_sample(row)]
    tokens = [row.completion_tokens for row in done if row.completion_tokens is not None]
    wall = wall_ns(rows)
    if not done or len(tokens) != len(done) or not wall:
        return None
    return sum_over_wall(tokens, wall)


def wall_ns(rows: Sequence[Row]) -> int | None:
    """Return the time from the first send to the last end of any request; None when nothing was sent."""
    spans = [(row.started_ns, row.started_ns + _lasted(row)) for row in rows if row.started_ns is not None]
    return max(end for _, end in spans) - min(start for start, _ in spans) if spans else None


def why_not(metric: Metric, row: Row) -> str | None:
    """Return why a request has no value of this metric, in a word; None when it has one."""
    if metric.of(row) is not None:
        return None
    if not _is_sample(row):
        return row.failure or row.outcome
    if metric.id.startswith(("decode", "itl")):
        return row.decode_unmeasurable or "no_time_passed"
    if metric.id in ("ttft.visible/1", "ttft.intended/1"):
        return "no_visible_content"
    if metric.id.startswith("prefill"):
        return "prompt_tokens_unknown" if row.prompt_tokens is None else "cached_tokens_unknown"
    return "no_moment"


def _is_sample(row: Row) -> bool:
    return row.outcome == "completed"


def _since_intended(row: Row, lasted_ns: int | None) -> int | None:
    lag = send_lag(row)
    return None if lasted_ns is None or lag is None else lasted_ns + lag


def _decode(row: Row, until_ns: int | None) -> Fraction | None:
    tokens, first = row.completion_tokens, row.ttfo_ns
    if not _is_sample(row) or row.decode_unmeasurable or tokens is None or first is None or until_ns is None:
        return None
    return _per_second(tokens - 1, until_ns - first)


def _per_second(tokens: int | None, lasted_ns: int | None) -> Fraction | None:
    if tokens is None or lasted_ns is None or lasted_ns <= 0:
        return None
    return Fraction(tokens * _SECOND_NS, lasted_ns)


def _lasted(row: Row) -> int:
    return next((moment for moment in (row.end_ns, row.gave_up_ns) if moment is not None), 0)
