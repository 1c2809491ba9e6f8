"""`lm-eval`: what the evaluation harness writes: the results of tasks (JSON), and the samples of a task (a line each).

Read in the source of lm-evaluation-harness 0.4.13 (`evaluator.py`, `loggers/evaluation_tracker.py`):

1. A metric has a name and a filter: `exact_match,strict-match`. Several filters judge the same answers, so each
   is a suite of its own, named after the task and the filter.
2. A figure of a task is the mean over its samples where the task says so (`aggregation`). Any other aggregation
   (`bleu`, `perplexity`), and the standard error, is no statistic of ours: it keeps the name that the harness has.
3. A sample passed where its metric is 1, and failed where it is 0. Of the metrics the first decides that is known to
   be of this kind, and has nothing but 0 and 1 in the file: `acc` is a part of 1 in some tasks. Where none does,
   nobody says what passed: each sample is `inconclusive`, and its values are kept all the same.
4. Results tell what passed as a mean. It is taken where mean times samples is a whole number, to one part in 10^9.
   Elsewhere nobody says what passed.
5. A metric whose samples are no numbers (a text beside its reference, for `bleu`) has no column: they stay in the file.
6. Samples do not say their task: the file's name does, which is not read. Results give for each task the digest
   of its samples' own digests (`task_hashes`), and samples give it again: so the two files name each other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from anvil.collectors.importers.evidence import made, parameter, rows
from anvil.collectors.importers.fields import Fields, checked_number, needed_label, public
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import Number, found, shown
from anvil.collectors.importers.remaking import Given, findings_of, remade
from anvil.collectors.importers.toolfiles import Reading, Results, Shape, ToolImporter, moment
from anvil.ledger import statistics
from anvil.ledger.events import SuiteImported
from anvil.ledger.public import Digest, MemberName
from anvil.ledger.rowtable import Column

VERSIONS = re.compile(r"0\.4\.[0-9]+")
"""Of the harness, as results give them."""

_METRIC = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,30},[A-Za-z0-9_.-]{1,32}")
PASSING = ("exact_match", "acc", "acc_norm")
"""Metrics whose samples are 0 or 1."""

ROWS_COME_WITH = ("log_samples", "samples_TASK.jsonl")
"""The option, and the file that is then written beside the results."""

MAX_METRICS = 24
"""Metrics of a sample at most."""

_HASHES = ("doc_hash", "prompt_hash", "target_hash")


# --- the results ------------------------------------------------------------------------------------------


def _take_results(reading: Reading) -> Results:
    (part,) = reading.objects
    version = part.text("lm_eval_version")
    if version is None or not VERSIONS.fullmatch(version):
        raise ImportRefused(
            f"$.lm_eval_version: expected a known version of the harness, found {found(version)}",
            advice="Known is 0.4.",
        )
    tasks = part.part("results")
    if not tasks.members:
        raise ImportRefused("$.results: expected at least one task, found none")
    began = moment(part, "date")
    said = [one for name in tasks.members for one in _task(part, name, reading.source, began)]
    reading.identity.add("date", began)
    reading.identity.add_served(part.text("model_name"))
    return Results("lm-eval.results/0.4", said, None if began is None else began[:10])


def _task(part: Fields, name: str, source: str, began: str | None) -> list[Said]:
    if next(part.part("group_subtasks").items(name), None) is not None:
        return []  # a group: its tasks are there too
    place = f"$.results.{name}" if re.fullmatch(r"[a-z0-9_-]{1,64}", name) else "$.results"
    result = Fields.of(part.part("results").members[name], place)
    samples = part.part("n-samples").part(name).count("effective") or result.needed_count("sample_len")
    config = part.part("configs").part(name)
    filters: dict[str, list[str]] = {}
    for called in result.members:
        if _METRIC.fullmatch(called):
            filters.setdefault(called.split(",")[1], []).append(called)
    if not filters:
        raise ImportRefused(f"{place}: expected a metric with its filter, such as 'acc,none', found none")
    hashed = part.part("task_hashes").text(name)
    digest = None if hashed is None else public(f"sha256:{hashed}", Digest)
    about = {"source": source, "began": began, "digest": digest, "expected": samples}
    return [_suite(result, config, f"{name}-{judged}", about, metrics) for judged, metrics in filters.items()]


def _suite(
    result: Fields, config: Fields, called: str, about: dict[str, Any], metrics: Sequence[str]
) -> Said:
    aggregations = _aggregations(config)
    figures = remade([_given(metric, _spelled(result, metric), aggregations) for metric in metrics], None)
    event = made(
        SuiteImported,
        result.place,
        {
            **about,
            "tool": "lm-eval",
            "called": needed_label(called, result.place),
            "suite": None,
            "required_rate": None,
            "ended": None,
            "wall": None,
            "passed": _passed(result, metrics, about["expected"]),
            "items": [],
            "parameters": [
                *parameter("shots", config.count("num_fewshot")),
                *parameter("repeats", config.count("repeats")),
                *parameter("output_type", config.text("output_type")),
            ],
            "statistics": figures,
            "findings": findings_of(figures, None, beside=ROWS_COME_WITH),
        },
    )
    return Said(event)


def _spelled(result: Fields, called: str) -> str | None:
    """Return a metric's number, which can be below zero; null where the harness writes that it has none."""
    value = result.members[called]
    if value is None or (type(value) is str and value == "N/A"):
        return None
    if not isinstance(value, Number):
        raise ImportRefused(f"{result.place}.{called}: expected a number, found {found(value)}")
    return checked_number(value, f"{result.place}.{called}")


