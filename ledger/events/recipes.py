"""What was planned: the recipe of a run."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from anvil.ledger.events.base import Event, Facts, NamedTexts, Sealed
from anvil.ledger.events.load import ProtocolKind
from anvil.ledger.public import (
    ChangeName,
    Count,
    Digest,
    ImageReference,
    Label,
    ModelId,
    Revision,
    Role,
    SettingValue,
    StreamId,
    Word,
)

_COLLECTOR: frozenset[Role] = frozenset({"collector"})


class Setting(Facts):
    """One named setting of an engine, as the recipe declares it."""

    name: Label
    """The setting's name: `context_tokens`, `kv_cache_dtype`, …"""
    value: SettingValue
    """What it is set to."""


class DeclaredCandidate(Facts):
    """A model revision under test."""

    key: Label
    """What the recipe calls it."""
    model: ModelId
    """The model repository."""
    revision: Revision | None
    """The revision; null where the weights have none (a single file from elsewhere)."""
    quantization: Word | None
    """The quantization as the recipe declares it; never read from a name."""


class DeclaredCell(Facts):
    """One cell of a protocol."""

    cell: Label
    """What it is called: `c1`."""
    runs: Count
    """How many measured runs it has."""
    requests: Count
    """How many requests each run has."""


class DeclaredProtocol(Facts):
    """A load protocol that the recipe selects."""

    protocol: Label
    """What the recipe calls it."""
    kind: ProtocolKind
    """What it is for."""
    cells: Annotated[tuple[DeclaredCell, ...], Field(strict=False)]
    """Its cells, in order."""


class DeclaredAttempt(Facts):
    """One launch that the recipe plans."""

    key: Label
    """What the recipe calls it."""
    candidate: Label
    """Which candidate it launches."""
    placement: Label | None
    """Which GPU placement of the site it runs on; null for none."""
    launcher: Literal["docker", "process", "attach"]
    """How it is started."""
    engine: Word
    """Which engine it is expected to be."""
    image: ImageReference | None
    """The image by repository digest; null when there is none."""
    image_id: Digest | None
    """The image by its local id; null when it is given by repository digest, or there is none."""
    recipe_revision: Revision | None
    """The revision of the published recipe that its settings follow, as the recipe says; null when it says none."""
    settings: Annotated[tuple[Setting, ...], Field(strict=False)]
    """The settings that the recipe states."""
    checks: Annotated[tuple[Label, ...], Field(strict=False)]
    """The checks that are selected, in order. What is not listed is absent, not missing."""
    suites: Annotated[tuple[Label, ...], Field(strict=False)]
    """The suites that are selected, in order, likewise."""
    protocols: Annotated[tuple[DeclaredProtocol, ...], Field(strict=False)]
    """The load protocols that are selected, in order, likewise."""


class DeclaredExperiment(Facts):
    """Two attempts, or two protocols of one attempt, that are planned to differ in one change."""

    key: Label
    """What the recipe calls it."""
    control: Label | None
    """The attempt it starts from; null where two protocols of this attempt are compared."""
    attempt: Label | None
    """The attempt with the change; null likewise."""
    control_protocol: Label | None
    """The protocol it starts from; null where two attempts are compared."""
    protocol: Label | None
    """The protocol with the change; null likewise."""
    only_change: Annotated[tuple[ChangeName, ...], Field(strict=False, min_length=1)]
    """What differs, by name; nothing else does."""
    protocols: Annotated[tuple[Label, ...], Field(strict=False)]
    """What is measured on both attempts; empty where two protocols are compared."""

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        attempts = [self.control is None, self.attempt is None]
        protocols = [self.control_protocol is None, self.protocol is None]
        if len({*attempts}) > 1 or len({*protocols}) > 1 or attempts[0] == protocols[0]:
            raise ValueError("an experiment has two attempts or two protocols")
        return self


class RecipeDeclared(Event):
    """A run is about to follow this recipe. The whole file is the artifact `recipe`.

    The files of external suites are `suite-1`, `suite-2`, …, in the order of the names that the recipe gives them.
    """

    signed_by: ClassVar[frozenset[Role]] = _COLLECTOR
    type: Literal["recipe.declared/1"] = "recipe.declared/1"
    recipe: Label
    """The recipe's name."""
    digest: Digest
    """The digest of the file, without anything of the site."""
    base_revision: Revision | None
    """The revision of the sources that the recipe builds on, as the recipe says; null when it says none.

    It is declared, and nobody looked whether the file is what stands there: what the file is, its digest says.
    """
    candidates: Annotated[tuple[DeclaredCandidate, ...], Field(strict=False)]
    """The candidates."""
    attempts: Annotated[tuple[DeclaredAttempt, ...], Field(strict=False)]
    """The attempts that this run selected."""
    experiments: Annotated[tuple[DeclaredExperiment, ...], Field(strict=False)]
    """The experiments that these attempts are part of."""
    continues: StreamId | None
    """The stream of the run that this one continues: what is finished there is not selected again. Or null."""
    deadline_ready_ns: Count
    """How long an engine has until its first token."""
    argv: Sealed[NamedTexts | None]
    """For each attempt its key and then its resolved argv, one element each, withheld values marked."""
