"""Load runs made by hand: rows of requests one after another, or side by side, and the event that names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anvil.ledger.events import LoadMeasured
from anvil.ledger.rows import Row, RunRow
from support.fine.stage import Public, Stage, made

PARSER = 1


def row(
    index: int,
    ttfo_ns: int,
    end_ns: int,
    tokens: int,
    *,
    prompt_tokens: int = 4096,
    started_ns: int = 0,
    slot: int = 0,
    **more: Any,
) -> Row:
    """Return a request that was answered whole: the first token at `ttfo_ns`, the last at its end."""
    members: dict[str, Any] = {
        "index": index,
        "attempt": 1,
        "slot": slot,
        "outcome": "completed",
        "failure": None,
        "http_status": 200,
        "finish_reason": "stop",
        "clock": "kernel",
        "is_fresh": True,
        "intended_ns": started_ns,
        "connect_ns": 40_000,
        "started_ns": started_ns,
        "written_ns": started_ns + 30_000,
        "gave_up_ns": None,
        "head_ns": ttfo_ns,
        "first_event_ns": ttfo_ns,
        "ttfo_earliest_ns": ttfo_ns,
        "ttfo_ns": ttfo_ns,
        "ttft_earliest_ns": ttfo_ns,
        "ttft_ns": ttfo_ns,
        "last_output_earliest_ns": end_ns,
        "last_output_ns": end_ns,
        "end_ns": end_ns,
        "delta_kinds": "cc",
        "delta_earliest_ns": (ttfo_ns, end_ns),
        "delta_ns": (ttfo_ns, end_ns),
        "delta_completion_tokens": (1, tokens),
        "reads": 3,
        "events": 3,
        "event_reads": 2,
        "delta_reads": 2,
        "comments": 0,
        "empty_events": 0,
        "prompt_tokens": prompt_tokens,
        "cached_tokens": 0,
        "completion_tokens": tokens,
        "reasoning_tokens": None,
        "total_tokens": prompt_tokens + tokens,
        "reasoning_seen": (),
        "decode_unmeasurable": None,
        "warnings": (),
    }
    return Row(**members | more)


def failed_row(index: int, started_ns: int = 0, gave_up_ns: int = 10**9) -> Row:
    """Return a request that got an answer of 500 and no token."""
    moments = (f"{of}_ns" for of in ("ttfo", "ttft", "last_output", "end", "first_event", "head"))
    bounds = (f"{of}_earliest_ns" for of in ("ttfo", "ttft", "last_output"))
    told = ("finish_reason", "prompt_tokens", "cached_tokens", "completion_tokens", "total_tokens")
    nothing = dict.fromkeys((*moments, *bounds, *told, "delta_completion_tokens"))
    failed: dict[str, Any] = {
        "outcome": "failed",
        "failure": "http_error",
        "http_status": 500,
        "gave_up_ns": gave_up_ns,
        "delta_kinds": "",
        "delta_earliest_ns": (),
        "delta_ns": (),
        "decode_unmeasurable": "not_completed",
    }
    whole = row(index, 0, 0, 0, started_ns=started_ns)
    return Row(**{**whole.model_dump(), **nothing, **failed})


def spelled(rows: Sequence[Row], **more: Any) -> bytes:
    """Return rows as the artifact of a run."""
    ends = [r.started_ns + (r.end_ns or r.gave_up_ns or 0) for r in rows if r.started_ns is not None]
    head: dict[str, Any] = {
        "parser_version": PARSER,
        "concurrency": 1,
        "stepped": False,
        "aborted": False,
        "offset_error_ns": 0,
        "ended_ns": max(ends, default=0),
    }
    return RunRow(schema="anvil.load.rows/1", **head | more).spelled() + b"".join(r.spelled() for r in rows)


def measured(rows: Sequence[Row], run: int = 1, **more: Any) -> LoadMeasured:
    """Return the event of a run with these rows."""
    outcomes = [r.outcome for r in {r.index: r for r in rows}.values()]
    members: dict[str, Any] = {
        "protocol": "capacity-4k",
        "kind": "capacity",
        "version": 1,
        "parser_version": PARSER,
        "cell": "c1",
        "phase": "measured",
        "run": run,
        "outcome": "completed",
        "expected": len(outcomes),
        "completed": outcomes.count("completed"),
        "failed": outcomes.count("failed"),
        "arrival": "closed-loop",
        "concurrency": 1,
        "rate_per_s": None,
        "input_target_tokens": 4096,
        "output_cap_tokens": 256,
        "ignores_eos": False,
        "shared_prefix_tokens": 0,
        "cache_state": "cold",
        "seed": 7,
        "prompts": (),
        "resolution_ns": 41_000,
        "lag_p99_ns": 90_000,
        "output_events": 0,
        "output_reads": 0,
        "canary": "passed",
        "counters": (),
        "counters_missing": "no_endpoint",
        "telemetry_missing": "not_watched",
        "parameters": (),
        "observed": (),
        "findings": (),
        "messages": None,
    }
    return made(LoadMeasured, **members | more)


def load(stage: Stage, candidate: str, attempt: str, rows: Sequence[Row], run: int = 1, **more: Any) -> int:
    """Tell a run with its rows, which ended a moment of its own, and return its number."""
    ends = [r.started_ns + (r.end_ns or r.gave_up_ns or 0) for r in rows if r.started_ns is not None]
    head = {"concurrency": more.get("concurrency", 1), "ended_ns": max(ends, default=0) + len(stage.lines)}
    words = f"what was sent and came back: {attempt} {more.get('protocol', '')} {more.get('cell', '')} {run}"
    artifacts = {"rows": Public(spelled(rows, **head)), "record": words.encode()}
    return stage.tell(measured(rows, run, **more), candidate, attempt, artifacts=artifacts)
