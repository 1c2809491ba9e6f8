"""What the benchmark clients of vLLM and SGLang share, of which one was made from the other.

1. Lists about the requests are equally long and in one order. A request failed where it has an error, or no
   first output: its times and tokens are absent, whatever stands in the lists.
2. Percentiles are linear, a median is the interpolated one, a standard deviation is no statistic of ours. Times
   between outputs are pooled over all requests. Times in rows are seconds, in figures milliseconds.
3. A time per token is (time to the last output - time to the first) / (output tokens - 1), over requests with
   two tokens or more.
4. Rates are over the time until the last task was gathered, the client's own work included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from anvil.collectors.importers.evidence import rows
from anvil.collectors.importers.fields import Fields
from anvil.collectors.importers.interface import ImportRefused
from anvil.collectors.importers.reading import Number, found
from anvil.collectors.importers.remaking import Given, finding
from anvil.collectors.importers.toolfiles import Unlimited, as_long, number, whole
from anvil.ledger import statistics
from anvil.ledger.events.results import ImportFinding, Unit
from anvil.ledger.rowtable import Column, RowTable

COLUMNS: Mapping[str, tuple[str, Unit]] = {
    "ttft": ("ttfts", "s"),
    "itl": ("itls", "s"),
    "e2e": ("latencies", "s"),
    "prompt_tokens": ("input_lens", "tokens"),
    "output_tokens": ("output_lens", "tokens"),
}
"""Column of ours to the list of the file, and its unit."""

_FIGURE = re.compile(r"(mean|median|std|max|p[1-9][0-9]?)_([a-z0-9_]+)_ms")
_STATISTICS = {"mean": "mean", "median": "median_interpolated", "max": "maximum"}
_TOTALS: Mapping[str, tuple[str, str, Unit]] = {
    "total_input_tokens": ("sum", "prompt_tokens", "tokens"),
    "total_output_tokens": ("sum", "output_tokens", "tokens"),
    "output_throughput": ("sum_over_wall", "output_tokens", "tokens_per_s"),
}
_TRACEBACK = "Traceback (most recent call last)"
_OWN_WORDS = "Never received"


def request_rate(part: Fields) -> str | None:
    """Return how many requests a second were sent; null when nothing but the concurrency held them back.

    Raises:
        ImportRefused: it is neither a number nor what a tool writes for that.
    """
    value = part.members.get("request_rate")
    is_word = isinstance(value, Unlimited) or (type(value) is str and value in ("inf", "trace"))
    return None if is_word else part.number("request_rate")


def requests(part: Fields) -> RowTable | None:
    """Return a row for each request; null where the file keeps none (rule 1).

    Raises:
        ImportRefused: the lists are not what they must be.
    """
    lists: dict[str, list[Any]] = {called: list(part.items(called)) for called, _ in COLUMNS.values()}
    errors = part.texts("errors")
    if not errors and not lists["ttfts"]:
        return None
    for needed in ("errors", "ttfts", "output_lens"):
        part.required(needed)
    as_long(part.place, errors=errors, **lists)
    given: list[dict[str, object]] = []
    for index, error in enumerate(errors):
        values = {
            name: _value(name, *lists[called][index])
            for name, (called, unit) in COLUMNS.items()
            if lists[called]
        }
        is_sample = not error and statistics.exact(str(values["ttft"])) != 0
        given.append(
            {
                "position": f"{part.place}.ttfts[{index}]",
                "outcome": "passed" if is_sample else "failed",
                "failure": "http_error" if error and not error.startswith((_TRACEBACK, _OWN_WORDS)) else None,
                "values": values if is_sample else {},
            }
        )
    columns = [
        Column(name=name, called=called, unit=unit, definition=None)
        for name, (called, unit) in COLUMNS.items()
    ]
    return rows(columns, given)


def _value(name: str, place: str, item: Any) -> object:
    if COLUMNS[name][1] == "tokens":
        return str(whole(place, item))
    if name != "itl":
        return number(place, item)
    if not isinstance(item, list):
        raise ImportRefused(f"{place}: expected a list, found {found(item)}")
    return [number(f"{place}[{index}]", one) for index, one in enumerate(item)]


def figures(
    part: Fields, kept: RowTable | None, completed: int, metrics: Mapping[str, str | None]
) -> Iterator[Given]:
    """Yield the figures of a file; what else it has stays in the file.

    `metrics` says of which column a metric is, by the tool's name; of none means a time per token.
    """
    per_token = None if kept is None or kept.column("e2e") is None else _per_token(kept)
    for called in part.members:
        matched = _FIGURE.fullmatch(called)
        if matched is None or matched[2] not in metrics:
            continue
        statistic = f"linear_{matched[1]}" if matched[1][1:].isdecimal() else _STATISTICS.get(matched[1])
        column = metrics[matched[2]]
        values = per_token if column is None else None
        own = matched[1] if statistic is None else None
        yield Given(called, part.number(called), "ms", statistic, column, values=values, own=own)
    for called, (statistic, column, unit) in _TOTALS.items():
        if part.has(called):
            yield Given(called, part.number(called), unit, statistic, column)
    if part.has("request_throughput"):
        each = [Fraction(1)] * completed
        rate = part.number("request_throughput")
        yield Given("request_throughput", rate, "requests_per_s", "sum_over_wall", values=each)


def _per_token(kept: RowTable) -> list[Fraction]:
    """Return milliseconds a token (rule 3)."""
    made = []
    for row in kept.rows:
        end, first, count = (row.values[name] for name in ("e2e", "ttft", "output_tokens"))
        if isinstance(end, str) and isinstance(first, str) and isinstance(count, str) and int(count) > 1:
            made.append((statistics.exact(end) - statistics.exact(first)) * 1000 / (int(count) - 1))
    return made


def findings(
    part: Fields, kept: RowTable | None, planned: int | None, completed: int
) -> Iterator[ImportFinding]:
    """Yield what a reader must know of the requests."""
    if planned is not None and completed < planned:
        yield finding("partly_failed", (), planned - completed, planned)
    if kept is None:
        return
    passed = sum(row.outcome == "passed" for row in kept.rows)
    if passed != completed:
        yield finding("count_differs", ("completed",), passed, completed)
    silent = sum(
        row.outcome == "failed" and not error
        for row, error in zip(kept.rows, part.texts("errors"), strict=True)
    )
    if silent:
        yield finding("message_missing", ("errors",), silent, len(kept.rows) - passed)


def word_or_number(part: Fields, name: str) -> str | None:
    """Return a member that is a word or a number, as the file spells it."""
    return part.number(name) if isinstance(part.members.get(name), Number) else part.text(name)


def duration(part: Fields) -> str:
    """Return how long all of it took, in seconds (rule 4).

    Raises:
        ImportRefused: it is not said, or is no time that passed.
    """
    part.required("duration")
    spelled = part.number("duration") or "0"
    if statistics.exact(spelled) <= 0:
        raise ImportRefused(f"{part.place}.duration: expected a time that passed, found {spelled}")
    return spelled
