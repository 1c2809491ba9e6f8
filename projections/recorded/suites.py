"""Suites of repeated checks: what passed of what was tried, and what that is called.

1. Of each attempt the newest result of each suite of its newest launch counts. Over several attempts counts are added.
2. A result is passed out of expected repetitions. Those in which nothing was learned are neither passed nor failed:
   the figure's rule says how many they are, and what the verdict over all is (`anvil.projections.unfinished`).
3. *Stable* is never said without its rate: a suite passed at the required rate, and as many repetitions.
   A retrieval is named with the prompt tokens that the endpoint counted.
4. Of a corpus the counts are by modality, and its digest is that of the bytes that were kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from anvil.ledger.events import SuiteCompleted
from anvil.projections.figures import Figure, Group, compose, derive
from anvil.projections.recorded.campaign import Attempt, Of, Recorded
from anvil.projections.unfinished import rule as rule_of
from anvil.projections.unfinished import together

Result = Of[SuiteCompleted]
"""What became of one suite."""

_VERDICTS = {True: "passed", False: "failed", None: "incomplete"}
"""What an item is by whether it is stable: null is undetermined, since what is incomplete of it could decide."""
_RETRIEVAL = "retrieval"
MULTIMODAL = "multimodal"
"""The suite that a corpus is made of."""


def results(attempt: Attempt) -> dict[str, Result]:
    """Return the newest result of each suite of an attempt's newest launch (rule 1)."""
    return {result.event.selected_as: result for result in attempt.of(SuiteCompleted)}


def quality(recorded: Recorded, candidate: str) -> Group | None:
    """Return the suites of a candidate; None when none was carried out."""
    every: dict[str, list[Result]] = {}
    for attempt in recorded.attempts_of(candidate):
        for name, result in results(attempt).items():
            every.setdefault(name, []).append(result)
    if not every:
        return None
    suites = [_named(each) for each in every.values()]
    each = [result for found in every.values() for result in found]
    figures = [result.stated(field) for result in each for field in ("expected", "passed")]
    without = [
        result.stated("items", at, "incomplete") for result in each for at in range(len(result.event.items))
    ]
    failures = derive(
        "repetitions that failed; what is incomplete is none",
        partial(_failures, len(figures)),
        *figures,
        *without,
    )
    return Group(
        {
            "key": recorded.key_of(candidate),
            "suites": recorded.listing("suites that were carried out", suites),
            "failures": failures,
        }
    )


def repeated(recorded: Recorded, attempt: Attempt) -> Figure:
    """Return in words which suites of an attempt passed, and at which rate (rule 3)."""
    found = [result for result in results(attempt).values() if not _is_corpus(result)]
    if not found:
        return recorded.nothing("no suite was carried out", attempt.reason())
    figures = [
        result.stated(field)
        for result in found
        for field in ("selected_as", "outcome", "passed", "expected", "required_rate")
    ]
    repetitions = [_repetitions(result) for result in found]
    sizes = [_size(result) for result in found]
    rule = "suites that passed at their required rate, and those that did not"
    return compose(rule, lambda *values: _words(values, repetitions, sizes), *figures)


def corpora(recorded: Recorded, attempt: Attempt) -> list[tuple[Figure, Group]]:
    """Return what passed of a multimodal corpus (rule 4)."""
    made = []
    for result in results(attempt).values():
        if _is_corpus(result):
            digest = result.stated("digest")
            group = Group(
                {
                    "corpus_sha256": derive("the digest of the corpus, in hex", _hex, digest),
                    "attempts": result.stated("expected"),
                    "passed": result.stated("passed"),
                    "modalities": recorded.listing("modalities of the corpus", list(_modalities(result))),
                }
            )
            made.append((result.marked("a corpus that was asked", True), group))
    return made


def failed(attempts: Sequence[Attempt]) -> Iterator[str]:
    """Yield what did not pass, and what was selected and has no result."""
    for attempt in attempts:
        found = results(attempt)
        for name, result in found.items():
            event = result.event
            if event.outcome != "passed":
                why = f" ({event.failure})" if event.failure else ""
                share = f"{event.passed}/{event.expected}"
                yield f"Suite {name} of {attempt.candidate} (attempt {attempt.key}): {share}, {event.outcome}{why}."
        selected = () if attempt.plan is None else attempt.plan[1].suites
        if missing := [name for name in selected if name not in found]:
            yield (
                f"Suites selected, and without a result, of {attempt.candidate} (attempt {attempt.key}): "
                f"{', '.join(missing)}."
            )


def _is_corpus(result: Result) -> bool:
    return result.event.suite == MULTIMODAL


def _named(each: list[Result]) -> tuple[Figure, Group]:
    name = each[0].stated("selected_as")
    figures = [result.stated(field) for result in each for field in ("passed", "expected")]
    incomplete = sum(item.incomplete for result in each for item in result.event.items)
    verdict = together(result.event.outcome for result in each)
    rule = rule_of("passed out of expected repetitions", verdict, incomplete, "repetition")
    return name, Group({"name": name, "result": compose(rule, _share, *figures)})


def _modalities(result: Result) -> Iterator[tuple[Figure, Group]]:
    event = result.event
    for modality in dict.fromkeys(item.modality for item in event.items):
        places = [at for at, item in enumerate(event.items) if item.modality == modality]
        name = result.stated("items", places[0], "modality")
        figures = [result.stated("items", at, field) for at in places for field in ("passed", "repetitions")]
        items = [event.items[at] for at in places]
        verdict = together(_VERDICTS[item.is_stable] for item in items)
        named = f"passed out of expected repetitions: {modality}"
        rule = rule_of(named, verdict, sum(item.incomplete for item in items), "repetition")
        yield name, Group({"name": name, "value": compose(rule, _share, *figures)})


def _repetitions(result: Result) -> int:
    """Return how often each item was repeated; 0 when not all were alike."""
    counts = {item.repetitions for item in result.event.items}
    return counts.pop() if len(counts) == 1 else 0


def _size(result: Result) -> str:
    """Return the fewest prompt tokens that were counted for a retrieval, as it is written before its name."""
    counts = [request.prompt_tokens for request in result.event.requests if request.prompt_tokens is not None]
    return f"{min(counts)}-token " if counts and result.event.suite == _RETRIEVAL else ""


def _words(values: tuple[object, ...], repetitions: list[int], sizes: list[str]) -> str:
    results_ = [values[at : at + 5] for at in range(0, len(values), 5)]
    passed: dict[str, list[str]] = {}
    failed = []
    for (name, outcome, ok, expected, rate), repeated_, size in zip(
        results_, repetitions, sizes, strict=True
    ):
        if outcome == "passed":
            times = f", each {repeated_} times" if repeated_ else ""
            passed.setdefault(f"passed at a required rate of {rate}{times}", []).append(f"{size}{name}")
        else:
            failed.append(f"{size}{name} {ok}/{expected} {outcome}")
    return "; ".join([*(f"{', '.join(names)} {how}" for how, names in passed.items()), *failed])


def _share(*counts: int) -> str:
    return f"{sum(counts[::2])}/{sum(counts[1::2])}"


def _failures(pairs: int, *counts: int) -> int:
    """Return expected less passed, of the first counts in pairs, less what is incomplete, the rest of them."""
    return sum(counts[:pairs:2]) - sum(counts[1:pairs:2]) - sum(counts[pairs:])


def _hex(text: str | None) -> str | None:
    return None if text is None else text.removeprefix("sha256:")
