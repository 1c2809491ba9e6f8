"""What real tools wrote, imported: every figure is the tool's own text, and an independent computation gives it again.

The computation here is done in floats from the raw JSON, with percentiles written down anew; the importers' is exact,
from rows. A figure that both give, and the tool printed, is mapped to what it is.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest
from support.toolfiles import KINDS, changed, loads, spelled, suites, taken, values, whole

from anvil.collectors.importers import KINDS as IMPORTERS
from anvil.collectors.importers import importer_of
from anvil.ledger import statistics
from anvil.ledger.events import LoadImported
from anvil.ledger.events.results import SourceStatistic
from anvil.ledger.rowtable import RowTable

Values = list[float]


def linear(found: Values, q: float) -> float:
    """Numpy's default percentile, written down anew."""
    ordered = sorted(found)
    at = q / 100 * (len(ordered) - 1)
    low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
    return low + (high - low) * (at - math.floor(at))


def nearest(found: Values, q: float) -> float:
    """The first value at which q per cent of all are reached."""
    ordered = sorted(found)
    return next(value for number, value in enumerate(ordered, 1) if number * 100 >= q * len(ordered))


def mean(found: Values) -> float:
    return math.fsum(found) / len(found)


def one(content: bytes) -> tuple[LoadImported, RowTable]:
    ((event, rows),) = loads(content)
    assert rows is not None
    return event, rows


def figures(event: LoadImported) -> Mapping[str, SourceStatistic]:
    return {figure.called: figure for figure in event.statistics}


def compare(event: LoadImported, expected: Mapping[str, float]) -> None:
    """Check that each figure is there, is what the raw file's values give, and was made again by the importer."""
    found = figures(event)
    for called, value in expected.items():
        figure = found[called]
        assert figure.number is not None
        assert float(figure.number) == pytest.approx(value, rel=1e-9), called
        assert figure.remade == "same", called


# --- which file is whose ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_a_file_is_recognised_without_being_told_and_by_one_importer_only(name: str) -> None:
    content = whole(name)
    assert importer_of(content, None).kind == KINDS[name]
    assert [kind for kind, importer in IMPORTERS.items() if importer.recognises(content)] == [KINDS[name]]


@pytest.mark.parametrize("name", KINDS)
def test_what_is_said_holds_no_word_of_the_file_that_is_not_public(name: str) -> None:
    """No prompt, answer, address or path of the file stands in an event or in rows."""
    made = taken(whole(name))
    clear = "".join(str(said.event.facts()) for said in made.said)
    clear += "".join(said.rows.encode().decode() for said in made.said if said.rows is not None)
    for word in ("127.0.0.1", "http:", "sentence", "word", "/run", "/peers", "Traceback", "Answer"):
        assert word not in clear
    assert made.nature == "raw-evidence"


@pytest.mark.parametrize("name", KINDS)
def test_what_was_tested_is_listed_as_missing_where_the_file_does_not_say(name: str) -> None:
    made = taken(whole(name))
    assert {"hardware", "engine", "image", "model", "revision", "recipe"} <= set(made.not_said)
    assert ("date" in made.not_said) == (name.startswith("sglang") or name == "lm-eval.jsonl")
    assert made.withheld == (
        ("date",) if name in ("aiperf.json", "vllm-detailed.json", "vllm-plain.json") else ()
    )


@pytest.mark.parametrize("name", KINDS)
def test_the_files_hold_nothing_of_the_machine_that_made_them(name: str) -> None:
    text = whole(name).decode()
    assert not re.search(r"/(?:root|home|tmp|work|usr|mnt|var|opt)/", text)
    assert not re.search(r"Linux-[0-9]", text)


# --- vLLM ------------------------------------------------------------------------------------------------------


def spread(prefix: Callable[[str], str], found: Values, percentiles: tuple[int, ...]) -> dict[str, float]:
    made = {prefix("mean"): mean(found), prefix("median"): linear(found, 50)}
    return made | {prefix(f"p{q}"): linear(found, q) for q in percentiles}