def _given(called: str, number: str | None, aggregations: Mapping[str, str]) -> Given:
    """Return a figure of a task (rule 2)."""
    metric = called.partition(",")[0]
    own = "stderr" if metric.endswith("_stderr") else aggregations.get(metric)
    is_mean = own == "mean"
    named = None if is_mean else public(own, MemberName)
    return Given(called, number, "ratio", "mean" if is_mean else None, own=named)


def _aggregations(config: Fields) -> dict[str, str]:
    """Return by metric how a task makes one figure of its samples, in the harness's words."""
    listed = config.parts("metric_list")
    return {one.text("metric") or "": one.text("aggregation") or "" for one in listed}


def _passed(result: Fields, metrics: Sequence[str], samples: int) -> int | None:
    """Return how many samples passed; null where nobody says (rules 3 and 4).

    Raises:
        ImportRefused: more passed than there are.
    """
    for called in metrics:
        spelled = _spelled(result, called)
        if called.split(",")[0] not in PASSING or spelled is None:
            continue
        share = statistics.exact(spelled)
        if not 0 <= share <= 1:
            raise ImportRefused(f"{result.place}: {called} of {spelled} is no part of {samples} samples")
        passed = round(share * samples)
        if abs(share * samples - passed) <= Fraction(max(1, samples), 10**9):
            return passed
    return None


# --- the samples ------------------------------------------------------------------------------------------


def _take_samples(reading: Reading) -> Results:
    filters: dict[str, list[Fields]] = {}
    hashes = hashlib.sha256()
    for part in reading.objects:
        filters.setdefault(part.needed_text("filter"), []).append(part)
        hashes.update("".join(part.needed_text(name) for name in _HASHES).encode())
    digest = f"sha256:{hashes.hexdigest()}"
    said = [_judged(name, parts, reading.source, digest) for name, parts in filters.items()]
    return Results("lm-eval.samples", said)


def _judged(name: str, parts: Sequence[Fields], source: str, digest: str) -> Said:
    """Return what a filter made of all samples."""
    values = {metric: [_number(part, metric) for part in parts] for metric in _metrics(parts)}
    kept = {metric: found for metric, each in values.items() if (found := _numbers(each)) is not None}
    deciding = next((metric for metric in PASSING if metric in kept and _is_verdict(kept[metric])), None)
    named = {metric: _column(number) for number, metric in enumerate(_first(deciding, kept), 1)}
    given: list[dict[str, object]] = [
        {
            "position": part.place,
            "item": f"doc-{part.needed_count('doc_id')}",
            "outcome": "inconclusive" if deciding is None else _outcome(kept[deciding][number]),
            "values": {column: kept[metric][number] for metric, column in named.items()},
        }
        for number, part in enumerate(parts)
    ]
    event = made(
        SuiteImported,
        "$",
        {
            "source": source,
            "tool": "lm-eval",
            "called": needed_label(f"samples-{name}", parts[0].place),
            "suite": None,
            "digest": digest,
            "required_rate": None,
            "began": None,
            "ended": None,
            "wall": None,
            "expected": len(given),
            "passed": None if deciding is None else sum(row["outcome"] == "passed" for row in given),
            "items": [],
            "parameters": parameter("metric", deciding),
            "statistics": [],
            "findings": [],
        },
    )
    columns = [
        Column(name=column, called=_called(metric, parts[0]), unit="ratio", definition=None)
        for metric, column in named.items()
    ]
    return Said(event, rows=rows(columns, given))


def _metrics(parts: Sequence[Fields]) -> list[str]:
    """Return the metrics that samples have, each once.

    Raises:
        ImportRefused: a sample has none, or too many to be columns.
    """
    found: dict[str, None] = {}
    for part in parts:
        named = part.texts("metrics")
        if not named:
            raise ImportRefused(f"{part.place}.metrics: expected at least one metric, found none")
        found |= dict.fromkeys(named)
    if len(found) > MAX_METRICS:
        raise ImportRefused(f"{parts[0].place}.metrics: {len(found)} metrics, at most {MAX_METRICS} are read")
    return list(found)


def _number(part: Fields, metric: str) -> str | None:
    """Return what a sample has of a metric; null where that is no number (rule 5).

    Raises:
        ImportRefused: it has nothing, or what it has cannot be recorded, or is none of what can decide.
    """
    value = part.required(metric)
    if metric in PASSING:
        return part.number(metric)
    return checked_number(value, f"{part.place}.{metric}") if isinstance(value, Number) else None


def _numbers(values: Sequence[str | None]) -> list[str] | None:
    """Return the values of a metric if all of them are numbers."""
    numbers = [value for value in values if value is not None]
    return numbers if len(numbers) == len(values) else None


def _is_verdict(values: Sequence[str]) -> bool:
    """Say whether a metric is 0 or 1 throughout (rule 3)."""
    return all(statistics.exact(value) in (0, 1) for value in values)


def _outcome(value: str) -> str:
    return "passed" if statistics.exact(value) == 1 else "failed"


def _first(deciding: str | None, metrics: Iterable[str]) -> list[str]:
    """Return the metrics, the one that decides before the others."""
    return sorted(metrics, key=lambda metric: metric != deciding)


def _column(number: int) -> str:
    return "metric" if number == 1 else f"metric_{number}"


def _called(metric: str, part: Fields) -> str:
    """Return a metric's name as rows can have it.

    Raises:
        ImportRefused: they cannot.
    """
    if public(metric, MemberName) is None:
        raise ImportRefused(f"{part.place}.metrics: {shown(metric)} is no name of a metric")
    return metric


LM_EVAL = ToolImporter(
    "lm-eval",
    ("lm-evaluation-harness 0.4's results", "its samples of a task, one a line"),
    (
        Shape(frozenset({"lm_eval_version", "results", "configs"}), _take_results),
        Shape(frozenset({"doc_id", "doc_hash", "prompt_hash", "filter"}), _take_samples, is_lines=True),
    ),
)
