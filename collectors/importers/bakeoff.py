"""`bakeoff`: `anvil-serving.fast-tier-bakeoff/v1`, repeated quality suites beside a few smaller sections.

1. Its evaluation protocol is 2 or 3, or none is named. Without one each check was asked once, and had no rate.
2. Every suite of the file, and each of its sections `intelligence`, `session` and `tool` that was run, is a suite. One
   that was selected and not run is a suite of no attempts, named as such.
3. An item is passed at its own required rate. What the file calls passed is compared with what the attempts give.
4. The chat figures are a load of which no rows are kept. The file does not say over which requests they are, nor what
   TTFT is to: none is mapped. Over no requests it prints 0, which is not a measurement.
5. A context target passed when any text came back: its rows tell times and sizes, and are no retrieval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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
from anvil.collectors.importers.reading import found
from anvil.collectors.importers.remaking import Given, finding, findings_of, remade
from anvil.ledger import statistics
from anvil.ledger.events import LoadImported, SuiteImported
from anvil.ledger.events.checks import Outcome, Parameter
from anvil.ledger.events.results import ImportedItem, ImportFinding, Quantity, Unit
from anvil.ledger.public import Digest
from anvil.ledger.rowtable import Column, RowTable

PROTOCOLS = ("none", "2", "3")
SECTIONS: Mapping[str, str] = {"intelligence": "intelligence", "session": "session", "tool": "tool"}
"""Section of the file to the suite of ours that asks the same."""

_OUTCOMES: Mapping[str, Outcome] = {
    "passed": "passed",
    "failed": "failed",
    "not_run": "incomplete",
    "error": "incomplete",
}
CHAT: Mapping[str, tuple[str | None, Unit]] = {
    "ttft_p50_ms": ("nearest_rank_p50", "ms"),
    "ttft_p95_ms": ("nearest_rank_p95", "ms"),
    "e2e_p50_ms": ("nearest_rank_p50", "ms"),
    "e2e_p95_ms": ("nearest_rank_p95", "ms"),
    "output_tokens": (None, "tokens"),
}
_LADDER: Sequence[tuple[str, str, Unit]] = (
    ("target_tokens", "target_tokens", "tokens"),
    ("prompt_tokens", "usage.prompt_tokens", "tokens"),
    ("output_tokens", "output_tokens", "tokens"),
    ("ttft", "ttft_ms", "ms"),
    ("e2e", "e2e_ms", "ms"),
)


def take_apart(reading: Reading) -> Results:
    """Return the suites and loads of a file.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    part = reading.part
    version = part.part("evaluation_protocol").number("version") or "none"
    if version not in PROTOCOLS:
        raise ImportRefused(
            f"$.evaluation_protocol.version: expected a known protocol, found {found(version)}",
            advice=f"Known are: {', '.join(PROTOCOLS)}.",
        )
    said, identity = part.part("identity"), reading.identity
    candidate, attempt = (_named(said.text(name)) for name in ("candidate_id", "config_id"))
    began = said.moment("started_at")
    taken = [Said(event, candidate, attempt, kept) for event, kept in _suites(reading, began)]
    taken += [Said(event, candidate, attempt, kept) for event, kept in _loads(reading, began)]
    identity.add("date", began)
    identity.add_served(said.text("model"))
    recipe = part.part("source_recipe")
    identity.add("recipe", recipe.text("ref"))
    return Results(taken, day(began), candidate, attempt)


def _named(text: str | None) -> str | None:
    return None if text is None else label(text)


# --- suites ------------------------------------------------------------------------------------------------