def test_vllm_with_rows_gives_every_figure_again() -> None:
    raw = values("vllm-detailed.json")
    event, rows = one(whole("vllm-detailed.json"))
    good = [number for number, error in enumerate(raw["errors"]) if not error]
    ms = {
        "ttft": [raw["ttfts"][number] * 1000 for number in good],
        "itl": [gap * 1000 for number in good for gap in raw["itls"][number]],
        "e2el": [raw["latencies"][number] * 1000 for number in good],
        "tpot": [
            (raw["latencies"][number] - raw["ttfts"][number]) * 1000 / (raw["output_lens"][number] - 1)
            for number in good
        ],
    }
    expected: dict[str, float] = {}
    for metric, found in ms.items():
        expected |= spread(lambda word, metric=metric: f"{word}_{metric}_ms", found, (50, 90, 99))  # type: ignore[misc]
    tokens = sum(raw["output_lens"][number] for number in good)
    expected |= {
        "total_output_tokens": tokens,
        "total_input_tokens": sum(raw["input_lens"][number] for number in good),
        "output_throughput": tokens / raw["duration"],
        "request_throughput": len(good) / raw["duration"],
    }
    compare(event, expected)
    unknown = [name for name, figure in figures(event).items() if figure.remade == "no_rows"]
    assert unknown == [f"std_{metric}_ms" for metric in ("ttft", "tpot", "itl", "e2el")]
    assert (event.expected, event.completed, event.failed) == (10, len(good), 10 - len(good))
    assert [row.outcome == "passed" for row in rows.rows] == [not error for error in raw["errors"]]


def test_vllm_times_none_of_our_metrics() -> None:
    """Its first chunk may be the role's, and its clock starts before the connection."""
    event, rows = one(whole("vllm-detailed.json"))
    assert {figure.definition for figure in event.statistics} == {None}
    assert {column.definition for column in rows.columns} == {None}


def test_a_failed_request_of_vllm_is_no_sample_although_numbers_stand_there() -> None:
    raw = values("vllm-detailed.json")
    _, rows = one(whole("vllm-detailed.json"))
    failed = [row for row in rows.rows if row.outcome == "failed"]
    assert len(failed) == raw["failed"] > 0
    assert all(raw["ttfts"][row.index] == 0.0 and set(row.values.values()) == {None} for row in failed)
    assert {row.failure for row in failed} == {"http_error"}


def test_vllm_without_rows_is_taken_at_its_word() -> None:
    ((event, rows),) = loads(whole("vllm-plain.json"))
    assert rows is None
    raw = values("vllm-plain.json")
    for called, figure in figures(event).items():
        assert figure.number == str(raw[called]), called
    assert {f.remade for f in event.statistics if f.called != "request_throughput"} == {"no_rows"}


def test_a_figure_that_the_rows_do_not_give_is_a_finding() -> None:
    event, _ = one(changed("vllm-detailed.json", ["p90_ttft_ms"], 1.0))
    assert figures(event)["p90_ttft_ms"].remade == "differs"
    (found,) = [one for one in event.findings if one.finding == "statistic_differs"]
    assert (found.about, found.found) == (("p90_ttft_ms",), 1)


# --- SGLang ----------------------------------------------------------------------------------------------------


def test_sglang_with_rows_gives_again_what_its_rows_hold() -> None:
    (raw,) = values("sglang-details.jsonl")
    event, rows = one(whole("sglang-details.jsonl"))
    good = [number for number, error in enumerate(raw["errors"]) if not error]
    ttft = [raw["ttfts"][number] * 1000 for number in good]
    itl = [gap * 1000 for number in good for gap in raw["itls"][number]]
    expected = spread(lambda word: f"{word}_ttft_ms", ttft, (90, 95, 99))
    expected |= spread(lambda word: f"{word}_itl_ms", itl, (90, 95, 99))
    tokens = sum(raw["output_lens"][number] for number in good)
    expected |= {
        "total_output_tokens": tokens,
        "output_throughput": tokens / raw["duration"],
        "request_throughput": len(good) / raw["duration"],
    }
    compare(event, expected)
    assert figures(event)["p90_e2e_latency_ms"].remade == "no_rows"
    assert (event.expected, event.completed, event.failed) == (10, len(good), 10 - len(good))
    assert event.run == "details"
    assert {column.definition for column in rows.columns} == {None}


