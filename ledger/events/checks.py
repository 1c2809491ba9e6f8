"""What was tested, what came back, and what became of it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.public import Count, Digest, Label, Role, SettingValue, Word

_COLLECTOR: frozenset[Role] = frozenset({"collector"})

Outcome = Literal["passed", "failed", "incomplete", "inconclusive"]

FailureClass = Literal[
    "unsupported_by_endpoint",
    "prerequisite_failed",
    "sandbox_unavailable",
    "engine_exited",
    "connection_failed",
    "connection_stale",
    "connection_reset",
    "timeout",
    "redirected",
    "http_error",
    "body_too_large",
    "malformed_body",
    "malformed_stream",
    "error_in_stream",
    "truncated_stream",
    "identity_mismatch",
    "prompt_floor_missed",
    "output_clamped",
    "reasoning_budget_exhausted",
    "completion_budget_exhausted_after_visible_output",
    "visible_answer_budget_exhausted",
    "unexpected_finish_reason",
    "visible_answer_missing",
    "reasoning_leaked",
    "tools_not_rendered",
    "no_call",
    "several_calls",
    "wrong_tool",
    "invalid_arguments",
    "wrong_arguments",
    "protocol_debris",
    "fenced",
    "prose_around",
    "extra_keys",
    "wrong_value",
    "repetition",
    "deterministic_check_failed",
]
"""Why an attempt did not pass: of all that apply, the first in this order."""

ReasoningChannel = Literal[
    "reasoning",
    "reasoning_content",
    "responses_item",
    "usage_reasoning_tokens",
    "details_reasoning_tokens",
    "tags",
]
"""Where reasoning was seen."""


class RequestOutcome(Facts):
    """What became of one request, or of a group that is judged together."""

    name: Label
    """Which request: `r1`, `depth_50`, `enabled`."""
    outcome: Outcome
    """What became of it."""
    failure: FailureClass | None
    """Why it did not pass; null exactly when it passed or was judged by a rule that names no class."""
    http_status: Count | None
    """The status; null without a response."""
    prompt_tokens: Count | None
    """As the endpoint reported; null when it did not."""
    completion_tokens: Count | None
    """As the endpoint reported; null when it did not."""
    reasoning_tokens: Count | None
    """As the endpoint reported; null when it did not."""
    cached_tokens: Count | None
    """As the endpoint reported; null when it did not."""
    finish_reason: Word | None
    """As the endpoint reported; null when it did not."""
    reasoning_seen: Annotated[tuple[ReasoningChannel, ...], Field(strict=False)]
    """In which channels reasoning was seen."""
    warnings: Annotated[tuple[Label, ...], Field(strict=False)]
    """What was odd and did not decide: `done_missing`, `usage_total_differs`, …"""
    latency_ns: Count | None
    """From before the request was written to the end of the response; null without a response."""
    lenient_passed: bool | None
    """What a lenient reading would have said; null where there is none."""


class Parameter(Facts):
    """A parameter of the check."""

    name: Label
    """Its name."""
    value: SettingValue
    """Its value."""


class GeneratedPrompt(Facts):
    """How a generated prompt can be made again, byte for byte."""

    generator: Label
    """Which generator: `filler`."""
    version: Count
    """Its version."""
    seed: Count
    """Its seed."""
    digest: Digest
    """The digest of what it made."""


class CheckCompleted(Event):
    """A selected check was carried out, or could not be: every selected check leaves one.

    Artifacts: the bodies of requests and responses, `NAME.request` and `NAME.response`, whole, kept
    before anything was judged.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["check.completed/1"] = "check.completed/1"
    check: Label
    """Which check."""
    selected_as: Label
    """What the recipe calls it: the check itself, or a name of its own when it selects one check twice."""
    version: Count
    """Its version."""
    outcome: Outcome
    """The verdict over all its requests."""
    failure: FailureClass | None
    """Why it did not pass: the first class, in their order, of those of its requests."""
    expected: Count
    """How many requests were to pass."""
    passed: Count
    """How many passed."""
    requests: Annotated[tuple[RequestOutcome, ...], Field(strict=False)]
    """Each of them."""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """With what it was carried out."""
    findings: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """Facts that it found and that are no verdict: `accepts_any_model`, …"""
    visible_budget_tokens: Count
    """How many tokens were allowed for the visible answer."""
    reasoning_budget_tokens: Count
    """How many more were allowed for reasoning."""
    prompts: Annotated[tuple[GeneratedPrompt, ...], Field(strict=False)]
    """The prompts that were generated."""
    messages: Sealed[NamedTexts | None]
    """Errors' messages, whole, by request."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.passed > self.expected:
            raise ValueError("more passed than were expected")
        if (self.outcome == "passed") != (self.failure is None and self.passed == self.expected):
            raise ValueError("a check passed exactly when all that was expected passed and nothing failed")
        return self
