"""GuideLLM's report: every figure is the tool's own text, and an independent computation gives it again.

The computation here is done in floats from the raw JSON, with percentiles written down anew; the importers' is exact,
from rows. A figure that both give, and the tool printed, is mapped to what it is.
"""

from __future__ import annotations

import itertools

from support.toolfigures import QUANTILES, Values, compare, figures, mean, nearest, one
from support.toolfiles import changed, spelled, values, whole


def test_guidellm_gives_every_distribution_again_by_its_own_rule() -> None:
    (raw,) = values("guidellm.json")["benchmarks"]
    event, _ = one(whole("guidellm.json"))
    rows = raw["requests"]["successful"]
    samples: dict[str, Values] = {
        "time_to_first_token_ms": [row["time_to_first_token_ms"] for row in rows],
        "time_to_first_output_token_ms": [row["time_to_first_output_token_ms"] for row in rows],
        "request_latency": [row["request_latency"] for row in rows],
        "prompt_token_count": [row["prompt_tokens"] for row in rows],
        "output_token_count": [row["output_tokens"] for row in rows],
        "inter_token_latency_ms": [
            row["inter_token_latency_ms"] for row in rows for _ in range(row["output_tokens"] - 1)
        ],
        "time_per_output_token_ms": [
            row["time_per_output_token_ms"] for row in rows for _ in range(row["output_tokens"])
        ],
    }
    expected: dict[str, float] = {}
    for metric, found in samples.items():
        named = {"mean": mean(found), "median": nearest(found, 50), "min": min(found), "max": max(found)}
        named |= {f"percentiles.p{q:02d}": nearest(found, q) for q in QUANTILES}
        expected |= {f"{metric}.successful.{word}": value for word, value in named.items()}
    compare(event, expected)
    assert (event.expected, event.completed, event.failed) == (10, 9, 1)
    assert {f.called for f in event.statistics if f.remade == "no_rows"} == {
        "requests_per_second.successful.mean",
        "output_tokens_per_second.successful.mean",
    }


def test_a_rank_that_guidellm_misses_by_its_floats_is_a_finding() -> None:
    """Nine tenths, added up in floats, are less than 0.9: of ten values its 90th percentile is the tenth."""
    value = values("guidellm.json")
    (benchmark,) = value["benchmarks"]
    successful = benchmark["requests"]["successful"]
    successful.append({**successful[0], "time_to_first_token_ms": 1e6})
    found = sorted(row["time_to_first_token_ms"] for row in successful)
    reached = list(itertools.accumulate([1 / len(found)] * len(found)))
    theirs = {q: found[next(n for n, sum_ in enumerate(reached) if sum_ >= q / 100)] for q in QUANTILES}
    assert theirs[90] == found[9] != nearest(found, 90) == found[8]
    figures_of = benchmark["metrics"]["time_to_first_token_ms"]["successful"]
    figures_of["percentiles"] = {f"p{q:02d}": number for q, number in theirs.items()}
    event, _ = one(spelled("guidellm.json", value))
    prefix = "time_to_first_token_ms.successful.percentiles."
    differing = {
        called for called, f in figures(event).items() if called.startswith(prefix) and f.remade == "differs"
    }
    assert differing == {f"{prefix}p{q:02d}" for q in QUANTILES if theirs[q] != nearest(found, q)}
    assert f"{prefix}p90" in differing
    assert f"{prefix}p90" in next(f.about for f in event.findings if f.finding == "statistic_differs")


def test_guidellm_names_are_mapped_one_by_one() -> None:
    _, rows = one(whole("guidellm.json"))
    assert {column.called: column.definition for column in rows.columns} == {
        "time_to_first_token_ms": "ttfo.any/1",
        "time_to_first_output_token_ms": "ttft.visible/1",
        "request_latency": "e2e/1",
        "inter_token_latency_ms": "itl.mean/1",
        "time_per_output_token_ms": None,
        "prompt_tokens": None,
        "cached_tokens": None,
        "output_tokens": None,
    }


def test_requests_outside_of_what_guidellm_measured_are_no_rows() -> None:
    value = values("guidellm.json")
    (benchmark,) = value["benchmarks"]
    first, *rest = sorted(benchmark["requests"]["successful"], key=lambda row: row["request_end_time"])
    benchmark["scheduler_metrics"]["measure_start_time"] = first["request_end_time"] + 1e-3
    benchmark["metrics"]["request_totals"] = {"successful": 8, "errored": 1, "incomplete": 0, "total": 9}
    _, rows = one(spelled("guidellm.json", value))
    kept = [row.values["e2e"] for row in rows.rows if row.outcome == "passed"]
    assert sorted(map(float, filter(None, kept))) == sorted(row["request_latency"] for row in rest)  # type: ignore[arg-type]


def test_a_tool_call_makes_the_first_output_of_guidellm_no_visible_one() -> None:
    path = ["benchmarks", 0, "requests", "successful", 0, "tool_calls"]
    event, rows = one(changed("guidellm.json", path, [{"id": "1"}]))
    column = rows.column("ttft")
    assert column is not None
    assert column.definition is None
    assert figures(event)["time_to_first_output_token_ms.successful.mean"].definition is None
    assert figures(event)["time_to_first_token_ms.successful.mean"].definition == "ttfo.any/1"


def test_tokens_that_guidellm_counted_by_chunks_are_no_inter_token_time_of_ours() -> None:
    path = ["benchmarks", 0, "requests", "successful", 2, "output_metrics", "total_tokens"]
    _, rows = one(changed("guidellm.json", path, None))
    column = rows.column("itl")
    assert column is not None
    assert column.definition is None


def test_a_request_that_guidellm_did_not_let_end_is_neither_sample_nor_failure() -> None:
    value = values("guidellm.json")
    benchmark = value["benchmarks"][0]
    benchmark["requests"]["incomplete"] = [benchmark["requests"]["successful"].pop()]
    benchmark["metrics"]["request_totals"] = {"successful": 8, "errored": 1, "incomplete": 1, "total": 10}
    event, rows = one(spelled("guidellm.json", value))
    assert (event.expected, event.completed, event.failed) == (10, 8, 1)
    assert [row.outcome for row in rows.rows] == ["passed"] * 8 + ["failed", "incomplete"]
    assert set(rows.rows[-1].values.values()) == {None}