def test_sglang_without_rows_does_not_say_how_many_failed() -> None:
    ((event, rows),) = loads(whole("sglang-plain.jsonl"))
    assert rows is None
    assert (event.expected, event.failed) == (None, None)
    assert event.completed == values("sglang-plain.jsonl")[0]["completed"]


def test_sglang_writes_infinity_for_no_rate_and_it_is_none() -> None:
    assert b'"request_rate": Infinity' in whole("sglang-plain.jsonl")
    ((event, _),) = loads(whole("sglang-plain.jsonl"))
    assert event.request_rate is None
    ((limited, _),) = loads(whole("sglang-plain.jsonl").replace(b"Infinity", b"2.5"))
    assert limited.request_rate == "2.5"


def test_every_line_of_sglang_is_a_run() -> None:
    both = whole("sglang-details.jsonl") + whole("sglang-plain.jsonl")
    assert [event.position for event, _ in loads(both)] == ["$[0]", "$[1]"]


def test_tokens_that_sglang_counted_twice_with_two_results_are_a_finding() -> None:
    """Where the endpoint sends no usage it takes the cap for the count; the text knows better."""
    raw = values("sglang-plain.jsonl")[0]
    content = changed(
        "sglang-plain.jsonl", [0, "total_output_tokens_retokenized"], raw["total_output_tokens"] - 7
    )
    ((event, _),) = loads(content)
    (found,) = [one for one in event.findings if one.finding == "count_differs"]
    assert found.about == ("total_output_tokens_retokenized",)
    assert (found.found, found.out_of) == (raw["total_output_tokens"] - 7, raw["total_output_tokens"])


# --- GuideLLM --------------------------------------------------------------------------------------------------

QUANTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


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


# --- AIPerf ----------------------------------------------------------------------------------------------------


def test_the_rows_of_the_records_give_every_figure_of_the_summary_again() -> None:
    """The two files of one run, imported each by itself."""
    ((summary, none),) = loads(whole("aiperf.json"))
    records, rows = one(whole("aiperf.jsonl"))
    assert none is None
    compared = 0
    for figure in summary.statistics:
        if figure.statistic is None:
            continue
        assert figure.column is not None
        assert figure.number is not None
        ours = rows.statistic(figure.statistic, figure.column)
        assert ours is not None
        assert abs(ours - statistics.exact(figure.number)) <= abs(ours) / 10**9, figure.called
        compared += 1
    assert compared == 12 * 12
    assert (summary.expected, summary.completed, summary.failed) == (10, 9, 1)
    assert (records.expected, records.completed, records.failed) == (10, 9, 1)


def test_the_summary_of_aiperf_is_its_own_text_and_linear() -> None:
    raw = values("aiperf.jsonl")
    ((event, _),) = loads(whole("aiperf.json"))
    found = figures(event)
    ttft = [row["metrics"]["time_to_first_token"]["value"] for row in raw if "error" not in row]
    for q in QUANTILES:
        number = found[f"time_to_first_token.p{q}"].number
        assert number is not None
        assert float(number) == pytest.approx(linear(ttft, q), rel=1e-12)
    assert Fraction(found["total_osl.avg"].number or 0) == sum(
        row["metrics"]["output_sequence_length"]["value"] for row in raw if "error" not in row
    )


AIPERF_IS = {
    "time_to_first_output_token": None,
    "time_to_second_token": None,
    "request_latency": None,
    "http_req_duration": "e2e/1",
    "inter_token_latency": "itl.mean/1",
    "output_token_throughput_per_user": "decode.last_output/1",
    "inter_chunk_latency": None,
    "input_sequence_length": None,
    "output_sequence_length": None,
    "usage_prompt_cache_read_tokens": None,
    "http_req_connecting": None,
}


def aiperf_definitions(content: bytes) -> dict[str, str | None]:
    ((event, rows),) = loads(content)
    if rows is not None:
        return {column.called: column.definition for column in rows.columns}
    return {f.called.split(".")[0]: f.definition for f in event.statistics if f.column is not None}


