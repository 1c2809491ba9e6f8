"""Answers as evidence files keep them: tokens, reasoning, why one failed; the same in every kind of file.

1. Token counts are those that the endpoint reported. Latency is that of the whole request: the files do not say
   when output began, and it is no metric of ours.
2. Reasoning is counted and not seen when the endpoint reports reasoning tokens and no text of it was kept; seen and
   not counted the other way round: then nobody can take it off the completion tokens. Either with thinking disabled
   is a leak.
3. A class of the source is taken over where ours has the same name and meaning; an error that begins with an HTTP
   status is ours. Every other reason stays in the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from anvil.collectors.importers.fields import Fields
from anvil.collectors.importers.remaking import finding
from anvil.ledger.events.checks import FailureClass, Outcome
from anvil.ledger.events.results import FindingName, ImportFinding
from anvil.ledger.rowtable import Column, RowTable

_TOKENS: Mapping[str, str] = {
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
}

_RESPONSES: Mapping[str, str] = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
"""What the Responses API calls them."""

_CLASSES: Mapping[str, FailureClass] = {
    "reasoning_budget_exhausted": "reasoning_budget_exhausted",
    "visible_answer_budget_exhausted": "visible_answer_budget_exhausted",
    "completion_budget_exhausted_after_visible_output": "completion_budget_exhausted_after_visible_output",
    "visible_answer_missing": "visible_answer_missing",
    "unexpected_finish_reason": "unexpected_finish_reason",
    "deterministic_check_failed": "deterministic_check_failed",
}
"""Classes of anvil-serving that mean what ours of the same name mean."""

_HTTP = re.compile(r"(?:error: )?HTTP [1-5][0-9]{2}\b")

OUTCOMES: Mapping[bool | None, Outcome] = {True: "passed", False: "failed", None: "inconclusive"}


def columns(latency: str, unit: str) -> list[Column]:
    """Return the columns of answers; `latency` is what the file calls it, in `unit`."""
    usage = [
        Column(name=name, called=f"usage.{called}", unit="tokens", definition=None)
        for name, called in _TOKENS.items()
    ]
    details = [
        Column.model_validate({"name": name, "called": called, "unit": kind, "definition": None})
        for name, called, kind in (
            ("latency", latency, unit),
            ("reasoning_tokens", "reasoning_tokens", "tokens"),
            ("cached_tokens", "usage.prompt_tokens_details.cached_tokens", "tokens"),
            ("reasoning_chars", "reasoning_chars", "chars"),
            ("content_chars", "content_chars", "chars"),
        )
    ]
    return [*usage, *details]


def values(answer: Fields, latency: str) -> dict[str, str | None]:
    """Return the values of one answer.

    Raises:
        ImportRefused: one is not what it must be.
    """
    usage = answer.part("usage")
    return {
        **{
            name: usage.number(called) or usage.number(_RESPONSES.get(name, ""))
            for name, called in _TOKENS.items()
        },
        "latency": answer.number(latency),
        "reasoning_tokens": answer.number("reasoning_tokens") or _reported(usage),
        "cached_tokens": _first(usage, ("prompt_tokens_details", "input_tokens_details"), "cached_tokens"),
        "reasoning_chars": answer.number("reasoning_chars"),
        "content_chars": answer.number("content_chars"),
    }


def _reported(usage: Fields) -> str | None:
    details = ("completion_tokens_details", "output_tokens_details")
    return _first(usage, details, "reasoning_tokens") or usage.number("reasoning_tokens")


def _first(usage: Fields, parts: Sequence[str], name: str) -> str | None:
    return next((value for part in parts if (value := usage.part(part).number(name)) is not None), None)


def failure(text: str | None) -> FailureClass | None:
    """Return the class of ours that a class or message of the source means (rule 3)."""
    if text is None:
        return None
    return _CLASSES.get(text) or ("http_error" if _HTTP.match(text) else None)


def findings(
    rows: RowTable | None, declared: Sequence[str] = (), thinking: str | None = None
) -> Iterator[ImportFinding]:
    """Yield what the answers themselves show.

    `declared` says what else says that prompts shared a prefix, `thinking` which thinking mode was asked for.
    """
    hints = list(declared)
    if rows is not None:
        for name, is_so in _REASONING.items():
            found = [row for row in rows.rows if is_so(row.values)]
            if found and (name != "reasoning_despite_disabled" or thinking == "disabled"):
                yield finding(name, (), len(found), len(rows.rows))
        if any(count > 0 for count in rows.values("cached_tokens")):
            hints.append("cached_tokens")
    if hints:
        yield finding("shared_prefix", hints)


def _is_some(value: object) -> bool:
    return value is not None and value != "0"


_Row = Mapping[str, object]

_REASONING: Mapping[FindingName, Callable[[_Row], bool]] = {
    "reasoning_counted_not_seen": lambda row: (
        _is_some(row.get("reasoning_tokens")) and not _is_some(row.get("reasoning_chars"))
    ),
    "reasoning_seen_not_counted": lambda row: (
        _is_some(row.get("reasoning_chars")) and not _is_some(row.get("reasoning_tokens"))
    ),
    "reasoning_despite_disabled": lambda row: (
        _is_some(row.get("reasoning_chars")) or _is_some(row.get("reasoning_tokens"))
    ),
}
"""Rule 2: what is found of reasoning in an answer."""
