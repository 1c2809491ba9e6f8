"""`lm-eval`: what the evaluation harness writes: the results of tasks (JSON), and the samples of a task (a line each).

Read in the source of lm-evaluation-harness 0.4.13 (`evaluator.py`, `loggers/evaluation_tracker.py`):

1. A metric has a name and a filter: `exact_match,strict-match`. Several filters judge the same answers, so each
   is a suite of its own, named after the task and the filter.
2. A figure of a task is the mean over its samples where the task says so (`aggregation`). Its standard error is no
   statistic of ours.
3. A sample passed where its metric is 1, and failed where it is 0. Of the metrics of a sample the first that is
   known to be of this kind decides. Where none is, nothing passes or fails, and the file is refused: what it
   would be imported as is not there yet.
4. Results tell what passed as a mean. It is taken where mean times samples is a whole number, to one part in 10^9.
5. Samples do not say their task: the file's name does, which is not read. Results give for each task the digest
   of its samples' own digests (`task_hashes`), and samples give it again: so the two files name each other.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from anvil.collectors.importers.evidence import made, parameter, rows
from anvil.collectors.importers.fields import Fields, checked_number, needed_label, public
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import Number, found, shown
from anvil.collectors.importers.remaking import Given, remade
from anvil.collectors.importers.toolfiles import Reading, Results, Shape, ToolImporter, moment
from anvil.ledger import statistics
from anvil.ledger.events import SuiteImported
from anvil.ledger.public import Digest
from anvil.ledger.rowtable import Column

VERSIONS = re.compile(r"0\.4\.[0-9]+")
"""Of the harness, as results give them."""

_METRIC = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,30},[A-Za-z0-9_.-]{1,32}")
PASSING = ("exact_match", "acc", "acc_norm")
"""Metrics whose samples are 0 or 1."""

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
    means = _means(config)
    given = [
        Given(metric, _spelled(result, metric), "ratio", "mean" if metric.split(",")[0] in means else None)
        for metric in metrics
    ]
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
            "statistics": remade(given, None),
            "findings": [],
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


def _means(config: Fields) -> set[str]:
    """Return the metrics that a task says are means (rule 2)."""
    listed = config.parts("metric_list")
    return {metric.text("metric") or "" for metric in listed if metric.text("aggregation") == "mean"}


def _passed(result: Fields, metrics: Sequence[str], samples: int) -> int:
    """Return how many samples passed (rules 3 and 4).

    Raises:
        ImportRefused: nobody can say.
    """
    for called in metrics:
        spelled = _spelled(result, called)
        if called.split(",")[0] not in PASSING or spelled is None:
            continue
        exact = statistics.exact(spelled) * samples
        passed = round(exact)
        if 0 <= passed <= samples and abs(exact - passed) <= Fraction(max(1, samples), 10**9):
            return passed
        raise ImportRefused(f"{result.place}: {called} of {spelled} is no whole number of {samples} samples")
    raise _unknown(result.place, metrics)


def _unknown(place: str, metrics: Sequence[str]) -> ImportRefused:
    names = ", ".join(shown(one) for one in metrics[:4])
    return ImportRefused(
        f"{place}: of no metric is it known when a sample passes: {names}",
        advice=f"Known are: {', '.join(PASSING)}.",
    )


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
    metric = _metric(parts[0])
    given: list[dict[str, object]] = []
    for part in parts:
        value = part.number(metric)
        if value is None or statistics.exact(value) not in (0, 1):
            raise ImportRefused(
                f"{part.place}.{metric}: expected 0 or 1, found {found(part.members.get(metric))}"
            )
        given.append(
            {
                "position": part.place,
                "item": f"doc-{part.needed_count('doc_id')}",
                "outcome": "passed" if statistics.exact(value) == 1 else "failed",
                "values": {"metric": value},
            }
        )
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
            "passed": sum(row["outcome"] == "passed" for row in given),
            "items": [],
            "parameters": parameter("metric", metric),
            "statistics": [],
            "findings": [],
        },
    )
    column = Column(name="metric", called=metric, unit="ratio", definition=None)
    return Said(event, rows=rows([column], given))


def _metric(part: Fields) -> str:
    """Return the metric by which a sample passes (rule 3)."""
    named = part.texts("metrics")
    known = next((one for one in named if one in PASSING), None)
    if known is None:
        raise _unknown(part.place, named)
    return known


LM_EVAL = ToolImporter(
    "lm-eval",
    ("lm-evaluation-harness 0.4's results", "its samples of a task, one a line"),
    (
        Shape(frozenset({"lm_eval_version", "results", "configs"}), _take_results),
        Shape(frozenset({"doc_id", "doc_hash", "prompt_hash", "filter"}), _take_samples, is_lines=True),
    ),
)
