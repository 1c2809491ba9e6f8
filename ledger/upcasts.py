"""Upcasts: how facts of an older version are read as facts of the next one.

1. A published version of an event is never edited. A new shape is the next version, and one pure
   step here takes facts of the old shape to the new one.
2. The old shape stays as a class, and facts are checked against it before a step sees them: a step
   must not turn what never was valid into something that is.
3. A step sees facts only: no clock, no store, no sealed value. What the old shape did not say
   becomes null; a step never guesses.
4. Steps chain, so that an event of any age reaches today's class. Stored bytes never change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from anvil.ledger.errors import MalformedEvent
from anvil.ledger.public import Count, Digest, EntryHash, EvidenceStatus, Label, PublicText, SaltHex

Step = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Facts of one version in, facts of the next out."""


@dataclass(frozen=True)
class Upcast:
    """From one version to the next: the shape of the old facts, the next type, and the step."""

    old: type[BaseModel]
    to: str
    step: Step


class ObservationNotedOne(BaseModel):
    """Words alone: what a person saw was not yet told in parts."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    status: EvidenceStatus
    public_text: PublicText | None


class ArtifactDisclosedOne(BaseModel):
    """A digest alone: whether everybody may have the bytes as well was not said."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)

    target: EntryHash
    artifact: Label
    digest: Digest
    size: Count
    salt: SaltHex


def _without_claims(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {**facts, "claims": None}


def _of_a_digest(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {**facts, "extent": "digest", "reason": None, "exceptions": []}


UPCASTS: Mapping[str, Upcast] = {
    "observation.noted/1": Upcast(ObservationNotedOne, "observation.noted/2", _without_claims),
    "artifact.disclosed/1": Upcast(ArtifactDisclosedOne, "artifact.disclosed/2", _of_a_digest),
}
"""Event type of an older version to what leads from it to the next."""


def upcast(
    event_type: str, facts: Mapping[str, Any], steps: Mapping[str, Upcast] = UPCASTS
) -> tuple[str, dict[str, Any]]:
    """Return the newest type that steps lead to from `event_type`, and the facts in its shape.

    Raises:
        MalformedEvent: the facts do not fit the version that they claim.
    """
    current = dict(facts)
    while event_type in steps:
        upward = steps[event_type]
        try:
            upward.old.model_validate(current, strict=True)
        except ValidationError as error:
            raise MalformedEvent(
                f"{event_type}: {error.error_count()} facts do not fit this version"
            ) from error
        event_type, current = upward.to, upward.step(current)
    return event_type, current


def newest(event_type: str, steps: Mapping[str, Upcast] = UPCASTS) -> str:
    """Return the type that events of `event_type` are read as."""
    while event_type in steps:
        event_type = steps[event_type].to
    return event_type
