"""A small campaign of two checks and a load, and what a person concludes of it and takes back."""

from __future__ import annotations

from collections.abc import Callable

from anvil.ledger.events import ArtifactMissing, ArtifactRedacted, DecisionRecorded, EventRetracted
from anvil.ledger.events.base import Event
from support.fine import events as of
from support.fine.loads import load, row
from support.fine.stage import Stage, Told

DOCUMENTS = (
    "candidate-failure.v1",
    "qwen38-27b-qualification-summary.v1",
    "sanitized-qualification-summary.v1",
)
CHECK, OTHER = 2, 3
"""The numbers of two checks; of an event its index is one more."""


def stage() -> Stage:
    made = Stage("mine")
    made.tell(of.recipe("mine", [of.candidate("tiny", "org/tiny", None, None)], [of.attempt("a", "tiny")]))
    made.tell(of.launched(None), "tiny", "a")
    for name in ("coding", "responses"):
        made.tell(of.check(name), "tiny", "a", artifacts={"body": name.encode()})
    load(made, "tiny", "a", [row(at, 10**8, 10**9, 20, started_ns=at * 10**9) for at in range(5)])
    return made


def decided(*numbers: int, supersedes: int | None = None) -> Callable[[Told], Event]:
    return lambda told: DecisionRecorded(
        verdicts=("no-promotion",),
        sentence="It reads wrongly.",
        rests_on=tuple(told[number] for number in numbers),
        supersedes=None if supersedes is None else told[supersedes],
    )


def retracted(number: int) -> Callable[[Told], Event]:
    return lambda told: EventRetracted(target=told[number], reason="another engine")


def lost(number: int) -> Callable[[Told], Event]:
    return lambda told: ArtifactMissing(target=told[number], artifact="body", reason="the disk died")


def redacted(number: int) -> Callable[[Told], Event]:
    return lambda told: ArtifactRedacted(target=told[number], artifact="body", reason="a name")
