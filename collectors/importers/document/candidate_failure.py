"""`anvil-serving.candidate-failure.v1`: one candidate, and every attempt to serve it."""

from __future__ import annotations

import re
from dataclasses import replace

from anvil.collectors.importers.document.sayings import COUNT, DATE, FRACTION, STATUS, Sayings
from anvil.collectors.importers.interface import ImportRefused
from anvil.collectors.importers.reading import NULL, NUMBER, TEXT, Member, Part
from anvil.ledger.events.imports import IdentityField

SCHEMA = "anvil-serving.candidate-failure.v1"
NOT_SAID: tuple[IdentityField, ...] = ("image", "recipe")

_MODEL = Member(
    named="model",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}",
    words="a model like organisation/model",
)
_REVISION = Member(TEXT | NULL, pattern="[0-9a-f]{40}", words="40 lower-case hex digits")
_COUNTED = Member(
    is_optional=True,
    pattern=rf"{FRACTION.pattern}(?:;.*)?",
    words="a count like 3/4, and more after a semicolon",
)
_ATTEMPT = {
    "engine": Member(TEXT | NULL),
    "configuration": Member(TEXT | NULL),
    "health": replace(COUNT, kind=NUMBER | NULL),
    "preflight_default": _COUNTED,
    "preflight_no_thinking": _COUNTED,
    "failure": Member(TEXT | NULL),
}


def take_apart(part: Part, sayings: Sayings) -> None:
    """Add what a document of this schema says.

    Raises:
        ImportRefused: something in it is not what it must be.
    """
    sayings.add("document", part, part.values({"date": DATE}))
    model = part.value("candidate", _MODEL)
    revision = part.value("revision", _REVISION)
    identity = [value for value in (model, revision) if value is not None]
    candidate = _label(str(part.members["candidate"]))
    sayings.add("candidate", part, identity, candidate=candidate)
    sayings.add("hardware", part, part.values({"hardware": Member(TEXT | NULL)}))
    decision = {"status": Member(TEXT | NULL, "verdicts"), "decision": Member(TEXT | NULL, "sentence")}
    sayings.add("decision", part, part.values(decision), candidate=candidate)
    sayings.add("limit", part, part.values({"evidence_limit": Member(named="text")}), candidate=candidate)
    attempts = part.items("attempts")
    if not attempts:
        raise ImportRefused(f"{part.place}.attempts: expected at least one attempt, found none")
    for number, (place, item) in enumerate(attempts, 1):
        attempt = Part.of(item, place)
        values = attempt.values(_ATTEMPT)
        claimed = attempt.value("evidence_status", STATUS)
        attempt.done()
        sayings.add(
            "attempt",
            attempt,
            values,
            candidate=candidate,
            attempt=f"attempt-{number}",
            claimed_status=None if claimed is None else claimed.text,
        )
    part.done()


def _label(model: str) -> str:
    """Return a name for a candidate whose document gives it none: that of the model, without its owner."""
    name = re.sub(r"[^a-z0-9._-]", "-", model.rpartition("/")[2].lower())
    return name[:64]
