"""The evidence limit as a page lays it out: how many requests stand behind each load as a table, the rest as sentences.

1. The sentences are ours, put together by `anvil.projections.recorded`. One that is not of a known form stays a sentence,
   so nothing is lost where they change.
2. What a sentence says of one attempt or candidate stands in that one's section, too: beside what people note of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_COUNTS = re.compile(
    r"^Load, ([0-9]+) completed and ([0-9]+) failed of ([0-9]+) requests? in ([0-9]+) runs?: (.+)\.$"
)
_CELL = re.compile(r"^(\S+) (\S+) of (\S+)$")
_ABOUT = re.compile(r"^Load, \S+ \S+ of (\S+): |^No A/B, \S+ \S+: (\S+) against \S+: ")
_PROTOCOL = re.compile(r"^(?:Protocol|Answers of different lengths), (\S+) (\S+): ")
_LADDER = re.compile(r"^Context ladder of (\S+?)(?:, in prompt tokens)?: ")


@dataclass(frozen=True)
class Loaded:
    """The cells of one protocol for one attempt or candidate of which as many requests were sent."""

    of: str
    protocol: str
    cells: tuple[str, ...]
    completed: str
    failed: str
    expected: str
    runs: str

    @property
    def requests(self) -> str:
        """How many requests completed and failed, in words."""
        failed = f", {self.failed} failed" if self.failed != "0" else ""
        return f"{self.completed} of {self.expected}{failed}"


@dataclass(frozen=True)
class Told:
    """An evidence limit: the loads as lines of a table, and what is left as sentences."""

    loads: tuple[Loaded, ...]
    sentences: tuple[str, ...]
    anchors: Mapping[str, str]
    """Sentences that something on the page leads to, each with the name that it is found by."""


def told(
    limits: Iterable[str], besides: Iterable[str] = (), anchors: Mapping[str, str] | None = None
) -> Told:
    """Return the sentences of a limit but those `besides`, which stand elsewhere; those that count as a table (rule 1)."""
    cells: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    left = []
    elsewhere = frozenset(besides)
    for sentence in (each for each in limits if each not in elsewhere):
        counts = _COUNTS.match(sentence)
        parts = [_CELL.match(part) for part in counts[5].split(", ")] if counts else []
        if counts is None or None in parts:
            left.append(sentence)
            continue
        for part in parts:
            if part is not None:
                cells.setdefault((part[3], part[1], counts.groups()[:4]), []).append(part[2])
    order = list(dict.fromkeys(of for of, _, _ in cells))
    loads = [Loaded(of, protocol, tuple(found), *counts) for (of, protocol, counts), found in cells.items()]
    return Told(tuple(sorted(loads, key=lambda one: order.index(one.of))), tuple(left), anchors or {})


def about(name: str, limits: Sequence[str]) -> tuple[str, ...]:
    """Return the sentences about one attempt or candidate (rule 2)."""
    found = ((sentence, _ABOUT.match(sentence)) for sentence in limits)
    return tuple(sentence for sentence, match in found if match and name in match.groups())


def loads(name: str, limits: Sequence[str]) -> tuple[str, ...]:
    """Return what is said of the load called `name` in the document: what it was, and where answers differ in length."""
    found = ((sentence, _PROTOCOL.match(sentence)) for sentence in limits)
    spelled = (
        (sentence, match[1].replace("-", "_"), match[2].replace("-", "_"))
        for sentence, match in found
        if match
    )
    names = ((sentence, (own, f"{own}_{cell}")) for sentence, own, cell in spelled)
    return tuple(sentence for sentence, own in names if name.removeprefix("capacity_") in own or name in own)


def ladders(limits: Sequence[str], shown: Iterable[str]) -> tuple[str, ...]:
    """Return the sentences about ladders of attempts that are not among those `shown` rung by rung."""
    known = frozenset(shown)
    found = ((sentence, _LADDER.match(sentence)) for sentence in limits)
    return tuple(sentence for sentence, match in found if match and match[1] not in known)
