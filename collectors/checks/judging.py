"""Judging: from what came back to what became of it.

1. Every rule that an answer breaks is a `Fault`. The one named is the first in the closed order; the
   messages of all are kept, whole and sealed.
2. Some classes say that nothing was learned about the model (`INCOMPLETE`); all others are failures.
3. A check passed when everything that counts passed and nothing else went wrong. A request that does
   not count (a control, a calibration) can still make the check fail.
4. What an endpoint says of itself is put into the languages of public types, or left out with a
   warning; the bytes are in the artifacts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from anvil.collectors.checks.interface import Check, CheckContext
from anvil.collectors.failures import first
from anvil.collectors.interface import Answer
from anvil.ledger.events.base import NamedTexts
from anvil.ledger.events.checks import (
    CheckCompleted,
    FailureClass,
    Outcome,
    Parameter,
    ReasoningChannel,
    RequestOutcome,
)
from anvil.ledger.header import Subject
from anvil.ledger.public import MAX_INTEGER, SettingValue, Word

INCOMPLETE: frozenset[FailureClass] = frozenset(
    {
        "unsupported_by_endpoint",
        "prerequisite_failed",
        "sandbox_unavailable",
        "engine_exited",
        "connection_failed",
        "connection_stale",
        "tools_not_rendered",
    }
)
"""Classes that say nothing about the model: the check could not be carried out."""

LONGEST_MESSAGE = 1200
"""Bytes of a message, as JSON, that stand in the event; a longer one is an artifact."""

STOP = frozenset({"stop"})
_CUT = frozenset({"length", "max_output_tokens"})

_WORD: TypeAdapter[str] = TypeAdapter(Word)
_REPEATED = re.compile(r"(.{1,40}?)\1{15,}\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """One rule that an answer breaks."""

    failure: FailureClass
    message: str


@dataclass(frozen=True)
class Judgement:
    """What became of one request, or of a group that is judged together.

    Without faults it passed, unless `inconclusive` says that nothing follows from it.
    """

    name: str
    answer: Answer | None = None
    faults: tuple[Fault, ...] = ()
    counts: bool = True
    inconclusive: str = ""
    lenient_passed: bool | None = None
    warnings: tuple[str, ...] = ()
    reasoning_seen: tuple[ReasoningChannel, ...] = ()
    """In which channels, where a policy judges many answers; else the answer says so."""

    @property
    def failure(self) -> FailureClass | None:
        """The first class of its faults."""
        return first(fault.failure for fault in self.faults)

    @property
    def outcome(self) -> Outcome:
        """What became of it."""
        if self.inconclusive:
            return "inconclusive"
        if self.failure is None:
            return "passed"
        return "incomplete" if self.failure in INCOMPLETE else "failed"

    @property
    def message(self) -> str:
        """All that there is to say, one fault a line."""
        said = [self.inconclusive, *(fault.message for fault in self.faults)]
        return "\n".join(text for text in said if text)


# --- rules that hold for every answer ---------------------------------------------------------------


def common_faults(
    ctx: CheckContext[Any], answer: Answer, *, finish: frozenset[str] = STOP, cap: int | None = None
) -> list[Fault]:
    """Return what is wrong with an answer before anybody looks at what it says.

    `finish` are the finish reasons that the check allows, `cap` the completion tokens it sent.
    """
    if answer.failure is not None:
        return [Fault(answer.failure, answer.message or answer.failure)]
    faults = []
    served = ctx.under_test.endpoint.served_model
    if answer.model and answer.model != served:
        faults.append(Fault("identity_mismatch", f"asked {served!r}, answered by {answer.model!r}"))
    if answer.finish_reason in _CUT and answer.finish_reason not in finish:
        faults.append(_cut(answer, ctx.parameters.cap if cap is None else cap))
    elif answer.finish_reason not in finish:
        message = f"finish reason {answer.finish_reason!r}, expected {' or '.join(sorted(finish))}"
        faults.append(Fault("unexpected_finish_reason", message))
    return faults


def _cut(answer: Answer, cap: int) -> Fault:
    used = answer.usage.completion_tokens
    if used is not None and used < cap:
        return Fault("output_clamped", f"cut after {used} completion tokens, though {cap} were allowed")
    has_reasoned = bool(answer.reasoning_seen)
    if answer.visible.strip():
        if has_reasoned:
            message = f"the cap of {cap} was reached within the visible answer, after reasoning"
            return Fault("completion_budget_exhausted_after_visible_output", message)
        return Fault("visible_answer_budget_exhausted", f"the cap of {cap} was reached within the answer")
    if has_reasoned:
        return Fault("reasoning_budget_exhausted", f"the cap of {cap} was reached while reasoning")
    return Fault("visible_answer_budget_exhausted", f"the cap of {cap} was reached; nothing was visible")


def text_faults(ctx: CheckContext[Any], answer: Answer, *, finish: frozenset[str] = STOP) -> list[Fault]:
    """Return what is wrong with an answer that should have visible text."""
    faults = common_faults(ctx, answer, finish=finish)
    if answer.failure is not None:
        return faults
    if not answer.visible.strip():
        faults.append(Fault("visible_answer_missing", "no visible answer"))
    if unit := repeated(answer.visible):
        faults.append(Fault("repetition", f"the answer ends in {unit!r} over and over"))
    return faults


def repeated(text: str) -> str:
    """Return what a text ends in over and over, at least sixteen times, or an empty text."""
    found = _REPEATED.search(text[-2000:])
    return found.group(1) if found and found.group(1).strip() else ""


def odd_things(ctx: CheckContext[Any], answer: Answer) -> tuple[str, ...]:
    """Return warnings: what is odd about an answer and decides nothing."""
    found = [name if Subject.is_label(name) else "reader_warning" for name in answer.warnings]
    used, cap = answer.usage.completion_tokens, ctx.parameters.cap
    if used is not None and used > cap:
        found.append("cap_exceeded")
    if used == cap and answer.finish_reason == "stop":
        found.append("cap_reached_with_stop")
    if answer.failure is None and repeated(answer.visible):
        found.append("repetition")
    if answer.finish_reason is not None and word(answer.finish_reason) is None:
        found.append("finish_reason_is_no_word")
    return tuple(dict.fromkeys(found))


def refuses(answer: Answer) -> bool:
    """Say whether an endpoint answered that it cannot do such a thing at all.

    A status that means so, or any error whose text says so: one engine answers 500 with
    ``image input is not supported``.
    """
    status = answer.exchange.status
    if answer.failure != "http_error" or status is None:
        return False
    if status in (404, 405, 415, 501):
        return True
    said = (answer.message + answer.exchange.body[:4000].decode("utf-8", "replace")).lower()
    return any(phrase in said for phrase in _CANNOT)


_CANNOT = (
    "not supported", "unsupported", "does not support", "not a multimodal", "not implemented",
    "not multimodal", "unknown content type", "unrecognized content",
    "at most 0 image", "at most 0 video",
)  # fmt: skip


def unsupported(name: str, answer: Answer, **more: Any) -> Judgement:
    """Return the judgement of a request that the endpoint cannot serve."""
    fault = Fault("unsupported_by_endpoint", answer.message or f"HTTP {answer.exchange.status}")
    return Judgement(name, answer, (fault,), **more)


# --- from judgements to the event -------------------------------------------------------------------


def verdict(
    ctx: CheckContext[Any],
    check: Check[Any],
    judgements: Sequence[Judgement],
    findings: Mapping[str, SettingValue] | None = None,
) -> CheckCompleted:
    """Return the event that says what became of a check."""
    counted = [judgement for judgement in judgements if judgement.counts]
    wrong = [judgement for judgement in judgements if judgement.outcome != "passed"]
    return _event(
        ctx,
        check,
        outcome=_overall({judgement.outcome for judgement in wrong}),
        failure=first(judgement.failure for judgement in wrong),
        expected=len(counted),
        passed=sum(judgement.outcome == "passed" for judgement in counted),
        requests=tuple(request_outcome(ctx, judgement) for judgement in judgements),
        findings=tuple(Parameter(name=name, value=value) for name, value in (findings or {}).items()),
        messages=messages(ctx, {judgement.name: judgement.message for judgement in judgements}),
    )


def not_carried_out(
    ctx: CheckContext[Any],
    check: Check[Any],
    failure: FailureClass | None,
    message: str,
    *,
    expected: int = 1,
) -> CheckCompleted:
    """Return the event of a check that was selected and could not be carried out.

    `failure` is null only for an error of our own, for which there is no class.
    """
    return _event(
        ctx,
        check,
        outcome="incomplete",
        failure=failure,
        expected=expected,
        passed=0,
        requests=(),
        findings=(),
        messages=messages(ctx, {"check": message}),
    )


def _event(ctx: CheckContext[Any], check: Check[Any], **members: Any) -> CheckCompleted:
    return CheckCompleted(
        check=check.id,
        selected_as=ctx.selected_as,
        version=check.version,
        parameters=ctx.parameters.recorded(),
        visible_budget_tokens=ctx.parameters.visible_tokens,
        reasoning_budget_tokens=ctx.parameters.reasoning_tokens,
        prompts=tuple(ctx.prompts),
        **members,
    )


def messages(ctx: CheckContext[Any], texts: Mapping[str, str]) -> NamedTexts | None:
    """Return messages as pairs of name and text; a long one goes into the artifact `NAME.message`."""
    pairs = []
    for name, text in texts.items():
        if not text:
            continue
        # A lone surrogate, legal in JSON, has no UTF-8; it is spelled out rather than lost.
        raw = text.encode("utf-8", "backslashreplace")
        if len(json.dumps(raw.decode())) > LONGEST_MESSAGE:
            ctx.keep(f"{name}.message", raw, "text/plain")
            pairs.append([name, f"in the artifact {name}.message"])
        else:
            pairs.append([name, raw.decode()])
    return pairs or None


def _overall(outcomes: Iterable[Outcome]) -> Outcome:
    found = set(outcomes)
    order: tuple[Outcome, ...] = ("failed", "incomplete", "inconclusive")
    return next((outcome for outcome in order if outcome in found), "passed")


def request_outcome(ctx: CheckContext[Any], judgement: Judgement) -> RequestOutcome:
    """Return what became of a request as an event holds it."""
    answer = judgement.answer
    seen = answer.usage if answer else None
    warnings = judgement.warnings + (odd_things(ctx, answer) if answer else ())
    return RequestOutcome(
        name=judgement.name,
        outcome=judgement.outcome,
        failure=judgement.failure,
        http_status=count(answer.exchange.status) if answer else None,
        prompt_tokens=count(seen.prompt_tokens) if seen else None,
        completion_tokens=count(seen.completion_tokens) if seen else None,
        reasoning_tokens=count(seen.reasoning_tokens) if seen else None,
        cached_tokens=count(seen.cached_tokens) if seen else None,
        finish_reason=word(answer.finish_reason) if answer else None,
        reasoning_seen=answer.reasoning_seen if answer else judgement.reasoning_seen,
        warnings=tuple(dict.fromkeys(warnings)),
        latency_ns=count(answer.exchange.latency_ns) if answer and answer.exchange.status else None,
        lenient_passed=judgement.lenient_passed,
    )


def count(value: int | None) -> int | None:
    """Return a count that an event can hold, or null."""
    return value if value is not None and 0 <= value <= MAX_INTEGER else None


def word(text: str | None) -> str | None:
    """Return a word of a program's vocabulary, or null when the text is none."""
    try:
        return None if text is None else _WORD.validate_python(text)
    except ValidationError:
        return None
