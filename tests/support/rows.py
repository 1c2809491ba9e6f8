"""One request's row, whole, with what a test changes of it."""

from __future__ import annotations

from typing import Any

from anvil.ledger.rows import Row


def row(**changed: Any) -> Row:
    """A completed request: 5 tokens, the first after 100 ms and the last after 500, the end after 700."""
    members: dict[str, Any] = {
        "index": 0,
        "attempt": 1,
        "slot": 0,
        "outcome": "completed",
        "failure": None,
        "http_status": 200,
        "finish_reason": "length",
        "clock": "kernel",
        "is_fresh": True,
        "intended_ns": 0,
        "connect_ns": 1_000,
        "started_ns": 0,
        "written_ns": 1_000,
        "gave_up_ns": None,
        "head_ns": 2_000,
        "first_event_ns": 90_000_000,
        "ttfo_earliest_ns": 100_000_000,
        "ttfo_ns": 100_000_000,
        "ttft_earliest_ns": 200_000_000,
        "ttft_ns": 200_000_000,
        "last_output_earliest_ns": 500_000_000,
        "last_output_ns": 500_000_000,
        "end_ns": 700_000_000,
        "delta_kinds": "rcccc",
        "delta_earliest_ns": (100_000_000, 200_000_000, 300_000_000, 400_000_000, 500_000_000),
        "delta_ns": (100_000_000, 200_000_000, 300_000_000, 400_000_000, 500_000_000),
        "delta_completion_tokens": None,
        "reads": 6,
        "events": 7,
        "event_reads": 6,
        "delta_reads": 5,
        "comments": 0,
        "empty_events": 0,
        "prompt_tokens": 1000,
        "cached_tokens": 250,
        "completion_tokens": 5,
        "reasoning_tokens": None,
        "total_tokens": 1005,
        "reasoning_seen": (),
        "decode_unmeasurable": None,
        "warnings": (),
    }
    return Row(**members | changed)
