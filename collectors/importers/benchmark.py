"""`benchmark`: `anvil-serving.benchmark/v1`, one run of its capacity load.

1. The protocol says what the figures mean. `capacity-v2`, and files that name none, keep no rows and say of no
   figure what it times: nothing of them is mapped to a metric of ours. `capacity-v3` says that TTFT is to the
   first visible content, and so it is ours. `capacity-v4-reasoning` times the first output of any kind beside it.
2. Decode and effective prefill of v3 begin at the first *visible* content. That is our first output only where
   thinking was disabled; elsewhere they are mapped to nothing.
3. Its "inter-token latency" is generation time over tokens to the *end of the stream*, and its throughput is over
   a wall time that holds the making of the prompts: neither is ours.
4. A percentile of it is nearest rank.
5. Prompts shared a prefix where the file says so, where cached tokens are reported, and, as a hint, where at
   concurrency 1 later requests of the same size began to answer in two thirds of the first one's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from anvil.collectors.importers.evidence import JsonEvidence, Reading, Results, day, made, parameter, rows
from anvil.collectors.importers.fields import Fields, label
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import found
from anvil.collectors.importers.remaking import Given, finding, findings_of, remade
from anvil.ledger import statistics
from anvil.ledger.events import LoadImported
from anvil.ledger.events.results import ImportFinding, Quantity, Unit
from anvil.ledger.rowtable import Column, RowTable

PROTOCOLS = ("none", "capacity-v2", "capacity-v3", "capacity-v4-reasoning")
"""What `measurement_protocol` may be; `none` when it is absent or null."""

TIMED: Mapping[str, tuple[str, Unit]] = {
    "ttfo": ("time_to_first_output_ms", "ms"),
    "ttft": ("ttft_ms", "ms"),
    "e2e": ("e2e_ms", "ms"),
    "generation": ("generation_ms", "ms"),
    "decode": ("decode_tok_s", "tokens_per_s"),
    "prefill": ("effective_prefill_tok_s", "tokens_per_s"),
    "token_latency": ("mean_inter_token_latency_ms", "ms"),
    "tpot": ("tpot_ms", "ms"),
    "prompt_tokens": ("prompt_tokens", "tokens"),
    "output_tokens": ("output_tokens", "tokens"),
    "content_chunks": ("content_chunks", "chunks"),
    "reasoning_chunks": ("reasoning_chunks", "chunks"),
}
"""Column of ours to the member of a row, and its unit."""

STATISTICS = {
    "p25": "nearest_rank_p25",
    "p50": "nearest_rank_p50",
    "p75": "nearest_rank_p75",
    "p90": "nearest_rank_p90",
    "p95": "nearest_rank_p95",
    "p99": "nearest_rank_p99",
    "mean": "mean",
    "min": "minimum",
    "max": "maximum",
}
TOTALS: Mapping[str, tuple[str, str, Unit]] = {
    "prompt_tokens": ("sum", "prompt_tokens", "tokens"),
    "output_tokens": ("sum", "output_tokens", "tokens"),
    "content_chunks": ("sum", "content_chunks", "chunks"),
    "reasoning_chunks": ("sum", "reasoning_chunks", "chunks"),
    "throughput_tok_s": ("sum_over_wall", "output_tokens", "tokens_per_s"),
}
_UNMAPPED = ("content_chunks_s", "prefix_cache_hit_avg")

REUSE = Fraction(2, 3)
"""Under which part of the first request's time later ones hint at a prefix in the cache."""


def definitions(protocol: str, thinking: str | None) -> dict[str, str]:
    """Return for each column the metric of ours that is meant (rules 1 to 3)."""
    if protocol in ("none", "capacity-v2"):
        return {}
    meant: dict[str, str] = {"ttft": "ttft.visible/1", "e2e": "e2e/1", "ttfo": "ttfo.any/1"}
    if protocol == "capacity-v4-reasoning" or thinking == "disabled":
        meant |= {"decode": "decode.stream_end/1", "prefill": "prefill.effective/1"}
    return meant


