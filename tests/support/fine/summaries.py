"""A campaign of one candidate that is begun, to be gone on with by a test of its summary."""

from __future__ import annotations

from typing import Any

from support.fine import events as of
from support.fine.stage import Stage

NAME = "sanitized-qualification-summary.v1"


def started(*, checks: tuple[str, ...] = ("coding",), attempts: tuple[Any, ...] = ()) -> Stage:
    """Return a campaign of one candidate whose attempts were launched."""
    stage = Stage("mine")
    planned = attempts or (of.attempt("a1", "tiny", checks=checks, settings={"slots": 2}),)
    stage.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, "Q4_1")], planned))
    for attempt in planned:
        stage.tell(of.launched(None, attempt.placement), "tiny", attempt.key)
    return stage
