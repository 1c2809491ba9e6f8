"""`preflight`: `preflight/v2`, functional checks, each with its verdict and the answers that were kept.

1. The selected checks are listed by their keys, the verdicts by their titles. They are paired in order when there
   are as many, and by the titles that are known otherwise; a verdict that cannot be told apart refuses the file.
2. An answer belongs to the check whose key its `test` is, or begins with before a hyphen.
3. A check that was selected and has no verdict is incomplete. One without an answer is named as such, whatever its
   verdict: an error left none.
4. A title says how many requests a batch has, and how many tokens a needle was aimed at. Under 98 % of that target
   the label would not be true.
5. Each key is mapped to the check of ours that asks the same thing. It was judged by the source's rule, not ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from anvil.collectors.importers import answers
from anvil.collectors.importers.evidence import JsonEvidence, Reading, Results, made, parameter, rows, word
from anvil.collectors.importers.fields import Fields, needed_label
from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import shown
from anvil.collectors.importers.remaking import finding
from anvil.ledger.events import CheckImported
from anvil.ledger.events.checks import Parameter
from anvil.ledger.events.results import ImportFinding
from anvil.ledger.rowtable import RowTable

CHECKS: Mapping[str, str] = {
    "smoke": "coding",
    "json": "structured-json",
    "needle": "retrieval",
    "tools": "tools-batch",
    "streaming-tools": "tools-streaming",
    "tool-result": "tool-result",
    "responses": "responses",
    "image": "image",
    "ocr": "ocr",
    "video": "video",
}
"""Key of the source to the check of ours that asks the same."""

_TITLES: Mapping[str, str] = {
    "smoke": "smoke",
    "json": "structured JSON",
    "needle": "needle @",
    "tools": "shared-prefix tool batch",
    "streaming-tools": "streaming tool",
    "tool-result": "tool-result",
    "responses": "Responses API",
    "image": "image",
    "ocr": "OCR",
    "video": "bounded video",
}
"""How the title of each begins."""

_BATCH = re.compile(r" x([0-9]{1,6})$")
_TARGET = re.compile(r"~([0-9]{1,9}) ctx$")
FLOOR = Fraction(98, 100)
"""Of the tokens aimed at."""


def take_apart(reading: Reading) -> Results:
    """Return the checks of a file.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    part = reading.part
    part.required("checks")
    part.required("results")
    keys = part.texts("checks")
    if len(set(keys)) != len(keys):
        raise ImportRefused("$.checks: a check is selected twice")
    verdicts = _paired(keys, part.parts("results"))
    observed = part.parts("observations")
    told: set[str] = set()
    shared = _shared(part)
    said = []
    for at, key in enumerate(keys):
        own = [one for one in observed if _is_of(one.needed_text("test"), key)]
        told |= {one.place for one in own}
        said.append(_check(reading, f"$.checks[{at}]", key, verdicts.get(key), own, shared))
    left = [one for one in observed if one.place not in told]
    if left:
        raise ImportRefused(
            f"{left[0].place}: {shown(left[0].text('test'))} is none of the checks that were selected"
        )
    reading.identity.add_served(part.text("model"))
    return Results(said, None)


def _paired(keys: list[str], results: list[Fields]) -> dict[str, Fields]:
    """Return each verdict by its check (rule 1)."""
    if len(results) == len(keys):
        return dict(zip(keys, results, strict=True))
    found: dict[str, Fields] = {}
    for result in results:
        title = result.needed_text("name")
        key = next(
            (k for k in keys if k not in found and k in _TITLES and title.startswith(_TITLES[k])), None
        )
        if key is None:
            raise ImportRefused(
                f"{result.place}.name: {shown(title)} is none of the checks that were selected"
            )
        found[key] = result
    return found


def _is_of(test: str, key: str) -> bool:
    return test == key or test.startswith(f"{key}-")


def _shared(part: Fields) -> list[Parameter]:
    budget, thinking = part.part("budget"), part.part("thinking")
    return [
        *parameter("thinking_mode", thinking.text("mode")),
        *parameter("reasoning_effort", thinking.text("reasoning_effort")),
        *parameter("visible_answer_tokens", budget.count("visible_answer_tokens")),
        *parameter("reasoning_headroom_tokens", budget.count("reasoning_headroom_tokens")),
        *parameter("max_completion_tokens", budget.count("max_completion_tokens")),
    ]


def _check(
    reading: Reading,
    place: str,
    key: str,
    result: Fields | None,
    observed: list[Fields],
    shared: list[Parameter],
) -> Said:
    verdict = None if result is None else result.needed_truth("passed")
    title = "" if result is None else result.text("name") or ""
    batch, target = _BATCH.search(title), _TARGET.search(title)
    passes = sum(one.truth("passed") is True for one in observed)
    expected = max(int(batch[1]) if batch else 0, len(observed), 1)
    kept = rows(
        answers.columns("seconds", "s"),
        [
            {
                "position": one.place,
                "item": needed_label(one.needed_text("test"), one.place),
                "outcome": answers.OUTCOMES[one.truth("passed")],
                "finish_reason": word(one.text("finish_reason")),
                "values": answers.values(one, "seconds"),
            }
            for one in observed
        ],
    )
    aimed = None if target is None else int(target[1])
    event = made(
        CheckImported,
        place,
        {
            "source": reading.source,
            "tool": "anvil-serving",
            "called": needed_label(key, place),
            "check": CHECKS.get(key),
            "outcome": "incomplete" if verdict is None else answers.OUTCOMES[verdict],
            "failure": None if verdict or result is None else answers.failure(result.text("detail")),
            "expected": expected,
            "passed": passes if observed else int(bool(verdict)),
            "observed": len(observed),
            "parameters": [*shared, *parameter("target_tokens", aimed)],
            "statistics": (),
            "findings": [
                *_findings(key, verdict, expected, passes, len(observed)),
                *_missed(kept, aimed),
                *answers.findings(
                    kept,
                    ["declared"] if title.startswith("shared-prefix") else (),
                    reading.part.part("thinking").text("mode"),
                ),
            ],
        },
    )
    return Said(event, rows=kept)


def _findings(
    key: str, verdict: bool | None, expected: int, passes: int, observed: int
) -> Iterator[ImportFinding]:
    about = [needed_label(key, "$.checks")]
    if not observed:
        yield finding("check_without_observation", about)
    elif passes < expected:
        yield finding("partly_failed", (), expected - passes, expected)
    if observed and verdict is not None and verdict != (passes == expected):
        yield finding("verdict_differs", about, passes, expected)


def _missed(kept: RowTable | None, aimed: int | None) -> Iterator[ImportFinding]:
    """Rule 4."""
    actual = [] if kept is None or aimed is None else kept.values("prompt_tokens")
    if aimed is not None and actual and min(actual) < aimed * FLOOR:
        yield finding("target_missed", (), int(min(actual)), aimed)


PREFLIGHT = JsonEvidence("preflight", {"preflight/v2": take_apart})
