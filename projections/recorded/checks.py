"""Functional checks of a candidate: what passed, under which label, on how many placements.

1. Of each attempt the newest result of each check of its newest launch counts.
2. A *placement passed* when an attempt ran there, every check that it selected has a result, and all passed. Attempts
   without a placement are one. A launch before that failed does not count, and is named.
3. A check is listed when it passed wherever it was carried out. `identity` and the policies (`finish`,
   `reasoning-leak`) ask the model nothing of their own, and a `canary` guards a load: they decide, and are not listed.
4. A label is made from check, parameters and counts: how many tool calls of how many; of a retrieval the prompt
   tokens that the endpoint counted. A check that the recipe gave a name of its own keeps it; where that name
   says another size than was counted, the limit says so.
5. Reasoning characters are none where no channel of any answer with thinking disabled shows reasoning. Where one
   does, they were not counted: null.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from anvil.ledger.events import CheckCompleted
from anvil.projections.figures import Figure, Group, compose, count, derive
from anvil.projections.recorded.campaign import Attempt, Of, Recorded, either, events_of, same

Result = Of[CheckCompleted]
"""What became of one check."""


NO_QUESTIONS = frozenset({"identity", "canary", "finish", "reasoning-leak"})
_LABELS = {"tools-streaming": "streaming-tools", "tool-result": "tool-result-continuation"}
"""What a check is called in documents, where that is not its id."""
_CANARY = "canary"
"""The check that a load protocol asks between its cells."""
_PROTOCOL = "protocol"
"""The finding that says of which load protocol a verdict is."""
_SIZE = re.compile(r"(?:^|[^a-z0-9])([0-9]+)(k|m)(?:[^a-z0-9]|$)")
_CLOSE = 2
"""By how many percent a count may differ from the size that a name says."""


@dataclass(frozen=True)
class Checks:
    """The checks of one candidate, by attempt and by the name under which each was selected."""

    recorded: Recorded
    candidate: str
    results: tuple[tuple[Attempt, dict[str, Result]], ...]

    @classmethod
    def of(cls, recorded: Recorded, candidate: str) -> Checks:
        """Return the checks of a candidate."""
        attempts = recorded.attempts_of(candidate)
        return cls(recorded, candidate, tuple((attempt, results(attempt)) for attempt in attempts))

    def group(self) -> Group:
        """Return the figures of a candidate's checks."""
        return Group(
            {
                "key": self.recorded.key_of(self.candidate),
                "placements_passed": self._placements(),
                "checks": self.recorded.listing("checks that passed", list(self._labels())),
                "reasoning_chars_with_thinking_disabled": self._reasoning(),
            }
        )

    def outcome(self) -> Figure:
        """Return how many checks passed of those that were carried out, in words."""
        return outcome(self.recorded, tuple(attempt for attempt, _ in self.results))

    def failed(self) -> Iterator[str]:
        """Yield what did not pass, and what was selected and has no result."""
        for attempt, found in self.results:
            of = f"{self.candidate} (attempt {attempt.key})"
            if failed := [_told(result) for result in found.values() if _has_failed(result)]:
                yield f"Not passed by {of}: {', '.join(failed)}."
            if broken := [_broken(result) for result in found.values() if _is_incomplete(result)]:
                yield f"Incomplete, of {of}: {', '.join(broken)}."
            if missing := _missing(attempt, found):
                yield f"Selected, and without a result, of {of}: {', '.join(missing)}."
            yield from _earlier(self.candidate, attempt)

    def labels(self) -> Iterator[str]:
        """Yield the labels that say something else than was counted, each once."""
        found = (contradiction(result) for _, results in self.results for result in results.values())
        yield from dict.fromkeys(label for label in found if label is not None)

    def _placements(self) -> Figure:
        passed: dict[str | None, list[Figure]] = {}
        for attempt, found in self.results:
            if found or attempt.launches:
                passed.setdefault(attempt.placement, []).append(self._all_passed(attempt, found))
        if not passed:
            return self.recorded.nothing(f"no check of {self.candidate} was carried out")
        each = [derive("every attempt there passed", _all, *figures) for figures in passed.values()]
        return count("placements on which all checks passed", each)

    def _all_passed(self, attempt: Attempt, found: dict[str, Result]) -> Figure:
        if not found:
            return derive("no check was carried out", lambda _: False, attempt.reason())
        is_whole = not _missing(attempt, found)
        outcomes = [result.stated("outcome") for result in found.values()]
        rule = f"every check that attempt {attempt.key} selected has passed"
        return derive(rule, lambda *words: is_whole and all(word == "passed" for word in words), *outcomes)

    def _labels(self) -> Iterator[tuple[Figure, Figure]]:
        names = dict.fromkeys(name for _, found in self.results for name in found)
        printed = set()
        for name in names:
            each = [found[name] for _, found in self.results if name in found]
            if _is_question(each[0]) and all(map(_has_passed, each)):
                outcomes = [result.stated("outcome") for result in each]
                reason = derive("it passed wherever it was carried out", lambda *_: True, *outcomes)
                figure = _label(each)
                if figure.value not in printed:
                    printed.add(figure.value)
                    yield reason, figure

    def _reasoning(self) -> Figure:
        looked = [
            (result, at)
            for _, found in self.results
            for result in found.values()
            if thinking(result.event) == "disabled"
            for at in range(len(result.event.requests))
        ]
        if not looked:
            return self.recorded.nothing(f"nothing was asked of {self.candidate} with thinking disabled")
        figures = [_reasons(result, at) for result, at in looked]
        rule = (
            "characters of reasoning: none, where no channel of any answer shows reasoning; else not counted"
        )
        return derive(rule, lambda *seen: None if any(seen) else 0, *figures)


