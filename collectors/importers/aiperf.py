"""`aiperf`: AIPerf's exports of one load: the summary (JSON), and the records (a line a request).

Read in the source of AIPerf 0.13.0 (`metrics/types/`, `transports/`, `common/models/record_models.py`):

1. Its time to first token ends at the first chunk with reasoning, content or a tool call, which is that of
   `ttfo.any/1`. It begins before a connection is taken from the pool or opened. So it is ours where the file
   shows that no connection was opened within the time of a request, and none of ours elsewhere. The same holds
   for its time to first output token, which ends at the first content that is no reasoning: `ttft.visible/1`,
   unless a tool was called, which the files do not tell. It is mapped to nothing.
2. Its request latency ends at the last chunk with output: it is no `e2e/1`. `http_req_duration`, from the
   request's first byte to the response's last, is.
3. Its inter token latency of a request is (request latency - time to first token) / (output tokens - 1):
   `itl.mean/1`, and its reciprocal, the throughput per user, is `decode.last_output/1`. Where the endpoint told
   the tokens of the first chunk, it takes these off instead of 1, and the files do not tell that it did.
4. Tokens are the endpoint's only with `--use-server-token-count`, else its tokenizer's. Only in the former case
   is a figure per token ours. The summary says which; in records the endpoint's count has to stand beside, and
   be the same.
5. Its throughput is over the time from the first start to the last output, which is not the last end.
6. Percentiles are linear. Those of the times between chunks are estimates once they are many (a t-digest): the
   rows then may give them otherwise, which is found.
7. Records of the warm-up are no rows. A record that has an error, or was cancelled, is no sample.
8. The summary and the records are two files, and each is imported by itself: the summary has no rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from anvil.collectors.importers.evidence import made, parameter, rows
from anvil.collectors.importers.fields import Fields
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import Number, found
from anvil.collectors.importers.remaking import Given, finding, findings_of, remade
from anvil.collectors.importers.toolfiles import (
    Reading,
    Results,
    Shape,
    ToolImporter,
    moment_of,
    number,
    whole,
)
from anvil.ledger import statistics
from anvil.ledger.events import LoadImported
from anvil.ledger.events.results import Quantity, Unit
from anvil.ledger.rowtable import Column, RowTable

VERSIONS = ("1.4",)
"""Of the summary, as `schema_version` gives them."""

_COLUMNS: Mapping[str, tuple[str, Unit, str, str | None]] = {
    "ttfo": ("time_to_first_token", "ms", "ms", "ttfo.any/1"),
    "first_output": ("time_to_first_output_token", "ms", "ms", None),
    "second_output": ("time_to_second_token", "ms", "ms", None),
    "last_output": ("request_latency", "ms", "ms", None),
    "e2e": ("http_req_duration", "ms", "ms", "e2e/1"),
    "itl": ("inter_token_latency", "ms", "ms", "itl.mean/1"),
    "decode": ("output_token_throughput_per_user", "tokens_per_s", "tokens/sec/user", "decode.last_output/1"),
    "gap": ("inter_chunk_latency", "ms", "ms", None),
    "prompt_tokens": ("input_sequence_length", "tokens", "tokens", None),
    "output_tokens": ("output_sequence_length", "tokens", "tokens", None),
    "cached_tokens": ("usage_prompt_cache_read_tokens", "tokens", "tokens", None),
    "connecting": ("http_req_connecting", "ms", "ms", None),
}
"""Column of ours to the metric of AIPerf, its unit, the word for that in the files, and the metric of ours meant."""

_STATISTICS: Mapping[str, str] = {
    "avg": "mean",
    "min": "minimum",
    "max": "maximum",
    **{f"p{q}": f"linear_p{q}" for q in (1, 5, 10, 25, 50, 75, 90, 95, 99)},
}
_TOTALS: Mapping[str, Unit] = {
    "output_token_throughput": "tokens_per_s",
    "request_throughput": "requests_per_s",
    "total_osl": "tokens",
    "total_isl": "tokens",
}


# --- the summary ------------------------------------------------------------------------------------------


def _take_summary(reading: Reading) -> Results:
    (part,) = reading.objects
    version = part.members.get("schema_version")
    if version not in VERSIONS:
        raise ImportRefused(
            f"$.schema_version: expected a known version of the export, found {found(version)}",
            advice=f"Known are: {', '.join(VERSIONS)}.",
        )
    completed, failed = _counted(part, "request_count"), _counted(part, "error_request_count")
    figures = remade(_given(part), None)
    spelled = part.part("benchmark_duration").number("avg")
    findings = [finding("partly_failed", (), failed, completed + failed)] if failed else []
    config = part.part("input_config")
    phases = [one for one in config.parts("phases") if one.text("kind") == "profiling"]
    only = phases[0] if len(phases) == 1 else Fields({})
    event = made(
        LoadImported,
        part.place,
        {
            "source": reading.source,
            "tool": "aiperf",
            "called": "profile",
            "concurrency": only.count("concurrency"),
            "request_rate": only.number("rate"),
            "target_tokens": None,
            "run": None,
            "began": None,
            "ended": None,
            "wall": None if spelled is None else Quantity(number=spelled, unit="s"),
            "expected": completed + failed,
            "completed": completed,
            "failed": failed,
            "parameters": [
                *parameter("endpoint_type", config.part("endpoint").text("type")),
                *parameter("streaming", config.part("endpoint").truth("streaming")),
                *parameter("schedule", only.text("type")),
            ],
            "statistics": figures,
            "findings": [*findings, *findings_of(figures, None, completed, ("profile_export.jsonl",))],
        },
    )
    began = part.text("start_time")
    reading.identity.add("date", began)  # without its offset: it stays in the file
    models = config.part("models").parts("items")
    reading.identity.add_served(models[0].text("name") if len(models) == 1 else None)
    return Results(f"aiperf.profile-export/{version}", [Said(event)], None if began is None else began[:10])


def _counted(part: Fields, name: str) -> int:
    """Return a count that the summary writes as a float; 0 when it is not said: it leaves out what did not occur."""
    spelled = part.part(name).number("avg")
    value = statistics.exact(spelled or "0")
    if value.denominator != 1 or value < 0:
        raise ImportRefused(f"{part.place}.{name}.avg: expected a whole number from 0, found {spelled}")
    return int(value)


def _given(part: Fields) -> Iterator[Given]:
    connecting = part.part("http_req_connecting").number("max")
    meant = _meant(
        is_connected=connecting is not None and statistics.exact(connecting) == 0,
        is_counted=bool(part.part("input_config").part("endpoint").truth("use_server_token_count")),
    )
    for column, (metric, unit, word, _) in _COLUMNS.items():
        figures = part.part(metric)
        if figures.members:
            _require_unit(figures, word)
        for called, statistic in _STATISTICS.items():
            if figures.has(called):
                yield Given(
                    f"{metric}.{called}", figures.number(called), unit, statistic, column, meant[column]
                )
    for metric, unit in _TOTALS.items():
        if part.has(metric):
            yield Given(f"{metric}.avg", part.part(metric).number("avg"), unit)


def _meant(*, is_connected: bool, is_counted: bool) -> Mapping[str, str | None]:
    """Return the metric of ours that each column is.

    `is_connected` says that no connection was opened within a request's time (rule 1), `is_counted` that the
    endpoint counted the tokens (rule 4).
    """
    meant = {name: definition for name, (_, _, _, definition) in _COLUMNS.items()}
    if not is_connected:
        meant["ttfo"] = None
    if not is_counted:
        meant["itl"] = meant["decode"] = None
    return meant


def _require_unit(part: Fields, word: str) -> None:
    unit = part.text("unit")
    if unit != word:
        raise ImportRefused(f"{part.place}.unit: expected {word!r}, found {found(unit)}")


# --- the records ------------------------------------------------------------------------------------------


def _take_records(reading: Reading) -> Results:
    records = [one for one in reading.objects if _is_measured(one)]
    if not records:
        raise ImportRefused("$: expected at least one record that is not of the warm-up, found none")
    given = [_row(one) for one in records]
    passed = sum(row["outcome"] == "passed" for row in given)
    kept = _table(records, given)
    edges = [_edges(one) for one in records]
    began, ended = min(first for first, _ in edges), max(last for _, last in edges)
    failed = len(records) - passed
    silent = sum(_is_silent(one) for one in records)
    event = made(
        LoadImported,
        "$",
        {
            "source": reading.source,
            "tool": "aiperf",
            "called": "profile",
            "concurrency": None,
            "request_rate": None,
            "target_tokens": None,
            "run": None,
            "began": moment_of(Fraction(began, 10**9), records[0].place),
            "ended": moment_of(Fraction(ended, 10**9), records[0].place),
            "wall": Quantity(number=str(ended - began), unit="ns") if ended > began else None,
            "expected": len(records),
            "completed": passed,
            "failed": failed,
            "parameters": [],
            "statistics": [],
            "findings": [
                *([finding("partly_failed", (), failed, len(records))] if failed else []),
                *([finding("message_missing", ("error",), silent, failed)] if silent else []),
            ],
        },
    )
    reading.identity.add("date", event.began)
    return Results("aiperf.records", [Said(event, rows=kept)], (event.began or "")[:10] or None)


def _is_measured(record: Fields) -> bool:
    return record.part("metadata").text("benchmark_phase") == "profiling"


def _is_silent(record: Fields) -> bool:
    return record.has("error") and not (record.part("error").text("message") or "").strip()


def _edges(record: Fields) -> tuple[int, int]:
    part = record.part("metadata")
    return _nanoseconds(part, "request_start_ns"), _nanoseconds(part, "request_end_ns")


def _nanoseconds(part: Fields, name: str) -> int:
    """Return nanoseconds of the Unix clock, which are more than a count of ours can be."""
    value = part.required(name)
    if not isinstance(value, Number) or not re.fullmatch("[0-9]{1,20}", value):
        raise ImportRefused(
            f"{part.place}.{name}: expected nanoseconds of the Unix clock, found {found(value)}"
        )
    return int(value)


def _row(record: Fields) -> dict[str, object]:
    is_cancelled = record.part("metadata").truth("was_cancelled") or False
    error = record.part("error")
    code = error.count("code")
    is_sample = not record.has("error") and not is_cancelled
    metrics = record.part("metrics")
    values = {
        name: _values(metrics.part(metric), word, unit)
        for name, (metric, unit, word, _) in _COLUMNS.items()
        if metrics.has(metric)
    }
    return {
        "position": record.place,
        "outcome": "passed" if is_sample else "incomplete" if is_cancelled else "failed",
        "failure": "http_error" if code is not None and code >= 400 else None,
        "values": values if is_sample else {},
    }


def _values(part: Fields, word: str, unit: Unit) -> object:
    _require_unit(part, word)
    part.required("value")
    value: Any = part.members["value"]
    place = f"{part.place}.value"
    if isinstance(value, list):
        return [number(f"{place}[{index}]", item) for index, item in enumerate(value)]
    return str(whole(place, value)) if unit == "tokens" else number(place, value)


def _table(records: Sequence[Fields], given: Sequence[dict[str, object]]) -> RowTable | None:
    samples = [
        record.part("metrics")
        for record, row in zip(records, given, strict=True)
        if row["outcome"] == "passed"
    ]
    meant = _meant(
        is_connected=all(_told(one, "http_req_connecting") == 0 for one in samples),
        is_counted=all(
            _told(one, "usage_completion_tokens") == (_told(one, "output_sequence_length") or -1)
            for one in samples
        ),
    )
    columns = [
        Column(name=name, called=metric, unit=unit, definition=meant[name])
        for name, (metric, unit, _, _) in _COLUMNS.items()
    ]
    return rows(columns, given)


def _told(metrics: Fields, name: str) -> Fraction | None:
    spelled = metrics.part(name).number("value")
    return None if spelled is None else statistics.exact(spelled)


AIPERF = ToolImporter(
    "aiperf",
    ("aiperf profile's summary, schema 1.4", "aiperf profile's records, a request a line"),
    (
        Shape(frozenset({"aiperf_version", "schema_version", "benchmark_id"}), _take_summary),
        Shape(frozenset({"metadata", "metrics"}), _take_records, is_lines=True),
    ),
)
