"""What was recorded of a campaign, by the names of the figures that the document's template prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from anvil.ledger.events import CaveatNoted
from anvil.projections.conclusions import Conclusions
from anvil.projections.figures import Figure, Group, Listing, derive, weakest
from anvil.projections.limits import Claim
from anvil.projections.recorded import gates, ladders, reports, runtime, settings, suites
from anvil.projections.recorded.campaign import Recorded
from anvil.projections.recorded.checks import Checks
from anvil.projections.recorded.hardware import hardware
from anvil.projections.recorded.loads import Loads, control_of
from anvil.projections.recorded.observations import Observations
from anvil.projections.recorded.summaries import REPORTED, differing, notes_on
from anvil.projections.recorded.weights import Inspections

_PARTS = {
    "functional": "the functional checks",
    "quality": "the repeated checks",
    "cells": "the load",
    "near_limit": "the prompt near the limit",
    "candidates": "what the engine reported",
}
"""The parts of the document that are observations of a candidate, and what they are called in words."""


@dataclass(frozen=True)
class Summary:
    """The candidates of one campaign side by side."""

    recorded: Recorded
    said: Conclusions

    @cached_property
    def group(self) -> Group:
        """Everything that the template can print."""
        recorded, nothing = self.recorded, self.recorded.nothing
        shared = settings.shared(recorded.attempts)
        return Group(
            {
                "date": recorded.day(),
                "source_revision": runtime.base_revision(recorded),
                "hardware": hardware(recorded),
                "runtime": runtime.runtime(recorded),
                "settings": recorded.listing(
                    "settings that all attempts share", list(settings.named(shared))
                ),
                "candidates": self._listed("candidates", self._candidates()),
                "weights": self._inspections.group(),
                "functional": self._listed("candidates with checks", (c.group() for c in self._checks)),
                "quality": self._listed("candidates with suites", self._quality()),
                "cells": recorded.listing("load cells", self._loads.capacity(control_of(self._verdicts))),
                "near_limit": self._loads.near_limit(),
                "caveats": self._plain(
                    "caveats that people and collectors noted", self.said.texts(CaveatNoted)
                ),
                "observations": Observations.of(recorded.evidence, recorded.campaign).listing(
                    nothing("what people observed")
                ),
                "gates": recorded.listing("restoration gates", gates.gates(recorded)),
            }
        )

    def claims(self) -> Iterator[Claim]:
        """Yield how strong each part is, by candidate."""
        fields = self.group.fields
        for number, candidate in enumerate(self.recorded.candidates, 1):
            for part, words in _PARTS.items():
                figures = [
                    figure
                    for figure in _observed(fields[part], candidate)
                    if figure.value is not None and figure.status != "declared"
                ]
                if figures:
                    yield Claim(number, part, weakest(figure.status for figure in figures), words)

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know of it first."""
        yield from notes_on(self.recorded)
        yield from differing(self.recorded)
        yield from self._loads.notes()
        yield from ladders.every(self.recorded, self._loads.by_attempt)
        yield from self._inspections.notes()
        if undecided := [name for name, verdicts in self._verdicts.items() if not verdicts]:
            yield f"No decision is recorded: {', '.join(undecided)}."

    # --- its parts ------------------------------------------------------------------------------------------

    @cached_property
    def _checks(self) -> tuple[Checks, ...]:
        made = (Checks.of(self.recorded, candidate) for candidate in self.recorded.candidates)
        return tuple(checks for checks in made if checks.results)

    @cached_property
    def _loads(self) -> Loads:
        return Loads.of(self.recorded)

    @cached_property
    def _inspections(self) -> Inspections:
        return Inspections.of(self.recorded)

    @cached_property
    def _verdicts(self) -> dict[str, list[Figure]]:
        elsewhere = self.recorded.elsewhere
        return {candidate: self.said.verdicts(candidate, elsewhere) for candidate in self.recorded.candidates}

    def _candidates(self) -> Iterator[Group]:
        for key, (planned, _) in self.recorded.plans.candidates.items():
            attempts = self.recorded.attempts_of(key)
            reported = {name: reports.reported(self.recorded, attempts, name) for name in REPORTED}
            verdicts = self._verdicts[key]
            yield Group(
                {
                    "key": planned.stated("key"),
                    "model": planned.stated("model"),
                    "revision": planned.stated("revision"),
                    "snapshot_bytes": self._inspections.stated(key, "bytes"),
                    **reported,
                    "verdicts": self._plain("the verdicts of the newest decision", verdicts),
                }
            )

    def _quality(self) -> Iterator[Group]:
        for candidate in self.recorded.candidates:
            found = suites.quality(self.recorded, candidate)
            if found is not None:
                yield found

    def _listed(self, rule: str, groups: Iterator[Group]) -> Listing:
        members = []
        for group in groups:
            key = group.fields["key"]
            if isinstance(key, Figure):
                members.append((derive(f"one of the {rule}", lambda value: value, key), group))
        return self.recorded.listing(rule, members)

    def _plain(self, rule: str, figures: list[Figure]) -> Listing:
        return self.recorded.listing(rule, [(figure, figure) for figure in figures])


def _observed(part: Figure | Group | Listing, candidate: str) -> Iterator[Figure]:
    """Yield the figures of a part that are about a candidate."""
    if isinstance(part, Listing):
        for _, member in part.members:
            if isinstance(member, Group):
                key = member.fields.get("key")
                if not isinstance(key, Figure):
                    yield from _observed(member, candidate)
                elif key.value == candidate:
                    yield from _all(member)
    elif isinstance(part, Group):
        for field in part.fields.values():
            if isinstance(field, Listing):
                yield from _observed(field, candidate)


def _all(part: Figure | Group | Listing) -> Iterator[Figure]:
    if isinstance(part, Figure):
        yield part
    elif isinstance(part, Group):
        for field in part.fields.values():
            yield from _all(field)
    else:
        for _, member in part.members:
            yield from _all(member)
