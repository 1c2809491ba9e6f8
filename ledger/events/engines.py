"""What an engine is: whether it answers, who it says it is, what it says of itself."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.public import (
    Count,
    DecimalText,
    Digest,
    ImageReference,
    Label,
    Revision,
    Role,
    Version,
    Word,
)

_COLLECTOR: frozenset[Role] = frozenset({"collector"})

IdentitySource = Literal[
    "image_digest",
    "image_label",
    "version_endpoint",
    "log_line",
    "models_endpoint",
    "package_version",
    "model_files",
    "chat_template",
    "props_endpoint",
    "router",
]
"""Who says what an engine is; `router` is what stands between, and answers for it."""

IdentitySubject = Literal[
    "engine_version", "engine_revision", "image", "model_revision", "served_name", "chat_template"
]
"""What about it."""

CapField = Literal["max_completion_tokens", "max_tokens", "neither"]
"""Which field of a request caps completion tokens."""

Reachability = Literal["reached", "unreachable", "timed_out", "not_attempted", "not_recorded"]


class HealthObserved(Event):
    """Whether the engine answered. Ready is one generated token, never `/health` alone.

    Artifacts `health_response` and `ready_response`, where there were any.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["health.observed/1"] = "health.observed/1"
    health: Reachability
    """What became of the health request."""
    http_status: Count | None
    """The status it answered with; null unless reached."""
    is_ready: bool
    """Whether it generated a token within the deadline."""
    ready_after_ns: Count | None
    """From the launch to the end of the first generated token; null unless ready."""
    cap_field: CapField | None
    """Which field caps completion tokens, found with a cap of 1; null when nothing was generated."""
    detail: Sealed[str | None]
    """The error's message, whole; null without one."""


class IdentityClaim(Facts):
    """What one source says."""

    source: IdentitySource
    """Who says it."""
    what: IdentitySubject
    """What it is about."""
    value: Version | Revision | Digest | ImageReference | Word | None
    """What it says; null when it is not public by type, and then sealed beside."""


class EngineIdentified(Event):
    """Who the engine is, by every source that tells it. Disagreements are kept, never settled.

    Artifacts hold what the sources returned.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["engine.identified/1"] = "engine.identified/1"
    engine: Word | None
    """Which engine it is, as far as its answers show; null when they do not."""
    claims: Annotated[tuple[IdentityClaim, ...], Field(strict=False)]
    """What each source says."""
    disagreements: Annotated[tuple[Label, ...], Field(strict=False)]
    """What the sources do not agree about."""
    served_name_matches: bool | None
    """Whether the name that the recipe asks for is served; null when no list was to be had."""
    accepts_any_model: bool | None
    """Whether a model name that cannot exist was answered; null when it was not tried."""
    sealed_claims: Sealed[NamedTexts | None]
    """What sources say that is not public by type: paths, build strings."""


def contradictions(one: EngineIdentified, other: EngineIdentified) -> tuple[str, ...]:
    """Return what two identifications cannot both say of one engine: `engine`, or a source and its subject.

    A source that says one thing here and another there contradicts itself. What only one of the two heard, or what is
    sealed and not at hand, contradicts nothing.
    """
    engines = {one.engine, other.engine} - {None}
    before, after = _said(one), _said(other)
    differ = [name for name, said in before.items() if name in after and said != after[name]]
    return (*(("engine",) if len(engines) > 1 else ()), *differ)


def _said(event: EngineIdentified) -> dict[str, frozenset[str]]:
    """Return what each source says about each thing, as far as all of it is at hand."""
    found: dict[str, set[str]] = {}
    hidden: set[str] = set()
    for claim in event.claims:
        name = f"{claim.source} {claim.what}"
        if claim.value is None:
            hidden.add(name)
        else:
            found.setdefault(name, set()).add(str(claim.value))
    if isinstance(event.sealed_claims, list):
        hidden.clear()
        for name, text in event.sealed_claims:
            found.setdefault(name, set()).add(text)
    return {name: frozenset(said) for name, said in found.items() if name not in hidden}


class ReportedFigure(Facts):
    """One figure that the engine printed or exposed about itself."""

    name: Literal[
        "weight_memory_gib",
        "weight_memory_bytes",
        "kv_capacity_tokens",
        "kv_capacity_bytes",
        "kv_memory_gib",
        "full_window_concurrency",
        "context_tokens",
        "max_sequences",
        "kv_cache_dtype",
        "model_dtype",
        "quantization",
        "attention_backend",
        "kv_scaling_factors_missing",
        "other_warning",
    ]
    """What it is."""
    number: Count | DecimalText | None
    """Its value as a number, a decimal exactly as it was printed; null when it is a word."""
    word: Word | None
    """Its value as a word; null when it is a number."""
    source: Literal["log", "metrics", "props"]
    """Where it stands."""
    line: Count | None
    """The line of the start-up log, from 1; null elsewhere."""


class EngineReported(Event):
    """What the engine says of itself at start-up: its words about itself, not a measurement.

    Artifact `startup-log` is the log as it was then; each figure names its line in it.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["engine.reported/1"] = "engine.reported/1"
    reader: Label
    """Which reader took the figures out: `vllm`, `sglang`, `llamacpp`."""
    reader_version: Count
    """Its version."""
    figures: Annotated[tuple[ReportedFigure, ...], Field(strict=False)]
    """The figures."""
    lines: Sealed[NamedTexts | None]
    """The lines themselves, by line number."""