@pytest.mark.parametrize("name", ["aiperf.json", "aiperf.jsonl"])
def test_the_time_to_first_token_of_aiperf_is_not_ours_where_it_holds_a_connection(name: str) -> None:
    assert aiperf_definitions(whole(name)) == {"time_to_first_token": None, **AIPERF_IS}


def test_it_is_ours_where_no_connection_was_opened_meanwhile() -> None:
    summary = changed("aiperf.json", ["http_req_connecting", "max"], 0.0)
    assert aiperf_definitions(summary)["time_to_first_token"] == "ttfo.any/1"
    records = values("aiperf.jsonl")
    for record in records:
        if record["metrics"]:
            record["metrics"]["http_req_connecting"]["value"] = 0.0
    assert aiperf_definitions(spelled("aiperf.jsonl", records))["time_to_first_token"] == "ttfo.any/1"


def test_tokens_of_aiperfs_own_tokenizer_make_no_figure_of_ours() -> None:
    summary = changed("aiperf.json", ["input_config", "endpoint", "use_server_token_count"], False)
    records = changed("aiperf.jsonl", [0, "metrics", "usage_completion_tokens", "value"], 11)
    for content in (summary, records):
        found = aiperf_definitions(content)
        assert (found["inter_token_latency"], found["output_token_throughput_per_user"]) == (None, None)


def test_records_of_the_warm_up_are_no_rows() -> None:
    _, rows = one(changed("aiperf.jsonl", [0, "metadata", "benchmark_phase"], "warmup"))
    assert [row.position for row in rows.rows] == [f"$[{number}]" for number in range(1, 10)]


def test_a_cancelled_request_of_aiperf_is_incomplete() -> None:
    _, rows = one(changed("aiperf.jsonl", [0, "metadata", "was_cancelled"], True))
    assert rows.rows[0].outcome == "incomplete"
    assert set(rows.rows[0].values.values()) == {None}


# --- lm-eval ---------------------------------------------------------------------------------------------------


def test_the_samples_give_the_results_and_the_digest_again() -> None:
    raw = values("lm-eval.jsonl")
    results = {event.called.removeprefix("anvil_sums-"): event for event, _ in suites(whole("lm-eval.json"))}
    samples = {
        event.called.removeprefix("samples-"): (event, rows) for event, rows in suites(whole("lm-eval.jsonl"))
    }
    assert results.keys() == samples.keys() == {"last-number", "whole"}
    for name, result in results.items():
        event, rows = samples[name]
        assert rows is not None
        judged = [row["exact_match"] for row in raw if row["filter"] == name]
        assert (
            (event.passed, event.expected) == (result.passed, result.expected) == (sum(judged), len(judged))
        )
        assert event.digest == result.digest is not None
        figure = result.statistics[0]
        assert (figure.called, figure.statistic) == (f"exact_match,{name}", "mean")
        assert figure.number is not None
        assert rows.statistic("mean", "metric") == statistics.exact(figure.number)
    assert results["last-number"].passed == 5


def test_a_metric_of_lm_eval_may_be_below_zero() -> None:
    value = values("lm-eval.json")
    value["results"]["anvil_sums"]["mcc,whole"] = -0.25
    (_, (event, _)) = suites(spelled("lm-eval.json", value))
    assert {f.called: f.number for f in event.statistics}["mcc,whole"] == "-0.25"


def test_a_group_of_lm_eval_is_left_to_its_tasks() -> None:
    value = values("lm-eval.json")
    value["results"]["sums"] = {"alias": "sums", "acc,none": 0.3}
    value["group_subtasks"] = {"sums": ["anvil_sums"], "anvil_sums": []}
    called = [event.called for event, _ in suites(spelled("lm-eval.json", value))]
    assert called == ["anvil_sums-last-number", "anvil_sums-whole"]


def test_a_standard_error_that_the_harness_does_not_have_is_null() -> None:
    path = ["results", "anvil_sums", "exact_match_stderr,whole"]
    (_, (event, _)) = suites(changed("lm-eval.json", path, "N/A"))
    assert {f.called: f.number for f in event.statistics}["exact_match_stderr,whole"] is None
