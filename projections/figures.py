"""Figures: published values that carry what they rest on.

1. A figure is a value with its support (the events and artifacts behind it), the rule by which it
   came to be, and its evidence status. Without an event there is no figure.
2. A *stated* figure is read from a clear field of one event, by the field's name: what is sealed
   cannot become one. All clear fields are public by type (`anvil.ledger.public`), so a figure is too.
3. A *derived* figure is computed from figures. Its support is the union of theirs and its status the
   weakest of theirs: arithmetic, selecting, counting and putting together never strengthen anything.
4. `declared` is no observation and has no rank: beside anything observed it does not count.
5. Numbers stay exact until they are printed. `places` rounds, once; what was rounded is no number any
   more that could be computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, get_args

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import AnyEvent
from anvil.ledger.public import EvidenceStatus
from anvil.ledger.statistics import rounded
from anvil.ledger.wording import counted

STATUSES: tuple[EvidenceStatus, ...] = get_args(EvidenceStatus)
"""Strongest first; `declared` last, which has no rank."""

RANKED: tuple[EvidenceStatus, ...] = STATUSES[:-1]


class Unsupported(PublicationRefused):
    """A value has no event behind it, or is not what a figure can hold."""


class Printed(str):
    """A number as it is printed, digits and decimals: `48.0` is not `48`."""

    __slots__ = ()


Value = str | int | Fraction | bool | None
"""What a figure can hold: text, a number that is exact, a number that is printed, true, false, null."""


class ArtifactName(NamedTuple):
    """An artifact, by the event that carries it and its name there."""

    event: str
    name: str


@dataclass(frozen=True, slots=True)
class Support:
    """What something rests on: events by entry hash, and artifacts of theirs."""

    events: frozenset[str] = frozenset()
    artifacts: frozenset[ArtifactName] = frozenset()

    def __or__(self, other: Support) -> Support:
        return Support(self.events | other.events, self.artifacts | other.artifacts)

    @classmethod
    def of_all(cls, supports: Sequence[Support]) -> Support:
        """Return what several things rest on together; one by one would cost the square of their number."""
        events = frozenset().union(*(support.events for support in supports))
        return cls(events, frozenset().union(*(support.artifacts for support in supports)))


def weakest(statuses: Iterable[EvidenceStatus]) -> EvidenceStatus:
    """Return the weakest status; `declared` only when nothing else is there (rule 4)."""
    ranks = [RANKED.index(status) for status in statuses if status != "declared"]
    return RANKED[max(ranks)] if ranks else "declared"


def is_stronger(one: EvidenceStatus, other: EvidenceStatus) -> bool:
    """Say whether `one` claims more than `other`. `declared` claims nothing."""
    return "declared" not in (one, other) and RANKED.index(one) < RANKED.index(other)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of what an event states that has evidence of its own: its name, how strong it is, what it rests on."""

    name: str
    status: EvidenceStatus
    support: Support


_PART_OF = {"public_text": "words", "version": "engine", "http_status": "health"}
"""Fields of an observation to the part that they belong to, where that has another name."""


@dataclass(frozen=True, slots=True)
class Source:
    """One event as evidence: what it states, which artifacts it has, how strong it is."""

    entry_hash: str
    event: AnyEvent
    artifacts: tuple[str, ...]
    status: EvidenceStatus
    later: Support = Support()
    """What was attached to it later and raised its status."""
    parts: tuple[Part, ...] = ()
    """The parts of an observation that are supported each by itself; `status` is then the weakest of them."""

    @property
    def support(self) -> Support:
        """The event and all its artifacts, and what was attached to it later."""
        own = Support(
            frozenset((self.entry_hash,)),
            frozenset(ArtifactName(self.entry_hash, name) for name in self.artifacts),
        )
        return own | self.later

    def stated(self, *path: str | int, status: EvidenceStatus | None = None) -> Figure:
        """Return the figure at `path` in the clear fields of the event (rule 2).

        `status` is `declared` for what is a choice and no observation, such as a setting.

        Raises:
            Unsupported: the field is sealed, or holds no single value.
        """
        if not path or path[0] in (*self.event.sealed_fields, "type"):
            raise Unsupported(f"{self.event.type}: {path!r} is not a clear field")
        found: Any = self.event
        for step in path:
            found = found[step] if isinstance(step, int) else getattr(found, step)
        rule = f"{self.event.type} {'.'.join(map(str, path))}"
        field = str(path[1] if path[0] == "claims" and len(path) > 1 else path[0])
        part = next((part for part in self.parts if part.name == _PART_OF.get(field, field)), None)
        support, own = (self.support, self.status) if part is None else (part.support, part.status)
        return Figure(found, rule, support, own if status is None else status)

    def marked(self, rule: str, value: Value, status: EvidenceStatus | None = None) -> Figure:
        """Return a figure that follows from the event being there at all; its artifacts have no part in it."""
        support = Support(frozenset((self.entry_hash,)))
        return Figure(value, rule, support, self.status if status is None else status)


