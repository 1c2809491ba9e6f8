"""The shape of the document. Its JSON Schema is docs/schemas/candidate-failure.v1.json."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from anvil.ledger.public import EvidenceStatus

NAME = "candidate-failure.v1"
"""What the document is called."""

SCHEMA = "anvil-serving.candidate-failure.v1"

Count = Annotated[
    str, Field(pattern=r"^[0-9]+/[0-9]+(;.*)?$", description="Checks that passed out of those carried out.")
]


class Attempt(BaseModel):
    """One launch of the candidate."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    engine: str | None = Field(description="Which engine, and its version as far as it is known.")
    configuration: str | None = Field(description="The settings, by name; null when none are recorded.")
    health: int | None = Field(description="The status of the health request; null when there was none.")
    preflight_default: Count | None = Field(
        default=None, description="Checks as the server answers by itself; absent when none were carried out."
    )
    preflight_no_thinking: Count | None = Field(
        default=None, description="Checks with thinking disabled; absent when none were carried out."
    )
    evidence_status: EvidenceStatus = Field(
        description="The weakest evidence among health, checks and failure."
    )
    failure: str | None = Field(description="What went wrong; null when nothing did.")


class CandidateFailure(BaseModel):
    """Why a candidate was not taken: every attempt, and how strong the evidence of each is."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", title="candidate-failure.v1")

    schema_: Literal["anvil-serving.candidate-failure.v1"] = Field(alias="schema")
    date: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")] = Field(
        description="The newest day of what was recorded of the attempts, by the recorder's clock."
    )
    candidate: str = Field(description="The model repository.")
    revision: str | None = Field(description="Its revision; null where the weights have none.")
    hardware: str | None = Field(description="The GPUs; null when nothing is recorded of them.")
    status: str | None = Field(description="The decision; null before there is one.")
    evidence_limit: str = Field(description="What the statements rest on, and what is missing.")
    attempts: tuple[Attempt, ...] = Field(strict=False)
    decision: str | None = Field(description="The decision's sentence; null before there is one.")
