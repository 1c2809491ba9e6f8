"""`sglang-bench`: what SGLang's `bench_serving` appends to a file of lines, a run a line; with rows when `--output-details`.

Read in the source of SGLang 0.5.23 (`benchmark/serving.py`):

1. Its TTFT ends at the first text of an answer, reasoning or visible, never at a tool call. It begins before a
   connection is opened, and each request opens one: it is not ours, which begins when the request is written.
   Its E2E latency ends at the last line of the stream and begins as early. Rows do not hold it.
2. ITL are the times between texts. With a speculative engine it divides them by tokens counted from the text:
   then rows do not give its figures again, which is found.
3. Output tokens are those of `usage` where the endpoint sends it; its client does not ask for it. Where it does
   not come, they are *the cap that was asked for*. The tokens counted from the text stand beside: where the two
   differ, that is found.
4. Input tokens of the total are counted before they are sent; those of a row are the endpoint's where it says.
5. A line says neither what was planned, nor how many failed, nor when, nor which model: rows tell the failed ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from anvil.collectors.importers.benchserving import (
    duration,
    figures,
    findings,
    request_rate,
    requests,
    word_or_number,
)
from anvil.collectors.importers.evidence import made, parameter
from anvil.collectors.importers.fields import Fields, label
from anvil.collectors.importers.interface import Said
from anvil.collectors.importers.remaking import Given, finding, findings_of, remade
from anvil.collectors.importers.toolfiles import Reading, Results, Shape, ToolImporter
from anvil.ledger.events import LoadImported
from anvil.ledger.events.results import ImportFinding, Quantity
from anvil.ledger.rowtable import RowTable

_METRICS = {"ttft": "ttft", "itl": "itl", "e2e_latency": "e2e", "tpot": None}
_PARAMETERS = (
    "backend",
    "dataset_name",
    "sharegpt_output_len",
    "random_input_len",
    "random_output_len",
    "random_range_ratio",
)


def _take(reading: Reading) -> Results:
    said = [_run(part, reading.source) for part in reading.objects]
    return Results("sglang.bench-serving", said)


def _run(part: Fields, source: str) -> Said:
    completed = part.needed_count("completed")
    wall = Quantity(number=duration(part), unit="s")
    kept = requests(part)
    planned = None if kept is None else len(kept.rows)
    remakes = remade(_given(part, kept, completed), kept, wall)
    tag = part.text("tag")
    event = made(
        LoadImported,
        part.place,
        {
            "source": source,
            "tool": "sglang",
            "called": "bench-serving",
            "concurrency": part.count("max_concurrency"),
            "request_rate": request_rate(part),
            "target_tokens": None,
            "run": None if tag is None else label(tag),
            "began": None,
            "ended": None,
            "wall": wall,
            "expected": planned,
            "completed": completed,
            "failed": None if planned is None else max(0, planned - completed),
            "parameters": [
                one for name in _PARAMETERS for one in parameter(name, word_or_number(part, name))
            ],
            "statistics": remakes,
            "findings": [
                *findings(part, kept, planned, completed),
                *_miscounted(part),
                *findings_of(remakes, kept, completed, ("output-details",)),
            ],
        },
    )
    return Said(event, rows=kept)


def _given(part: Fields, kept: RowTable | None, completed: int) -> Iterator[Given]:
    """Yield the figures of a line; its total of input tokens is of other counts than its rows (rule 4)."""
    for given in figures(part, kept, completed, _METRICS):
        is_sent = given.called == "total_input_tokens"
        yield Given(given.called, given.number, given.unit) if is_sent else given


def _miscounted(part: Fields) -> Iterator[ImportFinding]:
    """Yield whether tokens were counted twice with two results (rule 3)."""
    said, counted = part.count("total_output_tokens"), part.count("total_output_tokens_retokenized")
    if said is not None and counted is not None and said != counted:
        yield finding("count_differs", ("total_output_tokens_retokenized",), counted, said)


SGLANG = ToolImporter(
    "sglang-bench",
    ("sglang bench_serving, a run a line",),
    (
        Shape(
            frozenset({"sharegpt_output_len", "total_output_tokens_retokenized", "duration", "completed"}),
            _take,
            is_lines=True,
        ),
    ),
)
