"""What the importer of capacity files takes from them: rows, figures made again, names mapped, findings."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from support.evidence_files import benchmark
from support.taking import found, names, results, taken


def test_a_capacity_run_is_a_load_with_its_rows_and_its_figures_made_again() -> None:
    ((event, rows),) = results(benchmark())
    assert (event.expected, event.completed, event.failed) == (3, 3, 0)
    assert (event.concurrency, event.target_tokens, event.run) == (1, 1024, "benchmark-20260304t050607z")
    assert (event.began, event.ended) == ("2026-03-04T05:06:07.000000Z", "2026-03-04T05:06:08.000000Z")
    assert rows is not None
    assert rows.values("ttft") == [100, 120, 110]
    assert [row.values["ttft"] for row in rows.rows] == ["100.0", "120.0", "110.0"]
    assert {figure.called: figure.remade for figure in event.statistics} == {
        "ttft_p50_ms": "same",
        "ttft_p95_ms": "same",
        "e2e_p50_ms": "same",
        "decode_tok_s_p50": "same",
        "prompt_tokens": "same",
        "output_tokens": "same",
        "throughput_tok_s": "same",
        "prefix_cache_hit_avg": "no_rows",
    }
    assert rows.statistic("sum_over_wall", "output_tokens", wall=event.wall) == Fraction(
        33_000, 1
    ) / Fraction("1000.5")


@pytest.mark.parametrize(
    ("protocol", "thinking", "meant"),
    [
        (None, "disabled", {}),
        ("capacity-v2", "disabled", {}),
        (
            "capacity-v3",
            "disabled",
            {
                "ttft": "ttft.visible/1",
                "e2e": "e2e/1",
                "decode": "decode.stream_end/1",
                "prefill": "prefill.effective/1",
            },
        ),
        ("capacity-v3", "enabled", {"ttft": "ttft.visible/1", "e2e": "e2e/1"}),
        (
            "capacity-v4-reasoning",
            "enabled",
            {
                "ttft": "ttft.visible/1",
                "e2e": "e2e/1",
                "decode": "decode.stream_end/1",
                "prefill": "prefill.effective/1",
            },
        ),
    ],
)
def test_what_a_name_means_depends_on_the_protocol(
    protocol: str | None, thinking: str, meant: dict[str, str]
) -> None:
    file = benchmark()
    file["measurement_protocol"] = protocol
    file["serve_flags"]["thinking_mode"] = thinking
    ((_, rows),) = results(file)
    assert rows is not None
    assert {c.name: c.definition for c in rows.columns if c.definition} == meant


def test_a_file_without_rows_is_imported_and_its_figures_are_said_to_rest_on_none() -> None:
    file = benchmark()
    del file["request_timings"], file["measurement_protocol"]
    ((event, rows),) = results(file)
    assert rows is None
    assert {figure.remade for figure in event.statistics} == {"no_rows"}
    unsupported = [one for one in event.findings if one.finding == "percentile_unsupported"]
    assert [(one.found, one.out_of) for one in unsupported] == [(3, 5), (3, 59)]


def test_a_percentile_that_n_does_not_support_is_named_with_what_it_needs() -> None:
    ((event, _),) = results(benchmark())
    unsupported = {one.out_of: one.about for one in event.findings if one.finding == "percentile_unsupported"}
    assert unsupported == {59: ("ttft_p95_ms",), 5: ("ttft_p50_ms", "e2e_p50_ms", "decode_tok_s_p50")}


def test_a_figure_that_the_rows_do_not_give_is_said_to_differ() -> None:
    file = benchmark()
    file["metrics"]["ttft_p50_ms"] = 100.0
    ((event, _),) = results(file)
    different = found(event, "statistic_differs")
    assert different is not None
    assert (different.about, different.found, different.out_of) == (("ttft_p50_ms",), 1, 8)


def test_failed_requests_are_rows_without_samples_and_the_run_is_partly_failed() -> None:
    file = benchmark()
    file.update(completed=2, failed=1, failures=[{"request_index": 1, "error_type": "TimeoutError"}])
    del file["request_timings"][1]
    ((event, rows),) = results(file)
    assert rows is not None
    assert [row.outcome for row in rows.rows] == ["passed", "passed", "failed"]
    assert rows.values("ttft") == [100, 110]
    assert {"partly_failed", "message_missing"} <= names(event)
    failed = found(event, "partly_failed")
    assert failed is not None
    assert (failed.found, failed.out_of) == (1, 3)


def test_rows_that_are_fewer_than_the_requests_that_completed_are_found() -> None:
    file = benchmark()
    del file["request_timings"][1]
    ((event, _),) = results(file)
    assert "count_differs" in names(event)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"serve_flags": {"shared_prefix_burst": True}}, "declared"),
        ({"prompt_cache_mode": "shared"}, "declared"),
        ({"metrics": {"prefix_cache_hit_avg": 0.95}}, "cached_tokens"),
    ],
)
def test_prompts_that_shared_a_prefix_are_found_where_the_file_says_so(
    change: dict[str, Any], hint: str
) -> None:
    ((event, _),) = results({**benchmark(), **change})
    shared = found(event, "shared_prefix")
    assert shared is not None
    assert shared.about == (hint,)


def test_a_first_request_that_took_much_longer_is_a_hint_only_at_concurrency_1_and_equal_sizes() -> None:
    file = benchmark()
    file["request_timings"][0]["ttft_ms"] = 200.0
    assert "shared_prefix" in names(results(file)[0][0])
    assert "shared_prefix" not in names(results({**file, "concurrency": 2})[0][0])
    file["request_timings"][0]["prompt_tokens"] = 2000
    assert "shared_prefix" not in names(results(file)[0][0])


def test_a_served_path_is_withheld_and_a_model_that_nobody_names_is_missing() -> None:
    took = taken(benchmark())
    assert took.not_said == ("image", "revision", "recipe")
    assert took.withheld == ("model",)
    served = taken({**benchmark(), "model": "small-model"})
    assert served.not_said == ("image", "model", "revision", "recipe")
    assert served.withheld == ()
