"""Each metric against its definition, written out by hand."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from support.rows import row

from anvil.ledger.metrics import METRICS, output_aggregate, samples, wall_ns, why_not
from anvil.ledger.rows import Row

_SECOND = 1_000_000_000


def failed(**changed: Any) -> Row:
    times = dict.fromkeys(("ttfo_ns", "ttft_ns", "last_output_ns", "end_ns"))
    return row(outcome="failed", failure="timeout", gave_up_ns=2 * _SECOND, **times | changed)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("ttfo.any/1", 100_000_000),
        ("ttft.visible/1", 200_000_000),
        ("e2e/1", 700_000_000),
        ("send.lag/1", 300),
        ("ttft.intended/1", 200_000_300),
        ("e2e.intended/1", 700_000_300),
        ("decode.last_output/1", 10),
        ("decode.stream_end/1", Fraction(20, 3)),
        ("itl.mean/1", 100_000_000),
        ("prefill.effective/1", 10_000),
        ("prefill.uncached/1", 7_500),
    ],
)
def test_value(metric: str, value: Fraction) -> None:
    assert METRICS[metric].of(row(intended_ns=-300)) == value
    assert why_not(METRICS[metric], row()) is None
    assert METRICS[metric].of(failed()) is None
    assert why_not(METRICS[metric], failed()) == "timeout"


@pytest.mark.parametrize(
    ("metric", "changed", "reason"),
    [
        ("decode.last_output/1", {"decode_unmeasurable": "reasoning_not_streamed"}, "reasoning_not_streamed"),
        ("decode.last_output/1", {"last_output_ns": 100_000_000}, "no_time_passed"),
        ("ttft.visible/1", {"ttft_ns": None}, "no_visible_content"),
        ("prefill.effective/1", {"prompt_tokens": None}, "prompt_tokens_unknown"),
        ("prefill.uncached/1", {"cached_tokens": None}, "cached_tokens_unknown"),
        ("prefill.uncached/1", {"cached_tokens": 1001}, "cached_tokens_unknown"),
        ("ttfo.any/1", {"ttfo_ns": None}, "no_moment"),
    ],
)
def test_absent_is_none_with_a_reason(metric: str, changed: dict[str, Any], reason: str) -> None:
    assert METRICS[metric].of(row(**changed)) is None
    assert why_not(METRICS[metric], row(**changed)) == reason


def test_aggregate_is_over_the_wall_time_of_all_requests() -> None:
    rows = [row(), row(started_ns=_SECOND)]
    assert wall_ns(rows) == 1_700_000_000
    assert output_aggregate(rows) == Fraction(100, 17)
    # a failed request gives no token and costs its time
    assert output_aggregate([*rows, failed(started_ns=_SECOND)]) == Fraction(10, 3)


def test_aggregate_is_unknown_when_a_completed_request_hides_its_tokens() -> None:
    assert output_aggregate([row(), row(completion_tokens=None)]) is None
    assert output_aggregate([failed()]) is None
    assert output_aggregate([]) is None
    assert wall_ns([]) is None


def test_failed_requests_are_no_samples() -> None:
    assert samples(METRICS["e2e/1"], [row(), failed(), row(end_ns=1)]) == (700_000_000, 1)
