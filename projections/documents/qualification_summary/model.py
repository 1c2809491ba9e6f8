"""The shape of the document. Its JSON Schema is docs/schemas/sanitized-qualification-summary.v1.json."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from anvil.projections.recorded.observations import Observation

NAME = "sanitized-qualification-summary.v1"
"""What the document is called."""

SCHEMA = "anvil-serving.sanitized-qualification-summary/v1"

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
Count = Annotated[int, Field(ge=0)]
Measure = Annotated[int | Decimal, Field(ge=0)]
Fraction = Annotated[
    str, Field(pattern=r"^[0-9]+/[0-9]+$", description="How many passed out of how many were tried.")
]
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Hardware(_Shape):
    """What all of it ran on."""

    host_label: str | None = Field(description="What the host is called; never its name.")
    gpu: str | None = Field(description="The product.")
    gpu_count: Count | None
    vram_gib_per_gpu: Measure | None
    topology: str | None = Field(description="How the candidates were placed on the GPUs.")


class Runtime(_Shape):
    """The engine, by every source that tells what it is. They may disagree."""

    image: str | None = Field(description="The image by repository digest.")
    image_label_engine_revision: str | None
    internal_build_version_revision: str | None
    source_recipe_revision: str | None


class Candidate(_Shape):
    """A model revision, what the engine reported of it at start-up, and what became of it."""

    model: str
    revision: str | None
    cached_snapshot_bytes: Count | None
    startup_weight_memory_gib: Measure | None
    startup_kv_capacity_tokens: Count | None
    decision: tuple[str, ...] = Field(strict=False, description="The verdicts; empty before there is one.")


class ArtifactSafety(_Shape):
    """What an inspection of the model files found."""

    files: str | None
    tracked_executable_code: bool | None
    auto_map_or_remote_code_hook: bool | None
    pickle_or_pytorch_binary: bool | None
    safetensors_files_verified: Count | None
    safetensors_tensors_verified: Count | None
    headers_ranges_and_file_lengths_valid: bool | None
    local_sha256_matches_hugging_face_lfs: bool | None
    shard_sha256: tuple[Hex, ...] = Field(strict=False)


class Functional(_Shape):
    """Which checks a candidate passed, and on how many placements."""

    placements_passed: Count | None
    checks: tuple[str, ...] = Field(strict=False)
    reasoning_chars_with_thinking_disabled: Count | None


class Quality(_Shape):
    """The suites of a candidate by name, and how many requests failed."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, Fraction] = Field(init=False)

    failures: Count | None


class Measured(_Shape):
    """One candidate in one load cell: means of what the protocol says."""

    runs: Count | None
    ttft_p50_ms: Measure | None
    e2e_p50_ms: Measure | None
    effective_prefill_tok_s_p50: Measure | None
    decode_tok_s_p50: Measure | None
    aggregate_output_tok_s: Measure | None


class Difference(_Shape):
    """By how many percent one candidate's figures differ from the other's."""

    ttft: int | Decimal | None
    e2e: int | Decimal | None
    effective_prefill: int | Decimal | None
    decode: int | Decimal | None
    aggregate_output_throughput: int | Decimal | None


class Cell(_Shape):
    """One load cell: its protocol, the candidates by name, and differences by names that end in `_delta_percent`."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, Measured | Difference] = Field(init=False)

    protocol: str | None


class Longest(_Shape):
    """One candidate with the longest prompt that was sent."""

    status: str | None
    ttft_s: Measure | None
    effective_prefill_tok_s: Measure | None
    decode_tok_s: Measure | None


class NearLimit(_Shape):
    """The longest prompt, and the candidates by name."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")
    __pydantic_extra__: dict[Name, Longest] = Field(init=False)

    actual_prompt_tokens: Count | None


class SaidOfWhatWasTested(_Shape):
    """One thing that an imported file says."""

    topic: str
    name: str
    value: str | bool | int | Decimal | None


class ImportedFile(_Shape):
    """A file of another tool: what it says of what was tested, and what it does not say."""

    digest: str
    kind: str
    format: str
    said: tuple[SaidOfWhatWasTested, ...] = Field(strict=False)
    not_said: tuple[str, ...] = Field(strict=False)
    said_only_in_the_file: tuple[str, ...] = Field(
        strict=False, description="What stands in the file in words that are not published."
    )


class ImportedFigure(_Shape):
    """A figure of another tool beside the same made again from its rows."""

    called: str = Field(description="What the file calls it.")
    of: str | None = Field(description="Of which item or group; null for all.")
    metric: str | None = Field(description="The id of the metric of ours that is meant; null for none.")
    statistic: str | None = Field(description="By its name; null where nobody says.")
    unit: str
    n: Count | None = Field(description="Over how many values; null where nobody says.")
    stated: int | Decimal | None = Field(description="The number as the file spells it.")
    remade: int | Decimal | None = Field(description="The same from the rows, with six decimals.")
    agreement: Literal["same", "differs", "no_rows"] | None
    meaning: str | None = Field(
        description="What the tool means by the name, where no metric of ours is meant."
    )
    status: str = Field(description="How strong its evidence is.")


