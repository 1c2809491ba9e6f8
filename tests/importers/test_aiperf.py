"""AIPerf's two exports: every figure is the tool's own text, and an independent computation gives it again.

The computation here is done in floats from the raw JSON, with percentiles written down anew; the importers' is exact,
from rows. A figure that both give, and the tool printed, is mapped to what it is.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.toolfigures import QUANTILES, figures, linear, one
from support.toolfiles import changed, loads, spelled, values, whole

from anvil.ledger import statistics


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
