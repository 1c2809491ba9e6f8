"""The shape of the document. Its JSON Schema is docs/schemas/qwen38-27b-qualification-summary.v1.json."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from anvil.projections.recorded.observations import Observation

NAME = "qwen38-27b-qualification-summary.v1"
"""What the document is called."""

SCHEMA = "anvil-serving.qwen38-27b-qualification-summary/v1"

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Count = Annotated[int, Field(ge=0)]
Measure = Annotated[int | Decimal, Field(ge=0)]
Fraction = Annotated[
    str, Field(pattern=r"^[0-9]+/[0-9]+$", description="How many passed out of how many were tried.")
]
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Setting = str | bool | int | Decimal | None


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Hardware(_Shape):
    """What all of it ran on."""

    product: str | None
    cards: Count | None
    vram_gb_each: Measure | None
    topology: str | None = Field(description="How the lanes were placed on the cards.")


class Runtime(_Shape):
    """The engine."""

    image: str | None = Field(description="The image by repository digest.")
    engine_revision: str | None
    cuda: str | None


class Checkpoint(_Shape):
    """A model revision and its weights."""

    repo: str
    revision: str | None
    safetensors_files: Count | None
    safetensors_bytes: Count | None


class Checkpoints(_Shape):
    """The checkpoints by name, and what the inspection of their files found."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, Checkpoint] = Field(init=False)

    artifact_gate: str | None


class Shared(_Shape):
    """The settings that all lanes share, by name, and what the control of thinking did."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, Setting] = Field(init=False)

    thinking_disabled_control: str | None
    adaptive_reasoning_efforts_passed: tuple[str, ...] = Field(strict=False)


class Rung(_Shape):
    """One size of a context ladder."""

    actual_prompt_tokens: Count | None
    ttft_s: Measure | None
    status: str | None


class Multimodal(_Shape):
    """A multimodal corpus, and what passed of it by modality."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, Fraction] = Field(init=False)

    corpus_sha256: Hex | None
    attempts: Count | None
    passed: Count | None


class Lane(_Shape):
    """One lane: its settings by name, its load cells by names that begin with `capacity_`, and what was tested."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, dict[Name, Measure | None] | Setting] = Field(init=False)

    functional_checks: str | None = None
    repeated_quality: str | None = None
    context: tuple[Rung, ...] = Field(strict=False)
    multimodal: Multimodal | None = None
    engine_kv_tokens: Count | None = None
    reported_full_window_concurrency: Measure | None = None
    caveat: str | None = None
    warning: str | None = None
    retained_failure: str | None = None


class Baseline(_Shape):
    """What all lanes share, and the lanes by name."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, Lane] = Field(init=False)

    shared: Shared


class Experiment(_Shape):
    """One change to one setting. Its figures and load cells stand by name."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, dict[Name, Measure | None] | Measure | None] = Field(init=False)

    experiment: str | None = Field(None, description="Its key, where a recipe declares it.")
    control: str | None = Field(None, description="The attempt that it starts from, likewise.")
    only_change: str
    workload: str | None = None
    functional_checks: str | None = None
    repeated_quality: str | None = None
    caveat: str | None = None
    warning: str | None = None
    retained_failure: str | None = None
    decision: str | None = None


class LanesSummary(_Shape):
    """Lanes of several checkpoints under one engine, and experiments on their settings."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", title="qwen38-27b-qualification-summary.v1"
    )

    schema_: Literal["anvil-serving.qwen38-27b-qualification-summary/v1"] = Field(alias="schema")
    observed_date: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    decision: str | None = Field(description="The verdicts; null before there is one.")
    hardware: Hardware
    runtime: Runtime
    checkpoints: Checkpoints
    baseline: Baseline
    setting_experiments: dict[Name, Experiment]
    gaps: tuple[str, ...] = Field(strict=False, description="What was not tested.")
    observations: tuple[Observation, ...] = Field(
        (), strict=False, description="What people saw; the key is there when somebody said something."
    )
    private_artifact_digests: dict[Name, Hex] = Field(
        description="Files that were kept in private, by SHA-256."
    )