def take_apart(reading: Reading) -> Results:
    """Return the run that a file is about.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    part = reading.part
    protocol = part.text("measurement_protocol") or "none"
    if protocol not in PROTOCOLS:
        raise ImportRefused(
            f"$.measurement_protocol: expected a known protocol, found {found(protocol)}",
            advice=f"Known are: {', '.join(PROTOCOLS)}.",
        )
    flags = part.part("serve_flags")
    meant = definitions(protocol, flags.text("thinking_mode"))
    began = part.moment("started_at")
    kept = _rows(part, meant)
    wall = _wall(part)
    figures = remade(_given(part.part("metrics"), meant), kept, wall)
    expected, completed = part.needed_count("requests"), part.needed_count("completed")
    failed = part.needed_count("failed")
    findings = [*_findings(part, kept, expected, completed, failed), *findings_of(figures, kept, completed)]
    run = part.text("run_id")
    event = made(
        LoadImported,
        part.place,
        {
            "source": reading.source,
            "tool": "anvil-serving",
            "called": "capacity" if protocol == "none" else protocol,
            "concurrency": part.needed_count("concurrency"),
            "request_rate": None,
            "target_tokens": part.count("context_tokens"),
            "run": None if run is None else label(run),
            "began": began,
            "ended": part.moment("finished_at"),
            "wall": wall,
            "expected": expected,
            "completed": completed,
            "failed": failed,
            "parameters": [
                *parameter("max_tokens", part.count("max_tokens")),
                *parameter("context_seed", part.count("context_seed")),
                *parameter("max_context_tokens", part.count("max_context_tokens")),
                *parameter("thinking_mode", flags.text("thinking_mode")),
                *parameter("reasoning_effort", flags.text("reasoning_effort")),
                *parameter("shared_prefix_burst", flags.truth("shared_prefix_burst")),
                *parameter("prompt_cache_mode", part.text("prompt_cache_mode")),
            ],
            "statistics": figures,
            "findings": findings,
        },
    )
    identity = reading.identity
    identity.add("date", began)
    identity.add_served(part.text("model"))
    identity.add("engine", part.text("engine"))
    identity.add("hardware", part.text("gpu"), "gpu")
    identity.add("recipe", part.text("source_recipe"))
    return Results([Said(event, rows=kept)], day(began))


def _rows(part: Fields, meant: Mapping[str, str]) -> RowTable | None:
    columns = [
        Column(name=name, called=called, unit=unit, definition=meant.get(name))
        for name, (called, unit) in TIMED.items()
    ]
    given: list[dict[str, object]] = [
        {
            "position": row.place,
            "outcome": "passed",
            "values": {name: row.number(called) for name, (called, _) in TIMED.items()},
        }
        for row in part.parts("request_timings")
    ]
    given += [{"position": place, "outcome": "failed", "values": {}} for place, _ in part.items("failures")]
    return rows(columns, given)


def _wall(part: Fields) -> Quantity | None:
    wall = part.number("wall_clock_ms")
    return None if wall is None else Quantity(number=wall, unit="ms")


def _given(metrics: Fields, meant: Mapping[str, str]) -> Iterator[Given]:
    """Yield the figures of a file, in our order; what else it has stays in the file."""
    for column, (member, unit) in TIMED.items():
        base, _, end = member.rpartition("_")
        for word, statistic in STATISTICS.items():
            inside = f"{base}_{word}_{end}" if end == "ms" else ""
            for called in (inside, f"{member}_{word}"):
                if called and called in metrics.members:
                    yield Given(called, metrics.number(called), unit, statistic, column, meant.get(column))
    for called, (statistic, column, unit) in TOTALS.items():
        if called in metrics.members:
            yield Given(called, metrics.number(called), unit, statistic, column)
    for called in _UNMAPPED:
        if called in metrics.members:
            yield Given(called, metrics.number(called), "ratio" if called.endswith("avg") else "tokens_per_s")


def _findings(
    part: Fields, kept: RowTable | None, expected: int, completed: int, failed: int
) -> Iterator[ImportFinding]:
    if completed < expected or failed:
        yield finding("partly_failed", (), expected - completed, expected)
    if kept is not None and len([row for row in kept.rows if row.outcome == "passed"]) != completed:
        yield finding("count_differs", ("completed",), len(kept.rows), completed)
    silent = [item for _, item in part.items("failures") if not _says_why(item)]
    if silent:
        yield finding("message_missing", ("failures",), len(silent), failed)
    hints = list(_shared(part, kept))
    if hints:
        yield finding("shared_prefix", hints)


def _says_why(item: Any) -> bool:
    text = item.get("error_message", item.get("error")) if isinstance(item, dict) else item
    return isinstance(text, str) and bool(text.strip())


def _shared(part: Fields, kept: RowTable | None) -> Iterator[str]:
    """Yield what says that prompts shared a prefix (rule 5)."""
    if part.part("serve_flags").truth("shared_prefix_burst") or part.text("prompt_cache_mode") == "shared":
        yield "declared"
    hits = part.part("metrics").number("prefix_cache_hit_avg")
    if hits is not None and statistics.exact(hits) > 0:
        yield "cached_tokens"
    if part.count("concurrency") != 1 or kept is None:
        return
    first, *later = kept.values("ttfo") or kept.values("ttft") or [Fraction()]
    sizes = kept.values("prompt_tokens")
    usual = statistics.nearest_rank(later, 50)
    if (
        usual is not None
        and sizes
        and max(sizes) <= min(sizes) * Fraction(101, 100)
        and usual < first * REUSE
    ):
        yield "timing"


BENCHMARK = JsonEvidence("benchmark", {"anvil-serving.benchmark/v1": take_apart})