@dataclass(frozen=True, slots=True)
class Figure:
    """One published value and what it rests on (rule 1). `parts` are the figures that it was derived from.

    Raises:
        Unsupported: no event is behind it, or the value is of a kind that is not published.
    """

    value: Value
    rule: str
    support: Support
    status: EvidenceStatus
    parts: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        if not self.support.events:
            raise Unsupported(f"no event is behind {self.value!r} ({self.rule})")
        if not isinstance(self.value, str | int | Fraction | None):
            raise Unsupported(f"a figure holds no {type(self.value).__name__} ({self.rule})")

    def __bool__(self) -> bool:
        """Never: ask for `value`, so that nothing depends on a figure without carrying its support."""
        raise TypeError("a figure is neither true nor false; its value may be")

    def places(self, count: int) -> Figure:
        """Return the number as it is printed with `count` decimals, rounded half up (rule 5).

        Raises:
            Unsupported: it is no number, or was rounded before.
        """
        value = self.value
        if value is None:
            return self
        if isinstance(value, bool | str) or not 0 <= count <= 9:
            raise Unsupported(
                f"{value!r} cannot be printed with {counted(count, 'place')}: it is no exact number"
            )
        rule = f"{self.rule}, rounded half up to {counted(count, 'place')}"
        return Figure(Printed(rounded(value, count)), rule, self.support, self.status, (self,))


def derive(rule: str, function: Callable[..., Value], *figures: Figure) -> Figure:
    """Return `function` of the values of `figures`, resting on all of them (rule 3).

    Raises:
        Unsupported: there is no figure, or one was rounded before.
    """
    if any(isinstance(figure.value, Printed) for figure in figures):
        raise Unsupported(f"{rule}: a figure that was rounded is not computed with")
    return _resting_on(figures, rule, function(*(figure.value for figure in figures)))


def count(rule: str, figures: Iterable[Figure], among: Iterable[Figure] = ()) -> Figure:
    """Return how many of `figures` are true. It rests on all of them, and on `among`: what was looked at.

    Raises:
        Unsupported: there is nothing that was counted or looked at.
    """
    counted = tuple(figures)
    value = sum(1 for figure in counted if figure.value)
    return _resting_on((*counted, *among), rule, value)


def compose(rule: str, text: Callable[..., str | None], *figures: Figure) -> Figure:
    """Return words of ours around the values of `figures`; they are put together here and in no template.

    Raises:
        Unsupported: there is no figure.
    """
    return _resting_on(figures, rule, text(*(figure.value for figure in figures)))


def _resting_on(figures: tuple[Figure, ...], rule: str, value: Value) -> Figure:
    support = Support.of_all([figure.support for figure in figures])
    return Figure(value, rule, support, weakest(figure.status for figure in figures), figures)


@dataclass(frozen=True)
class Group:
    """Figures, groups and listings by name: all that a template can reach."""

    fields: Mapping[str, Figure | Group | Listing]


@dataclass(frozen=True)
class Listing:
    """Groups or figures in an order. Each has a figure of its own: why it is one of them.

    `basis` says what was looked at, so that an empty list is a finding too.
    """

    basis: Figure
    members: tuple[tuple[Figure, Figure | Group], ...]

    def __iter__(self) -> Iterator[tuple[Figure, Figure | Group]]:
        return iter(self.members)
