"""What was tested again and again: suites of repeated checks, and how steady their results are.

1. An item is *stable* when the share of its repetitions that passed is at least the required rate.
2. A repetition in which nothing was learned counts for neither side: an item is not stable only where even
   these could not have helped it, and undetermined where they could decide.
3. A suite passed when every item of it is stable. The word is never said without the rate.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.events.checks import FailureClass, GeneratedPrompt, Outcome, Parameter, RequestOutcome
from anvil.ledger.public import Count, DecimalText, Digest, Label, Role

Modality = Literal["text", "image", "video", "mixed"]
"""What an item shows to the model; `mixed` is a picture and a clip."""


def stability(passed: int, incomplete: int, repetitions: int, required_rate: str) -> bool | None:
    """Return whether results are stable at a rate; null where that is undetermined (rules 1 and 2).

    Raises:
        ValueError: the rate is no decimal.
    """
    needed = Fraction(required_rate) * repetitions
    if repetitions and passed >= needed:
        return True
    return None if passed + incomplete >= needed else False


def spell_stability(is_stable: bool | None, required_rate: str | None) -> str:
    """Return the word with its rate: `stable at 1.0`."""
    word = {True: "stable", False: "not stable", None: "undetermined"}[is_stable]
    return word if required_rate is None else f"{word} at {required_rate}"


class SuiteItem(Facts):
    """One item of a suite over its repetitions."""

    item: Label
    """Which item."""
    modality: Modality
    """What it shows to the model."""
    repetitions: Count
    """How many there were to be."""
    passed: Count
    """In how many it passed."""
    incomplete: Count
    """In how many nothing was learned: they could not be carried out, or never began."""
    failure: FailureClass | None
    """The first class, in their order, of the repetitions that did not pass."""
    is_stable: bool | None
    """Whether the passed share meets the required rate; null when the incomplete ones could decide."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.passed + self.incomplete > self.repetitions:
            raise ValueError("more repetitions have a result than there were")
        return self


class SuiteCompleted(Event):
    """A selected suite of repeated checks was carried out, or could not be: every selected suite leaves one.

    Artifacts: the bodies of requests and responses, `NAME.request` and `NAME.response`, as in
    `check.completed`; what the suite is made of where it is a file: `suite`, or `corpus`; and `messages`, those
    that are too long to stand here, as a JSON object by request.
    """

    signed_by: ClassVar[frozenset[Role]] = frozenset({"collector"})
    type: Literal["suite.completed/1"] = "suite.completed/1"
    suite: Label
    """Which suite."""
    selected_as: Label
    """What the recipe calls it: the suite itself, or a name of its own when it selects one suite twice."""
    version: Count | None
    """Its version; null where only bytes are left of the run."""
    digest: Digest | None
    """The digest of the file that it is made of, an external suite or a corpus, as it is kept; null where
    there is none."""
    purpose: Literal["diagnostic", "ranking"] | None
    """What it may be used for; null where only bytes are left of the run."""
    outcome: Outcome
    """The verdict: passed when every item is stable."""
    failure: FailureClass | None
    """Why it did not pass: the first class, in their order, of the items that are not stable."""
    required_rate: DecimalText | None
    """The share of repetitions in which an item must pass to be called stable, above 0 and at most 1; null
    where only bytes are left of the run."""
    expected: Count
    """How many repetitions of items there were to be, all together."""
    passed: Count
    """How many of them passed."""
    items: Annotated[tuple[SuiteItem, ...], Field(strict=False)]
    """Each item."""
    requests: Annotated[tuple[RequestOutcome, ...], Field(strict=False)]
    """Each request: `ITEM.REPETITION`, and after another dot which turn of it, where there are several."""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """With what it was carried out."""
    visible_budget_tokens: Count
    """How many tokens were allowed for each visible answer."""
    reasoning_budget_tokens: Count
    """How many more were allowed for reasoning."""
    prompts: Annotated[tuple[GeneratedPrompt, ...], Field(strict=False)]
    """The prompts that were generated."""
    messages: Sealed[NamedTexts | None]
    """Errors' messages, whole, by request."""

    @property
    def is_stable(self) -> bool | None:
        """Whether all items are stable; null when none is known not to be and one is undetermined."""
        found = [item.is_stable for item in self.items]
        return False if False in found else True if found and None not in found else None

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.expected != sum(item.repetitions for item in self.items):
            raise ValueError("the repetitions of the items are not as many as were expected")
        if self.passed != sum(item.passed for item in self.items):
            raise ValueError("as many repetitions passed as the items say, no more and no fewer")
        if self.required_rate is None:
            if self.items:
                raise ValueError("items are judged by a required rate")
        elif not 0 < Fraction(self.required_rate) <= 1:
            raise ValueError("the required rate is above 0 and at most 1")
        for item in self.items:
            rate = self.required_rate or "1"
            if item.is_stable is not stability(item.passed, item.incomplete, item.repetitions, rate):
                raise ValueError(f"item {item.item!r} is not what its counts say of its stability")
        if self.outcome == "passed" and (self.failure is not None or self.is_stable is not True):
            raise ValueError("a suite passes only when every item is stable and nothing failed")
        return self
