"""Who judges what a recipe selects: everything that this anvil can carry out."""

from __future__ import annotations

from collections.abc import Sequence

from anvil.collectors.checks import CHECKS, complaints_of
from anvil.collectors.checks.parameters import parse
from anvil.collectors.checks.prerequisites import Lack, Planned, lacks
from anvil.collectors.protocols import complaints_of_pair, complaints_of_protocol
from anvil.collectors.recipes import Attempt, Judges
from anvil.collectors.recipes.parts import SelectedCheck
from anvil.collectors.suites import complaints_of_suite

JUDGES = Judges(complaints_of, complaints_of_protocol, complaints_of_suite, complaints_of_pair)
"""All of them; checks, protocols and suites know nothing of recipes, and recipes nothing of them."""


def foreseen(attempt: Attempt, checks: Sequence[SelectedCheck]) -> tuple[Lack, ...]:
    """Return what these checks of an attempt lack, so far as it shows before a run."""
    planned = [
        Planned(check.name, check.id, parse(CHECKS[check.id].parameters, check.id, check.parameters))
        for check in checks
    ]
    window = window_of(attempt)
    return tuple(lacks(planned, has_control=attempt.thinking != "none", window=window))


def window_of(attempt: Attempt) -> int | None:
    """Return how many tokens prompt and answer may have together, where the recipe says so."""
    tokens = attempt.settings.get("context_tokens")
    return tokens if isinstance(tokens, int) and tokens > 1 else None
