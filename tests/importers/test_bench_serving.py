"""Files of vLLM's and SGLang's benchmark clients: every figure is the tool's own text, and an independent computation gives it again.

The computation here is done in floats from the raw JSON, with percentiles written down anew; the importers' is exact,
from rows. A figure that both give, and the tool printed, is mapped to what it is.
"""

from __future__ import annotations

from collections.abc import Callable

from support.toolfigures import Values, compare, figures, linear, mean, one
from support.toolfiles import changed, loads, values, whole


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
