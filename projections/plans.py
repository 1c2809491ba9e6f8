"""What recipes planned: the candidates and attempts of a campaign, each as its newest recipe declares it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from anvil.ledger.events import RecipeDeclared
from anvil.ledger.events.recipes import DeclaredAttempt, DeclaredCandidate, DeclaredExperiment
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Figure, Source
from anvil.projections.record import Campaign, Launch


@dataclass(frozen=True)
class Planned:
    """One thing that a recipe declares: the recipe's event, and where in it."""

    source: Source
    path: tuple[str | int, ...]

    def stated(self, *path: str | int) -> Figure:
        """Return a figure of it: `declared`, for it is a choice."""
        return self.source.stated(*self.path, *path)


@dataclass(frozen=True)
class Plans:
    """The recipes of a campaign that stand, in order."""

    recipes: tuple[Source, ...]

    @classmethod
    def of(cls, evidence: Evidence, campaign: Campaign) -> Plans:
        """Return the plans of a campaign."""
        return cls(evidence.sources(campaign.recipes))

    @cached_property
    def candidates(self) -> dict[str, tuple[Planned, DeclaredCandidate]]:
        """The candidates by key, in the order in which they were declared first."""
        return {
            one.key: (Planned(source, ("candidates", at)), one)
            for source, event in self._events()
            for at, one in enumerate(event.candidates)
        }

    @cached_property
    def attempts(self) -> dict[str, tuple[Planned, DeclaredAttempt]]:
        """The attempts by key, in the order in which they were declared first."""
        return {
            one.key: (Planned(source, ("attempts", at)), one)
            for source, event in self._events()
            for at, one in enumerate(event.attempts)
        }

    @cached_property
    def experiments(self) -> dict[str, tuple[Planned, DeclaredExperiment]]:
        """The experiments by key, as the newest recipe that has the key declares them."""
        return {
            one.key: (Planned(source, ("experiments", at)), one)
            for source, event in self._events()
            for at, one in enumerate(event.experiments)
        }

    def candidate_of(self, launch: Launch) -> str | None:
        """Return which candidate a launch is of: as its events say, else as its attempt was planned."""
        if launch.candidate is not None or launch.attempt not in self.attempts:
            return launch.candidate
        return self.attempts[launch.attempt][1].candidate

    def _events(self) -> Iterator[tuple[Source, RecipeDeclared]]:
        for source in self.recipes:
            if isinstance(source.event, RecipeDeclared):
                yield source, source.event
