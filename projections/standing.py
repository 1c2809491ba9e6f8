"""How events stand: what was retracted, redacted, lost, found again, supported later, superseded.

Nothing stored is ever changed; whether an event still holds follows from the events after it. A fold over
those alone: each mark is kept by the entry hash of the event that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from anvil.ledger.events import (
    ArtifactMissing,
    ArtifactRedacted,
    DecisionRecorded,
    EventRetracted,
    EvidenceAttached,
    SealedRedacted,
)
from anvil.ledger.public import EvidenceStatus

Correction = (
    EventRetracted | SealedRedacted | ArtifactRedacted | ArtifactMissing | EvidenceAttached | DecisionRecorded
)
"""The events that change how an earlier one stands."""

How = Literal["retracted", "redacted", "lost", "superseded"]


@dataclass(frozen=True, slots=True)
class Said:
    """Where the event that changes something lies, and whether bytes came with it."""

    index: int
    entry_hash: str
    has_bytes: bool


@dataclass(frozen=True)
class Mark:
    """What happened to an event: how, which event says so, and why; of a part of it, which part."""

    how: How
    index: int
    entry_hash: str
    reason: str | None
    part: str | None = None
    is_undone: bool = False


@dataclass(frozen=True)
class Support:
    """Bytes that were attached to an event later: the event that did it, and what the person claims for it."""

    index: int
    entry_hash: str
    status: EvidenceStatus
    parts: tuple[str, ...] = ()
    """Which parts of an observation in parts they support."""


@dataclass(frozen=True)
class Standing:
    """Marks and later support, by the entry hash of the event concerned."""

    marks: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)
    support: Mapping[str, tuple[Support, ...]] = field(default_factory=dict)

    def is_retracted(self, entry_hash: str) -> bool:
        """Say whether an event was taken back."""
        return any(mark.how == "retracted" for mark in self.marks.get(entry_hash, ()))

    def in_force(self, entry_hash: str) -> Iterator[Mark]:
        """Yield the marks of an event that hold now: lost bytes came back, a decision in its place was retracted."""
        for mark in self.marks.get(entry_hash, ()):
            taken_back = mark.how in ("superseded", "lost") and self.is_retracted(mark.entry_hash)
            if not mark.is_undone and not taken_back:
                yield mark

    def lacks_bytes(self, entry_hash: str) -> bool:
        """Say whether something that an event names is redacted or lost."""
        return any(mark.how in ("redacted", "lost") for mark in self.in_force(entry_hash))

    def supports(self, entry_hash: str) -> Iterator[Support]:
        """Yield what was attached to an event later and still holds."""
        for each in self.support.get(entry_hash, ()):
            if not self.is_retracted(each.entry_hash):
                yield each


def step(standing: Standing, said: Said, event: Correction) -> Standing:
    """Return how events stand after one more that changes it."""
    match event:
        case EventRetracted():
            return _mark(standing, event.target, _of(said, "retracted", event.reason))
        case SealedRedacted():
            return _mark(standing, event.target, _of(said, "redacted", event.reason, event.field))
        case ArtifactRedacted():
            return _mark(standing, event.target, _of(said, "redacted", event.reason, event.artifact))
        case ArtifactMissing():
            return _mark(standing, event.target, _of(said, "lost", event.reason, event.artifact))
        case EvidenceAttached():
            return _support(standing, said, event)
        case DecisionRecorded():
            if event.supersedes is None:
                return standing
            return _mark(standing, event.supersedes, _of(said, "superseded", None))
        case _:
            assert_never(event)


def _of(said: Said, how: How, reason: str | None, part: str | None = None) -> Mark:
    return Mark(how, said.index, said.entry_hash, reason, part)


def _mark(standing: Standing, target: str, mark: Mark) -> Standing:
    marks = (*standing.marks.get(target, ()), mark)
    return replace(standing, marks={**standing.marks, target: marks})


def _support(standing: Standing, said: Said, event: EvidenceAttached) -> Standing:
    target = event.target
    if not said.has_bytes:
        return standing  # a claim of bytes without bytes
    found = Support(said.index, said.entry_hash, event.status, event.supports)
    marks = tuple(
        replace(mark, is_undone=True) if mark.how == "lost" and mark.part in event.restores else mark
        for mark in standing.marks.get(target, ())
    )
    return replace(
        standing,
        marks={**standing.marks, target: marks} if marks else standing.marks,
        support={**standing.support, target: (*standing.support.get(target, ()), found)},
    )