def results(attempt: Attempt) -> dict[str, Result]:
    """Return the newest result of each check of an attempt's newest launch (rule 1).

    The verdicts of a load protocol, such as a rung's and its canaries', are not among them.
    """
    selected = () if attempt.plan is None else attempt.plan[1].checks
    return {
        result.event.selected_as: result
        for result in attempt.of(CheckCompleted)
        if result.event.selected_as in selected or not _is_of_protocol(result)
    }


def outcome(recorded: Recorded, attempts: tuple[Attempt, ...]) -> Figure:
    """Return in words how many checks passed of those that were carried out."""
    every = [result for attempt in attempts for result in results(attempt).values()]
    if not every:
        return recorded.nothing("no check was carried out")
    outcomes = [result.stated("outcome") for result in every]
    told = [_told(result) for result in every]
    missing = [name for attempt in attempts for name in _missing(attempt, results(attempt))]
    return compose("checks that passed, of all", lambda *words: _summed(words, told, missing), *outcomes)


def thinking(event: CheckCompleted) -> str:
    """Return whether a check asked for thinking."""
    return str({each.name: each.value for each in event.parameters}.get("thinking", "disabled"))


def tokens(result: Result) -> Figure | None:
    """Return the fewest prompt tokens that the endpoint counted for a request of a check."""
    requests = result.event.requests
    counted = [at for at, request in enumerate(requests) if request.prompt_tokens is not None]
    if not counted:
        return None
    figures = [result.stated("requests", at, "prompt_tokens") for at in counted]
    return derive("the fewest prompt tokens that the endpoint counted", lambda *counts: min(counts), *figures)


def contradiction(result: Result) -> str | None:
    """Return a sentence about a name that says another size than was counted (rule 4)."""
    name = result.event.selected_as
    found = _SIZE.search(name)
    actual = tokens(result)
    if found is None or actual is None or not isinstance(actual.value, int):
        return None
    power = 1 if found[2] == "k" else 2
    sizes = (int(found[1]) * 1000**power, int(found[1]) * 1024**power)
    if any(abs(actual.value - size) * 100 <= size * _CLOSE for size in sizes):
        return None
    return (
        f"The label “{name}” says {found[1]}{found[2]}; the endpoint counted {actual.value:,} prompt tokens"
    )


