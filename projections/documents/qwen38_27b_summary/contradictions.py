"""What an imported summary of lanes prints that does not follow from what else it prints, in sentences.

1. Full windows at once that are not KV tokens by the window.
2. A corpus whose parts are not its sum.
3. Rungs that passed, where nothing says what was asked.
4. A burst of requests that share their prefix and is called cold.
5. A retrieval that names a number of tokens which no rung of its ladder counted.
6. A cell whose name is a size, where no count of prompt tokens is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from anvil.projections.contradictions import (
    Span,
    counts,
    is_no_quotient,
    members,
    sizes_in,
    span,
    text,
)
from anvil.projections.figures import Group

_TOKENS = re.compile(r"\b([1-9][0-9]*)-token\b")


def contradictions(document: Group) -> Iterator[str]:
    """Yield the contradictions of an imported document, as its figures."""
    window = _named(members(document, "settings"), "context_tokens")
    lanes, experiments = members(document, "lanes"), members(document, "experiments")
    for lane in lanes:
        own = _named(members(lane, "settings"), "context_tokens") or window
        yield from _windows(text(lane, "key"), members(lane, "reported"), own)
        yield from _corpus(lane)
        if any(text(rung, "status") == "passed" for rung in members(lane, "context")):
            yield f"context of {text(lane, 'key')}: what was asked is not said; passed can mean that any answer came."
        yield from _retrieved(lane)
    for experiment in experiments:
        yield from _windows(text(experiment, "key"), members(experiment, "figures"), window)
        yield from _cold(experiment)
    cells = [cell for lane in lanes for cell in members(lane, "cells")]
    for name in dict.fromkeys(text(cell, "name") for cell in cells):
        for size in sizes_in(name):
            yield f"{name}: its name says {size}; how many prompt tokens the endpoint counted is not printed."


def _named(figures: list[Group], name: str) -> Span | None:
    return next((span(one, "value") for one in figures if text(one, "name") == name), None)


def _windows(key: str, figures: list[Group], window: Span | None) -> Iterator[str]:
    tokens, said = _named(figures, "engine_kv_tokens"), _named(figures, "reported_full_window_concurrency")
    if (
        window is not None
        and tokens is not None
        and said is not None
        and is_no_quotient(tokens, window, said)
    ):
        yield (
            f"{key}: {said.text} full windows are printed; {tokens.text} KV tokens by a window of {window.text} do not "
            "give that."
        )


def _corpus(lane: Group) -> Iterator[str]:
    for corpus in members(lane, "multimodal"):
        parts = [counts(text(one, "value")) for one in members(corpus, "modalities")]
        known = [part for part in parts if part is not None]
        sums = [sum(part[at] for part in known) for at in (0, 1)]
        printed = [text(corpus, name) for name in ("passed", "attempts")]
        if known and len(known) == len(parts) and printed != [str(each) for each in sums]:
            told, made = "/".join(printed), "/".join(map(str, sums))
            yield f"multimodal of {text(lane, 'key')}: {told} is printed; its parts come to {made}."


def _retrieved(lane: Group) -> Iterator[str]:
    rungs = {text(rung, "actual_prompt_tokens") for rung in members(lane, "context")}
    for size in _TOKENS.findall(text(lane, "repeated_quality")):
        if size not in rungs:
            yield (
                f"repeated_quality of {text(lane, 'key')}: it speaks of {size} tokens; no rung of its context counted as many."
            )


def _cold(experiment: Group) -> Iterator[str]:
    if "shared" not in text(experiment, "workload"):
        return
    for cell in members(experiment, "cells"):
        if "cold" in text(cell, "name"):
            yield (
                f"{text(experiment, 'key')}, {text(cell, 'name')}: it is called cold, and its requests share a prefix; only "
                "the first of them can be."
            )
