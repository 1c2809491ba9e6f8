"""What people concluded: observations, caveats, gaps, waivers, decisions, and which of them are stale.

1. A judgement is stale when something that it rests on was retracted or superseded, when bytes of it were
   redacted or lost after the judgement, when the key that signed it does not count any more, or when it is
   itself a stale decision.
2. Each reason names the event by index and says what happened, where and why; in short, what happened to it.
3. A supersession links both ways. A decision whose successor was retracted is in force again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from anvil.ledger.events.judgements import Verdict
from anvil.projections.standing import How, Mark, Standing


@dataclass(frozen=True)
class Note:
    """A caveat or a gap: where it stands, what it says, and which events it is about."""

    index: int
    entry_hash: str
    text: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waiver:
    """A gate that a person let pass, for a time."""

    index: int
    entry_hash: str
    gate: str
    granted_by: str
    reason: str
    expires: str
    about: tuple[str, ...]

    def has_ended(self, now: str) -> bool:
        """Say whether it has ended at the moment `now`, spelled as in an event."""
        return self.expires <= now


@dataclass(frozen=True)
class Decision:
    """What is to become of a candidate."""

    index: int
    entry_hash: str
    verdicts: tuple[Verdict, ...]
    sentence: str
    rests_on: tuple[str, ...]
    supersedes: str | None


@dataclass(frozen=True)
class Reason:
    """Why a judgement is stale: what happened to which event that it rests on, where, and why.

    `index` is null for an event that is not in this ledger, `part` names what of it is gone.
    """

    index: int | None
    entry_hash: str
    how: How | Literal["disowned", "stale", "absent"]
    at: int | None = None
    part: str | None = None
    why: str | None = None

    def __str__(self) -> str:
        name = f"event {self.entry_hash[:16]}" if self.index is None else str(self.index)
        noted = ", noted" if self.how == "lost" else ""
        where = "" if self.at is None else f"{noted} at index {self.at}"
        return f"{name} {self._happened}{where}" + (f": {self.why}" if self.why else "")

    @property
    def in_short(self) -> str:
        """What a judgement rests on and what happened to it, without where and why."""
        name = self.entry_hash[:16] if self.index is None else str(self.index)
        return f"rests on event {name}, which {self._happened}"

    @property
    def _happened(self) -> str:
        return {
            "retracted": "was retracted",
            "redacted": f"had {self.part} redacted",
            "lost": f"lost {self.part}",
            "superseded": "was superseded",
            "disowned": "was signed by a key that was revoked from before it on",
            "stale": "is stale itself",
            "absent": "is not in this ledger",
        }[self.how]


def in_short(found: Sequence[Reason]) -> str:
    """Return why a judgement is stale in a few words: the first reason, and how many more there are."""
    more = f", and on {len(found) - 1} more" if len(found) > 1 else ""
    return f"{found[0].in_short}{more}"


class Cited(Protocol):
    """What is asked of an event that a judgement rests on."""

    @property
    def index(self) -> int:
        """Where it lies."""

    @property
    def is_disowned(self) -> bool:
        """Whether the key that signed it did not count by then."""


Find = Callable[[str], Cited | None]
"""Returns the event of an entry hash, None when it is not in this ledger."""


def reasons(
    index: int,
    cited: tuple[str, ...],
    standing: Standing,
    decisions: Mapping[str, Decision],
    find: Find,
) -> Iterator[Reason]:
    """Yield why a judgement at `index` that cites these events is stale (rules 1 and 2)."""
    for entry_hash in cited:
        seen = find(entry_hash)
        if seen is None:
            yield Reason(None, entry_hash, "absent")
            continue
        if seen.is_disowned:
            yield Reason(seen.index, entry_hash, "disowned")
        marks = [mark for mark in standing.in_force(entry_hash) if _counts(mark, index)]
        for mark in marks:
            yield Reason(seen.index, entry_hash, mark.how, mark.index, mark.part, mark.reason)
        inner = decisions.get(entry_hash)
        if inner is not None and not marks:
            below = next(reasons(inner.index, inner.rests_on, standing, decisions, find), None)
            if below is not None:
                yield Reason(seen.index, entry_hash, "stale", why=str(below))


def _counts(mark: Mark, index: int) -> bool:
    """Say whether a mark makes a judgement at `index` stale: what was gone before was known to who judged."""
    return mark.how in ("retracted", "superseded") or mark.index > index
