"""What a campaign ran on: its hosts, the GPUs that its attempts were placed on, and how they were placed.

1. Counted are the GPUs on which an attempt was placed; all that the hosts have, where none was placed by name.
2. Hosts, GPUs and placements are named by pseudonyms, in the order in which the document comes to them: their names
   and UUIDs are sealed, and what placements are called belongs to a site. A host is told apart by the ledger that
   recorded it, since each host has its own; a GPU by its host and its position there, which a restart may change.
3. Memory is in GiB (2^30 bytes), rounded to a whole number: it is what a card is sold by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from anvil.ledger.events import HostObserved
from anvil.ledger.wording import counted
from anvil.projections.figures import Figure, Group, compose, derive
from anvil.projections.pseudonyms import Pseudonyms
from anvil.projections.recorded.campaign import Attempt, Of, Recorded, distinct, either, same

_GIB = 2**30


def hardware(recorded: Recorded) -> Group:
    """Return what is known of the hardware."""
    return _Hardware(recorded, Pseudonyms()).group()


@dataclass(frozen=True)
class _Gpu:
    """One look at one GPU: its host and position, and which attempt was placed on it, if the look is of one."""

    place: tuple[str, int]
    look: Of[HostObserved]
    at: int
    attempt: str | None

    def stated(self, field: str) -> Figure:
        return self.look.stated("gpus", self.at, field)


@dataclass(frozen=True)
class _Hardware:
    recorded: Recorded
    pseudonyms: Pseudonyms

    def group(self) -> Group:
        looked = [source.marked("a host that was looked at", None) for source in self._hosts]
        gpus = self._counting()
        products, memory = (
            [gpu.stated("product") for gpu in gpus],
            [gpu.stated("memory_bytes") for gpu in gpus],
        )
        why = "no GPU that counts has a known product" if looked else "no event says what it ran on"
        nothing = self.recorded.nothing(why, *looked)
        size, each = len(gpus), same("the memory of each GPU", memory)
        apart = "the GPUs have different memories" if memory else "no GPU counts, or its memory is not known"
        differ = self.recorded.nothing(apart, *looked)
        return Group(
            {
                "host_label": either(distinct("the hosts that were looked at", self._labels()), nothing),
                "product": either(distinct("the product of each GPU", products), nothing),
                "gpus": derive("GPUs that attempts were placed on", lambda *_: size, *looked)
                if looked
                else nothing,
                "memory_gib": differ if each is None or each.value is None else _gib(each),
                "topology": self._topology(),
            }
        )

    @cached_property
    def _hosts(self) -> list[Of[HostObserved]]:
        return self.recorded.about(HostObserved)

    def _labels(self) -> Iterator[Figure]:
        return (self._label(look) for look in self._hosts)

    def _label(self, look: Of[HostObserved]) -> Figure:
        return self.pseudonyms.host(look.source, self.recorded.kept_of(look))

    @cached_property
    def _looks(self) -> list[_Gpu]:
        """Every look at a GPU that an attempt was placed on; at any GPU, where none was."""
        placed, every = [], []
        for look in self._hosts:
            kept = self.recorded.kept_of(look)
            for at, gpu in enumerate(look.event.gpus):
                attempt = kept.subject.attempt if gpu.is_placed else None
                found = _Gpu((kept.ledger, gpu.position), look, at, attempt)
                every.append(found)
                placed += [found] if gpu.is_placed else []
        return placed or every

    def _counting(self) -> list[_Gpu]:
        """Return the newest look at each GPU that counts (rule 1), by host and position."""
        newest = {gpu.place: gpu for gpu in self._looks}
        return [newest[place] for place in sorted(newest)]

    def _topology(self) -> Figure:
        """Return how the attempts were placed, in words."""
        placed: dict[str, list[str]] = {}
        reasons = []
        for attempt in self.recorded.attempts:
            reasons.append(attempt.reason())
            if attempt.placement is not None and attempt.plan is not None:
                placement = self.pseudonyms.of("placement", attempt.plan[0].stated("placement"))
                gpus = self._of_attempt(attempt)
                reasons += [placement, *gpus]
                on = f" ({', '.join(str(gpu.value) for gpu in gpus)})" if gpus else ""
                places = placed.setdefault(attempt.candidate, [])
                places += [f"{placement.value}{on}"] if f"{placement.value}{on}" not in places else []
        if not placed:
            return self.recorded.nothing("no attempt has a placement", *reasons)
        return compose("which candidate ran on which placement", lambda *_: _words(placed), *reasons)

    def _of_attempt(self, attempt: Attempt) -> list[Figure]:
        """Return the GPUs that an attempt was placed on, by their pseudonyms; with their hosts, where several were."""
        found: dict[tuple[str, int], Figure] = {}
        for gpu in self._by_attempt.get(attempt.key, ()):
            if gpu.place not in found:
                named = self.pseudonyms.gpu(gpu.look.source, self.recorded.kept_of(gpu.look), gpu.at)
                found[gpu.place] = (
                    compose("a GPU and its host", _of_host, named, self._label(gpu.look))
                    if self._are_several
                    else named
                )
        return list(found.values())

    @cached_property
    def _by_attempt(self) -> dict[str, list[_Gpu]]:
        found: dict[str, list[_Gpu]] = {}
        for gpu in self._looks:
            if gpu.attempt is not None:
                found.setdefault(gpu.attempt, []).append(gpu)
        return found

    @cached_property
    def _are_several(self) -> bool:
        return len({self.recorded.kept_of(look).ledger for look in self._hosts}) > 1


def _of_host(gpu: str, host: str) -> str:
    return f"{gpu} of {host}"


def _words(placed: dict[str, list[str]]) -> str:
    said = "; ".join(f"{candidate} on {' and '.join(places)}" for candidate, places in placed.items())
    every = {place for places in placed.values() for place in places}
    is_swapped = len(every) > 1 and all(len(places) == len(every) for places in placed.values())
    return f"{counted(len(every), 'placement')}: {said}{'; each on every one' if is_swapped else ''}"


def _gib(memory: Figure) -> Figure:
    exact = derive("the memory of each GPU in GiB", lambda size: Fraction(size, _GIB), memory)
    return exact.places(0)
