"""Context ladders: what each rung took, and whether what stood in the prompt was found.

1. A rung is a cell of a context-ladder protocol. What is printed of its size is what the endpoint counted.
2. A rung *passed* when each retrieval of its size passed in the same attempt, as a check or as a suite: of its size means
   by at most two percent fewer or more prompt tokens. Of several the worst counts. That an answer came is no retrieval: a rung without one is
   `answered`, and the limit says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anvil.ledger.events import CheckCompleted, SuiteCompleted
from anvil.projections.figures import Figure, Group, derive
from anvil.projections.measurements import Cell
from anvil.projections.recorded.campaign import Attempt, Of, Recorded
from anvil.projections.recorded.loads import LONG_TTFT, answered, of, printed, prompt_tokens

KIND = "context-ladder"
"""The kind of protocol that ladders are."""

_CLOSE = 2
_ANSWERED = {"passed": "answered"}


def context(recorded: Recorded, attempt: Attempt, cells: list[Cell]) -> list[tuple[Figure, Group]]:
    """Return the rungs of an attempt's ladders."""
    found = []
    for cell in cells:
        tokens = prompt_tokens(cell)
        nothing = recorded.nothing("no request of the rung completed", attempt.reason())
        group = Group(
            {
                "actual_prompt_tokens": nothing if tokens is None else tokens,
                "ttft_s": printed(of(cell, LONG_TTFT), LONG_TTFT),
                "status": _status(attempt, cell, tokens),
            }
        )
        found.append((cell.sources[0].marked("a rung of it", None, "declared"), group))
    return found


def notes(attempt: Attempt, cells: list[Cell]) -> Iterator[str]:
    """Yield how each rung went, and which rungs are no retrieval (rule 2)."""
    sizes = [prompt_tokens(cell) for cell in cells]
    told = (
        f"{_status(attempt, cell, size).value} at {_spelled(size)}"
        for cell, size in zip(cells, sizes, strict=True)
    )
    if cells:
        yield f"Context ladder of {attempt.key}, in prompt tokens: {', '.join(told)}."
    for size in sizes:
        judged = [] if size is None else [verdict.value for verdict in _verdicts(attempt, size)]
        passed = judged.count("passed")
        if 0 < passed < len(judged):
            yield (
                f"Context ladder of {attempt.key}: of {len(judged)} retrievals at {_spelled(size)} prompt tokens "
                f"{passed} passed; the worst counts."
            )
    bare = [size for size in sizes if size is not None and not list(_verdicts(attempt, size))]
    if bare:
        few = ", ".join(map(_spelled, bare))
        yield f"Context ladder of {attempt.key}: no retrieval was asked at {few} prompt tokens; only an answer came."


def every(recorded: Recorded, cells: Iterable[Cell]) -> Iterator[str]:
    """Yield what must be said of the ladders of all attempts."""
    rungs = [cell for cell in cells if cell.kind == KIND]
    for attempt in recorded.attempts:
        yield from notes(attempt, [cell for cell in rungs if cell.attempts == (attempt.key,)])


def _spelled(size: Figure | None) -> str:
    return f"{size.value:,}" if size is not None and isinstance(size.value, int) else "an unknown size"


def _status(attempt: Attempt, cell: Cell, tokens: Figure | None) -> Figure:
    found = [] if tokens is None else list(_verdicts(attempt, tokens))
    whole = answered(cell)
    if not found:
        rule = "an answer came; whether anything of the prompt was found was not asked"
        return derive(rule, lambda word: _ANSWERED.get(word, word), whole)
    return derive("retrievals of this size in the same attempt", _judged, *found, whole)


def _verdicts(attempt: Attempt, tokens: Figure) -> Iterator[Figure]:
    """Yield the outcome of each retrieval of a size."""
    every: list[Of[CheckCompleted] | Of[SuiteCompleted]] = [
        check for check in attempt.of(CheckCompleted) if check.event.check == "retrieval"
    ]
    every += [suite for suite in attempt.of(SuiteCompleted) if suite.event.suite == "retrieval"]
    for each in every:
        counts = [
            request.prompt_tokens for request in each.event.requests if request.prompt_tokens is not None
        ]
        if counts and isinstance(tokens.value, int) and _is_near(min(counts), tokens.value):
            yield each.stated("outcome")


def _is_near(size: int, other: int) -> bool:
    return abs(size - other) * 100 <= other * _CLOSE


def _judged(*words: str) -> str:
    """Return the worst of outcomes."""
    order = ("failed", "incomplete", "inconclusive", "passed")
    return min(words, key=order.index)
