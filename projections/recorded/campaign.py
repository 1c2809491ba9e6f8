"""A campaign as summaries see it: its candidates, and its attempts with their launches.

1. An attempt counts by its newest launch. Earlier ones stay in sight: they are named where they failed.
2. What no event says is null, on the evidence of the recipes: they are what was planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

from anvil.ledger.events import Event
from anvil.ledger.events.recipes import DeclaredAttempt
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Group, Listing, Source, Unsupported, Value, derive
from anvil.projections.plans import Planned, Plans
from anvil.projections.record import Campaign, Kept

EventT = TypeVar("EventT", bound=Event)


@dataclass(frozen=True)
class Of(Generic[EventT]):
    """One event of a known type as evidence."""

    source: Source
    event: EventT

    @property
    def entry_hash(self) -> str:
        """How other events name it."""
        return self.source.entry_hash

    def stated(self, *path: str | int) -> Figure:
        """Return the figure at a place of its clear fields."""
        return self.source.stated(*path)

    def marked(self, rule: str, value: Value) -> Figure:
        """Return a figure that follows from its being there."""
        return self.source.marked(rule, value)


@dataclass(frozen=True)
class Attempt:
    """One attempt: what was planned, and the events of each of its launches, oldest first."""

    key: str
    candidate: str
    plan: tuple[Planned, DeclaredAttempt] | None
    launches: tuple[tuple[Source, ...], ...]

    @property
    def newest(self) -> tuple[Source, ...]:
        """The events of its newest launch; none when it was never launched."""
        return self.launches[-1] if self.launches else ()

    @property
    def placement(self) -> str | None:
        """Where it was to run; None without a place of its own."""
        return None if self.plan is None else self.plan[1].placement

    def of(self, kind: type[EventT]) -> Iterator[Of[EventT]]:
        """Yield the events of one type of its newest launch, in order."""
        return events_of(self.newest, kind)

    def reason(self) -> Figure:
        """Return why it is shown: an event speaks of it. The first is enough.

        Raises:
            Unsupported: none does, and none planned it.
        """
        for launch in self.launches:
            return launch[0].marked("an attempt that an event speaks of", self.key, "declared")
        if self.plan is None:
            raise Unsupported(f"no event speaks of attempt {self.key}")
        return self.plan[0].stated("key")


@dataclass(frozen=True)
class Recorded:
    """One campaign."""

    evidence: Evidence
    campaign: Campaign
    plans: Plans
    elsewhere: frozenset[str] = frozenset()
    """Attempts that a document has no place for."""
    looked_at: tuple[Figure, ...] = ()
    """What was looked at where nothing was planned and nothing launched: files of other tools."""
    days: tuple[Figure, ...] = ()
    """The days that these give."""

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign) -> Recorded | None:
        """Return what was recorded, or None when nothing was planned and nothing launched."""
        found = cls(evidence, campaign, Plans.of(evidence, campaign))
        return found if found.plans.recipes or found.attempts else None

    @cached_property
    def general(self) -> tuple[Source, ...]:
        """What is said of all of it, in order."""
        return self.evidence.sources(self.campaign.general)

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """Its attempts, in the order in which they came up; those without a candidate are none."""
        made = []
        for key, launches in self.campaign.attempts.items():
            sources = (self.evidence.sources(launch.events) for launch in launches)
            spoken_of = tuple(each for each in sources if each)
            named = [self.plans.candidate_of(launch) for launch in launches]
            plan = self.plans.attempts.get(key)
            candidate = next((one for one in reversed(named) if one), plan[1].candidate if plan else None)
            is_known = plan is not None or bool(spoken_of)
            if candidate is not None and is_known and key not in self.elsewhere:
                made.append(Attempt(key, candidate, plan, spoken_of))
        return tuple(made)

    def without(self, attempts: Iterable[str]) -> Recorded:
        """Return it without some attempts."""
        return replace(self, elsewhere=frozenset(attempts))

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """The candidates by key, as recipes declare them."""
        return tuple(self.plans.candidates)

    def attempts_of(self, candidate: str) -> tuple[Attempt, ...]:
        """Return the attempts of one candidate."""
        return tuple(attempt for attempt in self.attempts if attempt.candidate == candidate)

    @cached_property
    def _general(self) -> dict[str, Kept]:
        return {kept.entry_hash: kept for kept in self.campaign.general}

    def kept_of(self, source: Of[EventT]) -> Kept:
        """Return an event about all of it with its subject and the ledger that recorded it."""
        return self._general[source.entry_hash]

    def key_of(self, candidate: str) -> Figure:
        """Return a candidate's key as a figure."""
        return self.plans.candidates[candidate][0].stated("key")

    def about(self, kind: type[EventT]) -> list[Of[EventT]]:
        """Return the events of one type about all of it."""
        return list(events_of(self.general, kind))

    @cached_property
    def basis(self) -> tuple[Figure, ...]:
        """What was looked at: the recipes, or the first event of each attempt."""
        marks = tuple(source.marked("what was planned", None, "declared") for source in self.plans.recipes)
        return marks or tuple(attempt.reason() for attempt in self.attempts) or self.looked_at

    def nothing(self, rule: str, *looked_at: Figure) -> Figure:
        """Return null, and say why (rule 2)."""
        return derive(rule, _nothing, *(looked_at or self.basis))

    def listing(self, rule: str, members: Sequence[tuple[Figure, Figure | Group]]) -> Listing:
        """Return members with the figure by which each is one of them."""
        reasons = [reason for reason, _ in members] or list(self.basis)
        size = len(members)
        return Listing(derive(rule, lambda *_: size, *reasons), tuple(members))

    def kept(self) -> Iterator[Kept]:
        """Yield every event of every launch."""
        return (kept for launch in self.campaign.launches for kept in launch.events)

    def day(self) -> Figure:
        """Return the newest day on which something of it was recorded."""
        newest: dict[str, Figure] = {}
        for kept in (*self.campaign.recipes, *self.kept()):
            day = kept.at[:10]
            source = self.evidence.source(kept) if day not in newest else None
            if source is not None:
                newest[day] = source.marked("the day of the event", day)
        if not newest and not self.days:
            return self.nothing("no imported file gives its day in a form that is published")
        of = "attempts' events" if newest else "imported files"
        return derive(f"the newest day of the {of}", lambda *days: max(days), *(newest.values() or self.days))


def same(rule: str, figures: Iterable[Figure]) -> Figure | None:
    """Return what figures all say, on the evidence of all of them; None when there is none, or they differ."""
    every = list(figures)
    if not every or any(figure.value != every[0].value for figure in every):
        return None
    return every[0] if len(every) == 1 else derive(rule, _first, *every)


def distinct(rule: str, figures: Iterable[Figure]) -> Figure | None:
    """Return what figures say: the one value, or all that there are, joined by `; `; None when there is none."""
    every = [figure for figure in figures if figure.value is not None]
    if not every:
        return None
    return either(same(rule, every), derive(f"{rule}: they differ", _joined, *every))


def either(first: Figure | None, *others: Figure) -> Figure:
    """Return the first figure that there is."""
    return first if first is not None else others[0]


def events_of(sources: Iterable[Source], kind: type[EventT]) -> Iterator[Of[EventT]]:
    """Yield the events of one type."""
    return (Of(source, source.event) for source in sources if isinstance(source.event, kind))


def _nothing(*_: Value) -> None:
    return None


def _first(first: Value, *_: Value) -> Value:
    return first


def _joined(*values: Value) -> str:
    return "; ".join(dict.fromkeys(str(value) for value in values))