class ImportedParameter(_Shape):
    """With what it was carried out."""

    name: str
    value: str | bool | int | Decimal


class _ImportedResult(_Shape):
    """What a check, a suite and a load of another tool have in common."""

    file: str = Field(description="The digest of the file that it stands in.")
    position: str = Field(description="Where in the file.")
    tool: str
    called: str
    candidate: str | None
    attempt: str | None
    parameters: tuple[ImportedParameter, ...] = Field(strict=False)
    findings: tuple[str, ...] = Field(strict=False, description="What a reader of the figures must know.")
    figures_stated: Count = Field(description="How many figures the tool gives in all.")
    figures: tuple[ImportedFigure, ...] = Field(strict=False, description="The main ones.")


class ImportedCheck(_ImportedResult):
    """A check of another tool, with its own verdict."""

    check: str | None = Field(description="The check of ours that asks the same; null for none.")
    outcome: str
    failure: str | None
    expected: Count
    passed: Count
    observed: Count


class ImportedSuite(_ImportedResult):
    """A suite of another tool."""

    suite: str | None = Field(description="The suite of ours that asks the same; null for none.")
    required_rate: str | None = Field(description="As the file spells it.")
    began: str | None
    expected: Count
    passed: Count | None = Field(description="Null when nobody says what passed.")


class ImportedLoad(_ImportedResult):
    """One run of a load of another tool."""

    concurrency: Count | None
    request_rate: str | None = Field(description="Requests a second, as the file spells it.")
    target_tokens: Count | None
    run: str | None
    began: str | None
    expected: Count | None
    completed: Count
    failed: Count | None


class StandsInTheWay(_Shape):
    """One thing that is not the same, or not known, and what it is on both sides."""

    what: str
    control: str
    treatment: str


class ComparedMetric(_Shape):
    """One metric on both sides."""

    metric: str = Field(description="The id of its definition, or the tool's own name.")
    statistic: str
    unit: str
    control: int | Decimal | None
    control_runs: Count
    treatment: int | Decimal | None
    treatment_runs: Count
    delta_percent: int | Decimal | None = Field(description="Null where something stands in the way.")


class ImportedComparison(_Shape):
    """One load of two attempts, of which one at least was imported."""

    control: str
    treatment: str
    control_load: str
    treatment_load: str
    not_compared: tuple[StandsInTheWay, ...] = Field(
        strict=False, description="Why no difference is stated; empty when one is."
    )
    notes: tuple[str, ...] = Field(strict=False)
    metrics: tuple[ComparedMetric, ...] = Field(strict=False)


class ImportedEvidence(_Shape):
    """What other tools measured and wrote."""

    files: tuple[ImportedFile, ...] = Field(strict=False)
    checks: tuple[ImportedCheck, ...] = Field(strict=False)
    suites: tuple[ImportedSuite, ...] = Field(strict=False)
    loads: tuple[ImportedLoad, ...] = Field(strict=False)
    comparisons: tuple[ImportedComparison, ...] = Field(
        default=(), strict=False, description="Only there when attempts have like loads."
    )


class QualificationSummary(_Shape):
    """Candidates side by side under one common recipe. Load cells have names that begin with `capacity_`."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="allow", title="sanitized-qualification-summary.v1"
    )
    __pydantic_extra__: dict[Annotated[str, Field(pattern=r"^capacity_[a-z0-9._-]{1,55}$")], Cell] = Field(
        init=False
    )

    schema_: Literal["anvil-serving.sanitized-qualification-summary/v1"] = Field(alias="schema")
    observed_date: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] | None
    source_base_revision: str | None
    hardware: Hardware
    runtime: Runtime
    common_recipe: dict[Name, str | bool | int | Decimal | None] = Field(
        description="The settings that all candidates share, by name."
    )
    candidates: dict[Name, Candidate]
    artifact_safety: ArtifactSafety
    functional: dict[Name, Functional]
    bounded_quality: dict[Name, Quality]
    near_limit_context: NearLimit
    imported_evidence: ImportedEvidence | None = Field(
        default=None, description="Only there when files of other tools were imported."
    )
    retained_failures_and_caveats: tuple[str, ...] = Field(strict=False)
    observations: tuple[Observation, ...] = Field(
        (), strict=False, description="What people saw; the key is there when somebody said something."
    )
    restoration: dict[Name, str | bool | int | Decimal] = Field(
        description="Each gate that was checked after the campaign, and its outcome."
    )