def _suites(reading: Reading, began: str | None) -> Iterator[tuple[SuiteImported, RowTable | None]]:
    part = reading.part
    suites = part.part("suites")
    for number, name in enumerate(suites.members):
        place = f"$.suites.{name}" if label(name) == name and "." not in name else "$.suites"
        suite = Fields.of(suites.members[name], place)
        yield _suite(reading, suite, needed_label(name, f"{place}[{number}]"), None, began)
    for name, ours in SECTIONS.items():
        section = part.part(name)
        was_run = section.text("status") not in (None, "not_run")
        if was_run or name in part.part("selection").texts("suites"):
            yield _suite(reading, section, name, ours, began)


def _suite(
    reading: Reading, suite: Fields, called: str, ours: str | None, began: str | None
) -> tuple[SuiteImported, RowTable | None]:
    part = reading.part
    protocol = part.part("evaluation_protocol")
    checks = suite.parts("checks")
    kept = rows(answers.columns("latency_ms", "ms"), [row for check in checks for row in _rows(check)])
    items = [_item(check, kept) for check in checks]
    passes = sum(item.passed for item in items)
    asked = sum(item.repetitions for item in items)
    wall = part.part("timing").number("wall_ms")
    event = made(
        SuiteImported,
        suite.place,
        {
            "source": reading.source,
            "tool": "anvil-serving",
            "called": called,
            "suite": ours,
            "digest": _digest(suite),
            "required_rate": protocol.number("minimum_pass_rate"),
            "began": began,
            "ended": None,
            "wall": None if wall is None else Quantity(number=wall, unit="ms"),
            "expected": asked,
            "passed": passes,
            "items": items,
            "parameters": _parameters(part, protocol),
            "statistics": (),
            "findings": [
                *_findings(checks, items, passes, asked),
                *answers.findings(kept, thinking=part.part("thinking").text("mode")),
            ],
        },
    )
    return event, kept


def _asked(check: Fields) -> list[Fields]:
    """Return the attempts of a check; without any it is its own only one."""
    return check.parts("attempts") or [check]


def _name(check: Fields) -> str:
    return needed_label(check.text("id") or check.needed_text("name"), check.place)


def _rows(check: Fields) -> Iterator[dict[str, object]]:
    for attempt in _asked(check):
        outcome = _outcome(attempt)
        yield {
            "position": attempt.place,
            "item": _name(check),
            "repetition": attempt.count("attempt"),
            "outcome": outcome,
            "failure": answers.failure(attempt.text("failure_class") or attempt.text("error")),
            "finish_reason": word(attempt.text("finish_reason")),
            "values": answers.values(attempt, "latency_ms"),
        }


def _outcome(attempt: Fields) -> Outcome:
    status = attempt.needed_text("status")
    if status not in _OUTCOMES:
        raise ImportRefused(f"{attempt.place}.status: expected {', '.join(_OUTCOMES)}, found {found(status)}")
    return _OUTCOMES[status]


def _item(check: Fields, kept: RowTable | None) -> ImportedItem:
    name = _name(check)
    own = kept.of(name) if kept is not None else ()
    return ImportedItem(
        item=name,
        group=None,
        passed=sum(row.outcome == "passed" for row in own),
        repetitions=len(own),
        required_rate=check.number("required_pass_rate"),
        is_stable=_outcome(check) == "passed",
    )


def _findings(
    checks: Sequence[Fields], items: Sequence[ImportedItem], passes: int, asked: int
) -> Iterator[ImportFinding]:
    if not checks:
        yield finding("check_without_observation")
    if passes < asked:
        yield finding("partly_failed", (), asked - passes, asked)
    counted = [item.item for check, item in zip(checks, items, strict=True) if not _adds_up(check, item)]
    if counted:
        yield finding("count_differs", counted, len(counted), len(items))
    judged = [item.item for item in items if not _is_judged_so(item)]
    if judged:
        yield finding("verdict_differs", judged, len(judged), len(items))
    silent = [
        one for check in checks for one in _asked(check) if _outcome(one) != "passed" and not _says_why(one)
    ]
    if silent:
        yield finding("message_missing", (), len(silent), asked - passes)


