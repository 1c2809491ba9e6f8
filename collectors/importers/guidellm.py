"""`guidellm`: GuideLLM's JSON report, a load for each of its benchmarks, with a row for each request.

Read in the source of GuideLLM 0.8.1 (`backends/openai/http.py`, `request_handlers.py`, `schemas/base/`):

1. A request begins when its first header is written, after the connection was opened. Its first token is the
   first text of reasoning, content or a tool call: `ttfo.any/1`. Its first *output* token is the first that is
   not reasoning, of a tool call too: `ttft.visible/1` where no request called a tool. Its latency ends after
   `[DONE]`, with the stream: `e2e/1`.
2. Its inter-token latency of a request is (last token - first) / (output tokens - 1): `itl.mean/1`. Its time
   per output token begins with the request, and is none of ours. In its figures both are weighted: a request
   counts once for each of its tokens, the first left out of the former. So they are of no column.
3. Output tokens are those of `usage`, or else the number of chunks. Then no count of the file is known to be one
   of tokens, and nothing per token is mapped.
4. Percentiles are nearest rank over cumulated probabilities in floats, which can end one rank further up: the
   rows then give the figure otherwise, which is found. Its median is its 50th percentile.
5. Figures are of requests that overlap the window that is measured: warm-up and cool-down are outside of it. Those
   of first tokens take another edge of a request, so where there is such a window a few rows can be too many for
   them, which is found. Requests outside are no rows. Times are of the wall clock, in seconds.
6. What did not end by itself is `incomplete`: neither a sample nor a failure of the endpoint. It counts as
   planned only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from anvil.collectors.importers.evidence import made, parameter, rows
from anvil.collectors.importers.fields import Fields
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import found
from anvil.collectors.importers.remaking import Given, finding, findings_of, remade
from anvil.collectors.importers.toolfiles import Reading, Results, Shape, ToolImporter, moment
from anvil.ledger import statistics
from anvil.ledger.events import LoadImported
from anvil.ledger.events.results import Quantity, Unit
from anvil.ledger.rowtable import Column, RowTable
from anvil.ledger.statistics import exact

VERSIONS = ("2",)
"""Of the report, as `metadata.version` gives them."""

_COLUMNS: Mapping[str, tuple[str, str, Unit, str | None]] = {
    "ttfo": ("time_to_first_token_ms", "time_to_first_token_ms", "ms", "ttfo.any/1"),
    "ttft": ("time_to_first_output_token_ms", "time_to_first_output_token_ms", "ms", "ttft.visible/1"),
    "e2e": ("request_latency", "request_latency", "s", "e2e/1"),
    "itl": ("inter_token_latency_ms", "inter_token_latency_ms", "ms", "itl.mean/1"),
    "tpot": ("time_per_output_token_ms", "time_per_output_token_ms", "ms", None),
    "prompt_tokens": ("prompt_tokens", "prompt_token_count", "tokens", None),
    "cached_tokens": ("cached_tokens", "", "tokens", None),
    "output_tokens": ("output_tokens", "output_token_count", "tokens", None),
}
"""Column of ours to the member of a row, the metric of the figures, its unit, and the metric of ours that is meant."""

_WEIGHTED = ("itl", "tpot")
MOST_TOKENS = 200_000
"""Tokens in a file at most for which weighted figures are made again."""

_STATISTICS: Mapping[str, str] = {
    "mean": "mean",
    "median": "nearest_rank_p50",
    "min": "minimum",
    "max": "maximum",
    "total_sum": "sum",
}
_PERCENTILES = {f"p{q:02d}": f"nearest_rank_p{q}" for q in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
_RATES: Mapping[str, Unit] = {
    "requests_per_second": "requests_per_s",
    "output_tokens_per_second": "tokens_per_s",
}


def _take(reading: Reading) -> Results:
    (report,) = reading.objects
    version = report.part("metadata").members.get("version")
    if version not in VERSIONS:
        raise ImportRefused(
            f"$.metadata.version: expected a known version of the report, found {found(version)}",
            advice=f"Known are: {', '.join(VERSIONS)}.",
        )
    benchmarks = report.parts("benchmarks")
    if not benchmarks:
        raise ImportRefused("$.benchmarks: expected at least one benchmark, found none")
    said = [_run(part, reading.source) for part in benchmarks]
    began = [one.event.began for one in said if isinstance(one.event, LoadImported)]
    reading.identity.add("date", began[0])
    reading.identity.add_served(benchmarks[0].part("config").part("backend").text("model"))
    return Results(f"guidellm.report/{version}", said, None if began[0] is None else began[0][:10])


def _run(part: Fields, source: str) -> Said:
    totals = part.part("metrics").part("request_totals")
    completed, failed = totals.needed_count("successful"), totals.needed_count("errored")
    expected = totals.needed_count("total")
    kept = _rows(part)
    figures = remade(_given(part), kept)
    strategy = part.part("config").part("strategy")
    timing = part.part("scheduler_metrics")
    findings = [finding("partly_failed", (), failed, expected)] if failed else []
    if kept is not None and (passed := sum(row.outcome == "passed" for row in kept.rows)) != completed:
        findings.append(finding("count_differs", ("metrics.request_totals.successful",), passed, completed))
    event = made(
        LoadImported,
        part.place,
        {
            "source": source,
            "tool": "guidellm",
            "called": strategy.text("type_") or "unnamed",
            "concurrency": strategy.count("max_concurrency"),
            "request_rate": strategy.number("rate"),
            "target_tokens": None,
            "run": None,
            "began": moment(timing, "measure_start_time"),
            "ended": moment(timing, "measure_end_time"),
            "wall": _wall(timing),
            "expected": expected,
            "completed": completed,
            "failed": failed,
            "parameters": parameter("strategy", strategy.text("type_")),
            "statistics": figures,
            "findings": [*findings, *findings_of(figures, kept, completed)],
        },
    )
    return Said(event, rows=kept)


def _wall(timing: Fields) -> Quantity | None:
    """Return how long was measured."""
    edges = [timing.number(name) for name in ("measure_start_time", "measure_end_time")]
    if edges[0] is None or edges[1] is None:
        return None
    lasted = exact(edges[1]) - exact(edges[0])
    return Quantity(number=statistics.rounded(lasted * 10**9, 0), unit="ns") if lasted > 0 else None


def _rows(part: Fields) -> RowTable | None:
    given: list[dict[str, object]] = []
    for status, outcome in (("successful", "passed"), ("errored", "failed"), ("incomplete", "incomplete")):
        for row in _measured(part, status):
            is_sample = outcome == "passed"
            error = row.part("info").text("error") or ""
            given.append(
                {
                    "position": row.place,
                    "outcome": outcome,
                    "failure": "http_error" if error.startswith("HTTPStatusError(") else None,
                    "values": _values(row) if is_sample else {},
                }
            )
    meant = _meant(part)
    columns = [
        Column(name=name, called=called, unit=unit, definition=meant[name])
        for name, (called, _, unit, _) in _COLUMNS.items()
    ]
    return rows(columns, given)


def _measured(part: Fields, status: str) -> list[Fields]:
    """Return the requests of a status that overlap the window (rule 5)."""
    timing = part.part("scheduler_metrics")
    first, last = timing.number("measure_start_time"), timing.number("measure_end_time")
    made = []
    for row in part.part("requests").parts(status):
        began, ended = row.number("request_start_time"), row.number("request_end_time")
        is_early = first is not None and ended is not None and exact(ended) < exact(first)
        is_late = last is not None and began is not None and exact(began) > exact(last)
        if not is_early and not is_late:
            made.append(row)
    return made


def _values(row: Fields) -> dict[str, object]:
    made: dict[str, object] = {}
    for name, (called, _, unit, _) in _COLUMNS.items():
        value = row.count(called) if unit == "tokens" else row.number(called)
        made[name] = None if value is None else str(value)
    return made


def _meant(part: Fields) -> Mapping[str, str | None]:
    """Return the metric of ours that each column is (rules 1 to 3)."""
    successful = _measured(part, "successful")
    meant = {name: definition for name, (_, _, _, definition) in _COLUMNS.items()}
    if any(row.has("tool_calls") for row in successful):
        meant["ttft"] = None
    if any(not row.part("output_metrics").has("total_tokens") for row in successful):
        meant["itl"] = None
    return meant


def _given(part: Fields) -> Iterator[Given]:
    metrics = part.part("metrics")
    meant = _meant(part)
    for column, (_, metric, unit, _) in _COLUMNS.items():
        figures = metrics.part(metric).part("successful") if metric else Fields({})
        for called, number, statistic in _distribution(figures):
            name = f"{metric}.successful.{called}"
            if column not in _WEIGHTED:
                yield Given(name, number, unit, statistic, column, meant[column])
            elif statistic != "sum":
                yield Given(name, number, unit, statistic, values=_by_token(part, column))
    for metric, unit in _RATES.items():
        rate = metrics.part(metric).part("successful")
        if rate.has("mean"):
            yield Given(f"{metric}.successful.mean", rate.number("mean"), unit, own="mean")


def _distribution(part: Fields) -> Iterator[tuple[str, str | None, str]]:
    """Yield what a distribution holds: its name there, the number, and the statistic that it is."""
    percentiles = part.part("percentiles")
    for name, statistic in _STATISTICS.items():
        if part.has(name):
            yield name, part.number(name), statistic
    for name, statistic in _PERCENTILES.items():
        if percentiles.has(name):
            yield f"percentiles.{name}", percentiles.number(name), statistic


def _by_token(part: Fields, column: str) -> list[Fraction] | None:
    """Return a request's value once for each token that it is weighted by (rule 2); null when they are too many."""
    called = _COLUMNS[column][0]
    made: list[Fraction] = []
    for row in _measured(part, "successful"):
        value, tokens = row.number(called), row.count("output_tokens")
        if value is None or tokens is None:
            continue
        made += [exact(value)] * (tokens - 1 if column == "itl" else tokens)
        if len(made) > MOST_TOKENS:
            return None
    return made


GUIDELLM = ToolImporter(
    "guidellm",
    ("guidellm's JSON report, version 2",),
    (
        Shape(frozenset({"metadata", "config", "benchmarks"}), _take),
        Shape(frozenset({"args", "metadata", "benchmarks"}), _take),
    ),
)
