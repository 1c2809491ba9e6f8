"""A tool's file that is not what it must be is refused whole, with one clear message, and nothing of it is recorded."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command import Anvil, run_here
from support.toolfiles import KINDS, changed, spelled, taken, values, whole, without

from anvil.collectors.importers import KINDS as IMPORTERS
from anvil.collectors.importers.interface import ImportRefused
from anvil.ledger.rowtable import RowTable

DIGEST = "sha256:" + "0" * 64
DEEP = 17
Refused = tuple[bytes, str]


def with_number(name: str, path: list[str | int], text: str) -> bytes:
    """Return a file with a number spelled as JSON has none, or as nobody can record it."""
    return changed(name, path, "@@").replace(b'"@@"', text.encode())


def everywhere(name: str, number: list[str | int], count: list[str | int]) -> dict[str, Refused]:
    """Return what is wrong with any file of a tool; `number` and `count` are places of one of each."""
    content = whole(name)
    is_lines = name.endswith("l")
    begun = content.rstrip(b"\n")
    return {
        "empty": (b"", "not one JSON value"),
        "cut in the middle": (content[: len(content) // 2], "not one JSON value"),
        "cut before the last brace": (begun[:-1], "not one JSON value"),
        "text before": (b"starting\n" + content, "not one JSON value"),
        "text after": (begun + b"\ndone\n", "not one JSON value"),
        "a comma at the end": (begun[:-1] + b",}", "not one JSON value"),
        "single quotes": (content.replace(b'"', b"'"), "not one JSON value"),
        "a byte order mark": (b"\xef\xbb\xbf" + content, "not one JSON value"),
        "UTF-16": (content.decode().encode("utf-16"), "not UTF-8"),
        "a list": (
            b"[" + begun.split(b"\n")[0] + b"]" if is_lines else b"[" + begun + b"]",
            "expected an object",
        ),
        "NaN": (with_number(name, number, "NaN"), "NaN is not a JSON number"),
        "minus Infinity": (with_number(name, number, "-Infinity"), "-Infinity is not a JSON number"),
        "Infinity": (with_number(name, number, "Infinity"), "expected a number"),
        "a number of a thousand digits": (with_number(name, number, "9" * 1000), "cannot be recorded"),
        "a number with a thousand decimals": (
            with_number(name, number, "0." + "3" * 1000),
            "cannot be recorded",
        ),
        "a huge exponent": (with_number(name, number, "1e999999999"), "cannot be recorded"),
        "a number as text": (changed(name, number, "0.5"), "found the text"),
        "a number that is true": (changed(name, number, True), "found true"),
        "a number that is a list": (changed(name, number, [[1]]), "found a list"),
        "a number below zero": (
            with_number(name, number, "-0.5"),
            "no part of 8 samples" if name == RESULTS else "expected a number from 0",
        ),
        "a count below zero": (changed(name, count, -1), "expected a whole number from 0"),
        "a count and a half": (changed(name, count, 1.5), "expected a whole number from 0"),
        "a count as text": (changed(name, count, "12"), "expected a whole number from 0"),
        "a huge count": (changed(name, count, 10**17), "expected a whole number from 0"),
        "deep": (with_number(name, number, "[" * DEEP + "]" * DEEP), "nested more than"),
        "very deep": (with_number(name, number, "[" * 100_000 + "]" * 100_000), "nested more than"),
        "a member twice": (content.replace(b"{", b'{"a": 1, "a": 2, ', 1), "the member 'a' twice"),
    }


VLLM, SGLANG, GUIDELLM = "vllm-detailed.json", "sglang-details.jsonl", "guidellm.json"
SUMMARY, RECORDS, RESULTS, SAMPLES = "aiperf.json", "aiperf.jsonl", "lm-eval.json", "lm-eval.jsonl"
BENCHMARK: list[str | int] = ["benchmarks", 0]
SUCCESSFUL: list[str | int] = [*BENCHMARK, "requests", "successful"]
TASK: list[str | int] = ["results", "anvil_sums"]

OF: dict[str, dict[str, Refused]] = {
    VLLM: everywhere(VLLM, ["ttfts", 1], ["output_lens", 1])
    | {
        "no duration": (without(VLLM, ["duration"]), "recognises it"),
        "a duration of nothing": (changed(VLLM, ["duration"], 0), "expected a time that passed"),
        "a duration that is null": (changed(VLLM, ["duration"], None), "'duration' is null"),
        "a rate in words": (changed(VLLM, ["request_rate"], "fast"), "$.request_rate: expected a number"),
        "a list too short": (changed(VLLM, ["ttfts"], [0.1]), "expected 10 items like errors, found 1"),
        "a list too long": (changed(VLLM, ["itls"], [[]] * 11), "expected 10 items like errors, found 11"),
        "no errors beside rows": (without(VLLM, ["errors"]), "the member 'errors' is missing"),
        "rows without tokens": (without(VLLM, ["output_lens"]), "the member 'output_lens' is missing"),
        "gaps that are text": (changed(VLLM, ["itls", 2], ["fast"]), "$.itls[2][0]: expected a number"),
        "an error that is a number": (changed(VLLM, ["errors", 2], 7), "$.errors[2]: expected text"),
        "more completed than planned": (changed(VLLM, ["completed"], 999), "more ended than were planned"),
        "a figure that is text": (changed(VLLM, ["p99_itl_ms"], "n/a"), "$.p99_itl_ms: expected a number"),
        "a model that is a list": (changed(VLLM, ["model_id"], ["m"]), "$.model_id: expected text"),
    },
    SGLANG: everywhere(SGLANG, [0, "ttfts", 1], [0, "output_lens", 1])
    | {
        "a second line of another tool": (
            whole(SGLANG) + b'{"x": 1}\n',
            "$[1]: the member 'completed' is missing",
        ),
        "an empty line between": (whole(SGLANG) + b"\n" + whole(SGLANG), "line 2: it is not one JSON value"),
        "a rate in words": (
            changed(SGLANG, [0, "request_rate"], "fast"),
            "$[0].request_rate: expected a number",
        ),
        "Infinity for a duration": (
            with_number(SGLANG, [0, "duration"], "Infinity"),
            "$[0].duration: expected",
        ),
        "a list too short": (changed(SGLANG, [0, "ttfts"], [0.1]), "expected 10 items like errors, found 1"),
        "a tag that is a number": (changed(SGLANG, [0, "tag"], 7), "$[0].tag: expected text"),
    },
    GUIDELLM: everywhere(GUIDELLM, [*SUCCESSFUL, 0, "request_latency"], [*SUCCESSFUL, 0, "output_tokens"])
    | {
        "a version that is not known": (changed(GUIDELLM, ["metadata", "version"], 3), "Known are: 2"),
        "a version in words": (changed(GUIDELLM, ["metadata", "version"], "two"), "expected a known version"),
        "no benchmarks": (changed(GUIDELLM, ["benchmarks"], []), "expected at least one benchmark"),
        "benchmarks an object": (changed(GUIDELLM, ["benchmarks"], {}), "$.benchmarks: expected a list"),
        "a benchmark null": (changed(GUIDELLM, BENCHMARK, None), "$.benchmarks[0]: expected an object"),
        "no totals": (
            without(GUIDELLM, [*BENCHMARK, "metrics", "request_totals"]),
            "request_totals: the member 'successful' is missing",
        ),
        "a moment beyond all years": (
            changed(GUIDELLM, [*BENCHMARK, "scheduler_metrics", "measure_start_time"], 10**15),
            "expected seconds of the Unix clock",
        ),
        "a percentile that is text": (
            changed(
                GUIDELLM, [*BENCHMARK, "metrics", "request_latency", "successful", "percentiles", "p90"], "x"
            ),
            "percentiles.p90: expected a number",
        ),
    },
    SUMMARY: everywhere(SUMMARY, ["request_latency", "p90"], ["input_config", "phases", 0, "concurrency"])
    | {
        "a version that is not known": (changed(SUMMARY, ["schema_version"], "2.0"), "Known are: 1.4"),
        "another unit": (
            changed(SUMMARY, ["request_latency", "unit"], "s"),
            "$.request_latency.unit: expected 'ms'",
        ),
        "no unit": (without(SUMMARY, ["request_latency", "unit"]), "$.request_latency.unit: expected 'ms'"),
        "half a request": (
            changed(SUMMARY, ["request_count", "avg"], 8.5),
            "request_count.avg: expected a whole",
        ),
        "a metric that is a number": (
            changed(SUMMARY, ["request_latency"], 3),
            "$.request_latency: expected an object",
        ),
        "models a text": (
            changed(SUMMARY, ["input_config", "models"], "m"),
            "$.input_config.models: expected an object",
        ),
    },
    RECORDS: everywhere(
        RECORDS, [1, "metrics", "request_latency", "value"], [1, "metrics", "output_sequence_length", "value"]
    )
    | {
        "another unit": (changed(RECORDS, [1, "metrics", "request_latency", "unit"], "s"), "expected 'ms'"),
        "no value": (without(RECORDS, [1, "metrics", "request_latency", "value"]), "'value' is missing"),
        "no start": (without(RECORDS, [1, "metadata", "request_start_ns"]), "'request_start_ns' is missing"),
        "a start in floats": (
            changed(RECORDS, [1, "metadata", "request_start_ns"], 1.5e18),
            "expected nanoseconds of the Unix clock",
        ),
        "an empty line between": (
            whole(RECORDS).replace(b"\n", b"\n\n", 1),
            "line 2: it is not one JSON value",
        ),
        "nothing but warm-up": (
            spelled(RECORDS, [{"metadata": {"benchmark_phase": "warmup"}, "metrics": {}}]),
            "expected at least one record",
        ),
    },
    RESULTS: everywhere(RESULTS, [*TASK, "exact_match,whole"], ["n-samples", "anvil_sums", "effective"])
    | {
        "a version that is not known": (changed(RESULTS, ["lm_eval_version"], "0.5.0"), "Known is 0.4"),
        "no task": (changed(RESULTS, ["results"], {}), "expected at least one task"),
        "a task without metrics": (
            changed(RESULTS, TASK, {"sample_len": 8}),
            "expected a metric with its filter",
        ),
        "a task that is a list": (changed(RESULTS, TASK, []), "expected an object, found a list"),
        "more than all": (
            changed(RESULTS, [*TASK, "exact_match,whole"], 1.5),
            "no part of 8 samples",
        ),
        "less than nothing": (
            changed(RESULTS, [*TASK, "exact_match,whole"], -0.5),
            "no part of 8 samples",
        ),
        "a perplexity of no bounds": (
            with_number(RESULTS, [*TASK, "word_perplexity,whole"], "Infinity"),
            "expected a number, found",
        ),
        "a figure that is a list": (
            changed(RESULTS, [*TASK, "bleu,whole"], [1, 2]),
            "bleu,whole: expected a number, found a list",
        ),
        "a figure of too many digits": (
            with_number(RESULTS, [*TASK, "bleu,whole"], "0." + "1" * 40),
            "cannot be recorded",
        ),
        "an aggregation that is a number": (
            changed(RESULTS, ["configs", "anvil_sums", "metric_list", 0, "aggregation"], 7),
            "aggregation: expected text",
        ),
        "a moment that is text": (changed(RESULTS, ["date"], "today"), "$.date: expected a number"),
    },
    SAMPLES: everywhere(SAMPLES, [2, "exact_match"], [2, "doc_id"])
    | {
        "no verdict": (
            without(SAMPLES, [2, "exact_match"]),
            "$[2]: the member 'exact_match' is missing",
        ),
        "a verdict that is null": (changed(SAMPLES, [2, "exact_match"], None), "'exact_match' is null"),
        "no metric": (changed(SAMPLES, [2, "metrics"], []), "$[2].metrics: expected at least one metric"),
        "metrics a text": (changed(SAMPLES, [2, "metrics"], "bleu"), "$[2].metrics: expected a list"),
        "a metric without a value": (changed(SAMPLES, [0, "metrics"], ["bleu"]), "'bleu' is missing"),
        "more metrics than are read": (
            changed(SAMPLES, [0, "metrics"], [f"m{number}" for number in range(40)]),
            "at most 24 are read",
        ),
        "a value of too many digits": (
            with_number(SAMPLES, [2, "exact_match"], "0." + "1" * 40),
            "cannot be recorded",
        ),
        "no filter": (without(SAMPLES, [2, "filter"]), "$[2]: the member 'filter' is missing"),
        "no digest": (without(SAMPLES, [2, "prompt_hash"]), "$[2]: the member 'prompt_hash' is missing"),
    },
}
CASES = [(name, what) for name, cases in OF.items() for what in cases]


@pytest.mark.parametrize(("name", "what"), CASES)
def test_it_is_refused_and_the_message_says_what_and_where(name: str, what: str) -> None:
    content, expected = OF[name][what]
    with pytest.raises(ImportRefused) as refusal:
        taken(content)
    message = f"{refusal.value} {refusal.value.advice}"
    assert expected in message
    assert len(message) < 2000
    assert message.isprintable()


@pytest.mark.parametrize("name", OF)
def test_there_are_many_ways_to_be_wrong_for_each_kind(name: str) -> None:
    assert len(OF[name]) >= 30


@pytest.mark.parametrize("name", OF)
def test_a_kind_that_is_named_is_refused_by_its_own_importer(name: str) -> None:
    """`--kind` says what was expected, also of a file that nobody recognises."""
    importer = IMPORTERS[KINDS[name]]
    with pytest.raises(ImportRefused) as refusal:
        importer.take_apart(b'{"schema": "somebody.else/v1"}', DIGEST)
    assert "the members of such a file are not in it" in str(refusal.value)
    assert all(known in str(refusal.value.advice) for known in importer.knows)


# --- nothing is half imported ----------------------------------------------------------------------------------


@pytest.fixture
def anvil(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Anvil:
    monkeypatch.chdir(tmp_path)
    ran = run_here(capfdbinary, "init", "--origin", "cli.test.invalid")
    assert ran.code == 0
    return lambda *arguments: run_here(capfdbinary, *arguments)


@pytest.mark.parametrize("name", OF)
def test_a_bad_file_beside_a_good_one_leaves_neither(anvil: Anvil, name: str) -> None:
    Path("good").write_bytes(whole(name))
    before = anvil("log", "--json").json["events"]
    for what in ("cut before the last brace", "a number as text", "a count below zero"):
        Path("bad").write_bytes(OF[name][what][0])
        ran = anvil("import", "good", "bad")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith("Error: bad cannot be imported, and nothing was: ")
        assert len(ran.err.strip().splitlines()) <= 2
    assert anvil("log", "--json").json["events"] == before
    assert [
        path for path in Path("anvil-ledger").rglob("*") if path.is_file() and "blobs" in path.parts
    ] == []


def test_all_files_of_the_tools_are_recorded_and_verify(anvil: Anvil) -> None:
    for name in KINDS:
        Path(name).write_bytes(whole(name))
    ran = anvil("import", *KINDS, "--campaign", "peers")
    assert (ran.code, ran.err) == (0, "")
    assert anvil("verify").code == 0
    assert "load bench-serve" in anvil("status").out


# --- any file, anywhere ----------------------------------------------------------------------------------------


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


@lru_cache(maxsize=16)
def everything(name: str) -> list[tuple[str | int, ...]]:
    """Every place of a file."""
    return list(places(values(name)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=6,
)
CHANGES: tuple[Callable[[Any, Any], None], ...] = (
    lambda part, key: part.__delitem__(key),
    lambda part, key: part.__setitem__(key, copy.deepcopy(part)),
)


@pytest.mark.parametrize("name", OF)
@given(data=st.data())
def test_a_file_with_anything_anywhere_is_taken_apart_or_refused_and_nothing_else(
    name: str, data: st.DataObject
) -> None:
    value = values(name)
    path = data.draw(st.sampled_from(everything(name)))
    part = value
    for step in path[:-1]:
        part = part[step]
    change = data.draw(st.integers(0, len(CHANGES)))
    if change == len(CHANGES):
        part[path[-1]] = data.draw(JSON)
    else:
        CHANGES[change](part, path[-1])
    with suppress(ImportRefused):
        made = taken(spelled(name, value))
        for said in made.said:
            if said.rows is not None:
                assert RowTable.parse(said.rows.encode()) == said.rows


@pytest.mark.parametrize("name", OF)
@given(data=st.data())
def test_a_cut_or_altered_file_is_taken_apart_or_refused_and_nothing_else(
    name: str, data: st.DataObject
) -> None:
    content = bytearray(whole(name))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    for candidate in (bytes(content), cut):
        with suppress(ImportRefused):
            assert taken(candidate).said


def test_numbers_come_out_as_they_were_spelled() -> None:
    """No digit passes through a float."""
    spelling = "0.30944067200107384123456789"
    first, *_ = [value for value in values(VLLM)["ttfts"] if value]
    content = whole(VLLM).replace(json.dumps(first).encode(), spelling.encode(), 1)
    (said,) = [one for one in taken(content).said if one.rows is not None]
    assert said.rows is not None
    assert spelling in [row.values["ttft"] for row in said.rows.rows]