def _adds_up(check: Fields, item: ImportedItem) -> bool:
    said = (check.count("pass_count"), check.count("attempt_count"))
    return all(
        one is None or one == ours for one, ours in zip(said, (item.passed, item.repetitions), strict=True)
    )


def _is_judged_so(item: ImportedItem) -> bool:
    """Rule 3."""
    if item.required_rate is None or not item.repetitions:
        return True
    reached = item.passed >= statistics.exact(item.required_rate) * item.repetitions
    return reached == item.is_stable


def _says_why(attempt: Fields) -> bool:
    return bool(attempt.text("failure_class") or attempt.text("error")) or bool(attempt.parts("text_checks"))


def _digest(suite: Fields) -> str | None:
    text = suite.text("source_sha256") or suite.text("suite_sha256") or suite.text("sha256")
    return None if text is None else public(f"sha256:{text.removeprefix('sha256:')}", Digest)


def _parameters(part: Fields, protocol: Fields) -> list[Parameter]:
    thinking = part.part("thinking")
    return [
        *parameter("repetitions", protocol.count("repetitions")),
        *parameter("visible_answer_tokens", protocol.count("visible_answer_tokens")),
        *parameter("reasoning_headroom_tokens", protocol.count("reasoning_headroom_tokens")),
        *parameter("thinking_mode", thinking.text("mode")),
        *parameter("reasoning_effort", thinking.text("reasoning_effort")),
        *parameter("control_status", thinking.text("control_status")),
    ]


# --- loads -------------------------------------------------------------------------------------------------


def _loads(reading: Reading, began: str | None) -> Iterator[tuple[LoadImported, RowTable | None]]:
    part = reading.part
    targets = part.part("context").parts("targets")
    kept = rows(
        [Column(name=name, called=called, unit=unit, definition=None) for name, called, unit in _LADDER],
        [_rung(target) for target in targets],
    )
    done = sum(_outcome(target) == "passed" for target in targets)
    if targets:
        yield _load(reading, "$.context", "context-ladder", began, (len(targets), done), kept, ()), kept
    chat = part.part("timing").part("chat")
    if chat.members:
        given = [
            Given(called, chat.number(called), unit, statistic)
            for called, (statistic, unit) in CHAT.items()
            if called in chat.members
        ]
        # How many requests they are over is not said, unless none were sent.
        none_sent = chat.count("output_tokens") == 0 and not targets
        yield (
            _load(reading, "$.timing.chat", "chat", began, (0, 0), None, given, 0 if none_sent else None),
            None,
        )


def _load(
    reading: Reading,
    place: str,
    called: str,
    began: str | None,
    counts: tuple[int, int],
    kept: RowTable | None,
    given: Sequence[Given],
    samples: int | None = None,
) -> LoadImported:
    expected, completed = counts
    figures = remade(given, kept)
    failed = [finding("partly_failed", (), expected - completed, expected)] if completed < expected else []
    return made(
        LoadImported,
        place,
        {
            "source": reading.source,
            "tool": "anvil-serving",
            "called": called,
            "concurrency": None,
            "request_rate": None,
            "target_tokens": None,
            "run": _named(reading.part.text("run_id")),
            "began": began,
            "ended": None,
            "wall": None,
            "expected": expected,
            "completed": completed,
            "failed": expected - completed,
            "parameters": (),
            "statistics": figures,
            "findings": [*failed, *findings_of(figures, kept, samples)],
        },
    )


def _rung(target: Fields) -> dict[str, object]:
    usage = target.part("usage")
    return {
        "position": target.place,
        "outcome": _outcome(target),
        "failure": answers.failure(target.text("error")),
        "values": {
            name: usage.number("prompt_tokens") if called.startswith("usage.") else target.number(called)
            for name, called, _ in _LADDER
        },
    }


BAKEOFF = JsonEvidence("bakeoff", {"anvil-serving.fast-tier-bakeoff/v1": take_apart})