# --- labels -------------------------------------------------------------------------------------------------


def _label(each: list[Result]) -> Figure:
    """Return what a check is called (rule 4). Where attempts give different ones, the first stands."""
    made = [_label_of(result) for result in each]
    return either(same("the label of a check", made), made[0])


def _label_of(result: Result) -> Figure:
    event = result.event
    name = result.stated("selected_as")
    is_own = event.selected_as != event.check
    if event.check == "tools-batch":
        stem = event.selected_as if is_own else "tools"
        figures = (name, result.stated("passed"), result.stated("expected"))
        return compose("tool calls that passed of all", lambda _, p, e: f"{stem}-{p}-of-{e}", *figures)
    if event.check in ("retrieval", "tools-long") and not is_own:
        actual = tokens(result)
        if actual is not None:
            return compose("prompt tokens and check", lambda n, check: f"{n}-token-{check}", actual, name)
    if is_own:
        return name
    return compose("the label of a check", lambda check: _LABELS.get(check, check), name)


# --- small questions ----------------------------------------------------------------------------------------


def _is_of_protocol(result: Result) -> bool:
    return result.event.check == _CANARY or any(each.name == _PROTOCOL for each in result.event.findings)


def _is_question(result: Result) -> bool:
    return result.event.check not in NO_QUESTIONS


def _has_passed(result: Result) -> bool:
    return result.event.outcome == "passed"


def _is_incomplete(result: Result) -> bool:
    return result.event.outcome == "incomplete"


def _has_failed(result: Result) -> bool:
    """Say whether it came to a verdict, and not to a pass."""
    return not _has_passed(result) and not _is_incomplete(result)


def _broken(result: Result) -> str:
    """Return what came to no verdict, and why."""
    event = result.event
    return event.selected_as + (f" ({event.failure})" if event.failure else "")


def _told(result: Result) -> str:
    event = result.event
    why = f" ({event.failure})" if event.failure else ""
    share = f" {event.passed}/{event.expected}" if event.expected != 1 else ""
    return f"{event.selected_as}{share} {event.outcome}{why}"


def _missing(attempt: Attempt, found: dict[str, Result]) -> list[str]:
    selected = () if attempt.plan is None else attempt.plan[1].checks
    return [name for name in selected if name not in found]


def _earlier(candidate: str, attempt: Attempt) -> Iterator[str]:
    for number, launch in enumerate(attempt.launches[:-1], 1):
        found, of = list(events_of(launch, CheckCompleted)), f"{candidate} (attempt {attempt.key})"
        if failed := [_told(each) for each in found if _has_failed(each)]:
            yield f"Launch {number} of {of} did not pass: {', '.join(failed)}."
        if broken := [_broken(each) for each in found if _is_incomplete(each)]:
            yield f"Launch {number} of {of} left incomplete: {', '.join(broken)}."


def _reasons(result: Result, at: int) -> Figure:
    has_seen = bool(result.event.requests[at].reasoning_seen)
    outcome_ = result.stated("requests", at, "outcome")
    return derive("whether the answer shows reasoning in any channel", lambda _: has_seen, outcome_)


def _all(*passed: bool) -> bool:
    return all(passed)


def _summed(words: tuple[str, ...], told: list[str], missing: list[str]) -> str:
    passed = sum(1 for word in words if word == "passed")
    failed = [said for said, word in zip(told, words, strict=True) if word != "passed"]
    said = "all passed" if passed == len(words) and not missing else f"{passed} of {len(words)} passed"
    without = f"without a result: {', '.join(missing)}" if missing else ""
    return "; ".join(part for part in (said, ", ".join(failed), without) if part)
