"""What was published of a campaign, what was withdrawn, and what of it does not hold any more.

1. A publication is made of a state of the ledger. What its reader sees are the events up to it.
2. It is *stale* when something was taken back after that state: an event that its document can rest on was retracted,
   redacted, lost or superseded, a decision became stale, or the key that signed some of them was revoked from before
   them on. Whether the document does rest on it only making it again could tell.
3. Why a decision is stale is said by `anvil.projections.judgements`. What was so at the state itself the document says.
4. One that a revoked key signed is out all the same, and is kept; its withdrawal by such a key is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from anvil.ledger.events import PublicationReleased, PublicationWithdrawn
from anvil.projections.judgements import Decision, Find, Reason, reasons
from anvil.projections.seen import Seen
from anvil.projections.standing import Standing


@dataclass(frozen=True)
class Withdrawal:
    """The event that takes a publication back, when, and why, for every reader."""

    index: int
    entry_hash: str
    at: str
    reason: str


@dataclass(frozen=True)
class Publication:
    """One document that was released: by which event, when, and of which state of the ledger."""

    index: int
    entry_hash: str
    at: str
    candidate: str | None
    """Null for a document about all candidates."""
    event: PublicationReleased
    state: int
    """How many entries of this ledger it is made of: the first ones."""
    is_disowned: bool = False
    """Whether the key that signed it did not count by then (rule 4)."""
    withdrawn: Withdrawal | None = None

    @classmethod
    def of(cls, seen: Seen, event: PublicationReleased, begins: int) -> Publication:
        """Return a release; `begins` is where the entries of the ledger that it is made of begin in this one."""
        state = begins + event.fold.size
        subject = seen.header.subject
        return cls(
            seen.index, seen.entry_hash, seen.header.at, subject.candidate, event, state, seen.is_disowned
        )


Published = Mapping[str, Publication]
"""Publications by the entry hash of the event that released them."""


def withdrawn(published: Published, seen: Seen, event: PublicationWithdrawn) -> Published:
    """Return the publications after one is withdrawn; the first withdrawal counts."""
    found = published.get(event.publication)
    if found is None or found.withdrawn is not None:
        return published
    taken_back = Withdrawal(seen.index, seen.entry_hash, seen.header.at, event.reason)
    return {**published, event.publication: replace(found, withdrawn=taken_back)}


@dataclass(frozen=True)
class Since:
    """One thing that does not hold any more: what happened, where, and which decision it makes stale, if any."""

    text: str
    at: int | None
    decision: int | None = None

    def __str__(self) -> str:
        return self.text if self.decision is None else f"decision {self.decision} is stale: {self.text}"


class Known(Protocol):
    """What is asked of the state of all campaigns."""

    @property
    def standing(self) -> Standing:
        """How events stand."""

    @property
    def revoked(self) -> Mapping[str, int]:
        """Where each key was revoked that was."""

    def decisions(self) -> dict[str, Decision]:
        """Return every decision, by entry hash."""


@dataclass(frozen=True)
class _Cited:
    """An event as it was at a state."""

    index: int
    is_disowned: bool


@dataclass(frozen=True)
class Ageing:
    """What became of one campaign after the states of it that were published."""

    state: Known
    find: Callable[[str], Seen | None]
    campaign: str | None
    """Its name; null for that of events which name none."""
    own: Iterable[Decision]
    """Its decisions."""
    disowned: Mapping[str, int]
    """Of each revoked key that signed events of it which do not count, the index of the first of them."""

    def since(self, one: Publication) -> list[Since]:
        """Return what of a publication does not hold any more (rule 2)."""
        told = [since for decision in self.own for since in self._of_decision(one, decision)]
        known = {since.text for since in told}
        told += [since for since in self._taken_back(one) if since.text not in known]
        return [*told, *self._disowned(one)]

    def _of_decision(self, one: Publication, decision: Decision) -> Iterator[Since]:
        """Yield why a decision that the state knew became stale after it (rule 3)."""
        is_replaced = any(m.how == "superseded" for m in self.state.standing.in_force(decision.entry_hash))
        if decision.index >= one.state or is_replaced or not self._is_about(one, decision.entry_hash):
            return
        before = set(self._reasons(decision, _up_to(self.state.standing, one.state), self._found_at(one)))
        for reason in self._reasons(decision, self.state.standing, self.find):
            if reason not in before:
                yield _told(reason, decision.index)

    def _reasons(self, decision: Decision, standing: Standing, find: Find) -> Iterator[Reason]:
        return reasons(decision.index, decision.rests_on, standing, self.state.decisions(), find)

    def _found_at(self, one: Publication) -> Find:
        """Return what finds events as they were at the state of a publication."""

        def find(entry_hash: str) -> _Cited | None:
            seen = self.find(entry_hash)
            if seen is None:
                return None
            was_revoked = self.state.revoked.get(seen.header.key, one.state) < one.state
            return _Cited(seen.index, seen.is_disowned and was_revoked)

        return find

    def _taken_back(self, one: Publication) -> Iterator[Since]:
        """Yield what was taken back of the events that the state knew, in order."""
        found = []
        for entry_hash, marks in self.state.standing.marks.items():
            late = (
                [m for m in self.state.standing.in_force(entry_hash) if m.index >= one.state] if marks else []
            )
            seen = self.find(entry_hash) if late else None
            if seen is not None and seen.index < one.state and self._is_about(one, entry_hash):
                found += [Reason(seen.index, entry_hash, m.how, m.index, m.part, m.reason) for m in late]
        for reason in sorted(found, key=lambda reason: reason.at or 0):
            yield _told(reason)

    def _disowned(self, one: Publication) -> Iterator[Since]:
        for key, first in self.disowned.items():
            at = self.state.revoked.get(key)
            if at is not None and first < one.state <= at:
                yield Since(
                    f"events from {first} on count for nothing: their key was revoked at index {at}", at
                )

    def _is_about(self, one: Publication, entry_hash: str) -> bool:
        """Say whether an event is of the campaign, and can be about the candidate of a publication of one."""
        seen = self.find(entry_hash)
        if seen is None or seen.header.subject.campaign != self.campaign:
            return False
        return one.candidate is None or seen.header.subject.candidate in (None, one.candidate)


def _told(reason: Reason, decision: int | None = None) -> Since:
    text = str(reason) if reason.index is None else f"event {reason}"
    return Since(text, reason.at, decision)


def _up_to(standing: Standing, state: int) -> Standing:
    """Return how events stood after the first `state` entries."""
    marks = {name: tuple(m for m in marks if m.index < state) for name, marks in standing.marks.items()}
    return replace(standing, marks=marks)
