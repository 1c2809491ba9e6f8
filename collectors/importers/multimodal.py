"""`multimodal`: `multimodal-benchmark-evidence/v1`, a corpus of pictures and clips, asked and asked again.

1. Each case is an item, its modality the group. Attempts that an error ended have a latency too, that of the error:
   the source counts it, and so does what is made again of it.
2. Its p50 is the interpolated median, its p95 nearest rank.
3. The digest is of the corpus that was asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anvil.collectors.importers import answers
from anvil.collectors.importers.evidence import (
    JsonEvidence,
    Reading,
    Results,
    day,
    made,
    parameter,
    rows,
    word,
)
from anvil.collectors.importers.fields import Fields, label, needed_label, public
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.remaking import Given, finding, findings_of, remade
from anvil.ledger.events import SuiteImported
from anvil.ledger.events.results import ImportedItem, ImportFinding
from anvil.ledger.public import Digest
from anvil.ledger.rowtable import RowTable
from anvil.ledger.wording import counted

STATISTICS = {"latency_p50_seconds": "median_interpolated", "latency_p95_seconds": "nearest_rank_p95"}


def take_apart(reading: Reading) -> Results:
    """Return the suite that a file is about.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    part = reading.part
    part.required("attempts")
    attempts = part.parts("attempts")
    kept = rows(answers.columns("seconds", "s"), [_row(attempt) for attempt in attempts])
    corpus, asked = part.part("corpus"), part.part("configuration")
    figures = remade(_given(part.part("aggregates")), kept)
    began = part.moment("started_at")
    passes = sum(attempt.needed_truth("passed") for attempt in attempts)
    event = made(
        SuiteImported,
        "$",
        {
            "source": reading.source,
            "tool": "anvil-serving",
            "called": "multimodal",
            "suite": "multimodal",
            "digest": _digest(corpus.text("sha256")),
            "required_rate": None,
            "began": began,
            "ended": part.moment("finished_at"),
            "wall": None,
            "expected": part.needed_count("requests"),
            "passed": passes,
            "items": _items(kept),
            "parameters": [
                *parameter("concurrency", asked.count("concurrency")),
                *parameter("max_tokens", asked.count("max_tokens")),
                *parameter("thinking_mode", asked.text("thinking_mode")),
                *parameter("reasoning_effort", asked.text("reasoning_effort")),
            ],
            "statistics": figures,
            "findings": [
                *_findings(part, attempts, passes),
                *findings_of(figures, kept),
                *answers.findings(kept, thinking=asked.text("thinking_mode")),
            ],
        },
    )
    identity, said = reading.identity, part.part("identity")
    identity.add("date", began)
    identity.add_served(said.text("model"))
    identity.add("revision", said.text("model_revision"))
    identity.add("engine", said.text("engine_revision") or said.text("engine_build_ref"))
    identity.add("image", said.text("runtime_image"))
    identity.add("hardware", said.text("hardware"))
    return Results([Said(event, rows=kept)], day(began))


def _row(attempt: Fields) -> dict[str, object]:
    reasoning, error = attempt.part("reasoning"), attempt.part("failure")
    modality = attempt.text("modality")
    return {
        "position": attempt.place,
        "item": needed_label(attempt.needed_text("case_id"), attempt.place),
        "group": None if modality is None else label(modality),
        "repetition": attempt.count("repetition"),
        "outcome": answers.OUTCOMES[attempt.needed_truth("passed")],
        "failure": answers.failure(error.text("message")),
        "finish_reason": word(attempt.text("finish_reason")),
        "values": {
            **answers.values(attempt, "seconds"),
            "reasoning_tokens": reasoning.number("tokens"),
            "reasoning_chars": reasoning.number("chars"),
        },
    }


def _items(kept: RowTable | None) -> list[ImportedItem]:
    made_of: dict[str, list[bool]] = {}
    groups: dict[str, str | None] = {}
    for row in kept.rows if kept is not None else ():
        made_of.setdefault(str(row.item), []).append(row.outcome == "passed")
        groups.setdefault(str(row.item), row.group)
    return [
        ImportedItem(
            item=item,
            group=groups[item],
            passed=sum(passes),
            repetitions=len(passes),
            required_rate=None,
            is_stable=None,
        )
        for item, passes in made_of.items()
    ]


def _given(aggregates: Fields) -> Iterator[Given]:
    for over in ("case", "modality"):
        of = aggregates.part(over)
        for name in of.members:
            figures, what = Fields.of(of.members[name], f"$.aggregates.{over}"), label(name)
            for called, statistic in STATISTICS.items():
                if called in figures.members and what is not None:
                    yield Given(called, figures.number(called), "s", statistic, "latency", of=what)


def _findings(part: Fields, attempts: Sequence[Fields], passes: int) -> Iterator[ImportFinding]:
    asked = part.needed_count("requests")
    if len(attempts) > asked:
        raise ImportRefused(
            f"$.attempts: expected at most {counted(asked, 'attempt')}, found {len(attempts)}"
        )
    if len(attempts) != asked:
        yield finding("count_differs", ("requests",), len(attempts), asked)
    said = part.count("passed_attempts")
    if said is not None and said != passes:
        yield finding("count_differs", ("passed_attempts",), passes, said)
    if passes < asked:
        yield finding("partly_failed", (), asked - passes, asked)
    over = part.part("aggregates")
    differing = []
    for kind, key in (("case", "case_id"), ("modality", "modality")):
        for name in over.part(kind).members:
            own = [one for one in attempts if one.text(key) == name]
            figures = Fields.of(over.part(kind).members[name], f"$.aggregates.{kind}")
            given = (figures.count("attempts"), figures.count("passed"))
            if given != (len(own), sum(one.needed_truth("passed") for one in own)):
                differing.append(label(name) or "attempts")
    if differing:
        yield finding("statistic_differs", differing, len(differing))


def _digest(text: str | None) -> str | None:
    return None if text is None else public(f"sha256:{text.removeprefix('sha256:')}", Digest)


MULTIMODAL = JsonEvidence("multimodal", {"multimodal-benchmark-evidence/v1": take_apart})
