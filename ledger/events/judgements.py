"""What a person concludes: caveats, gaps, waivers, decisions. The operator's key only."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event
from anvil.ledger.public import EntryHash, Label, PublicText, Role, Timestamp

_OPERATOR: frozenset[Role] = frozenset({"operator"})

_Cited = Annotated[tuple[EntryHash, ...], Field(strict=False)]

Verdict = Literal[
    "current",
    "rollback",
    "challenger",
    "qualified-control",
    "no-promotion",
    "rejected",
    "rejected_tested_recipes",
]


class CaveatNoted(Event):
    """Something that a reader must know when reading what the events named say."""

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR | {"collector"}
    type: Literal["caveat.noted/1"] = "caveat.noted/1"
    text: PublicText
    """The caveat, for every reader."""
    about: _Cited
    """The events that it is about; none: the whole campaign."""


class GapNoted(Event):
    """Something that was not tested, and why."""

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["gap.noted/1"] = "gap.noted/1"
    text: PublicText
    """The gap, for every reader."""


class WaiverGranted(Event):
    """A person lets a gate pass that did not, for a time."""

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["waiver.granted/1"] = "waiver.granted/1"
    gate: Label
    """Which check or gate."""
    granted_by: Label
    """The role of the person, not the name."""
    reason: PublicText
    """Why, for every reader."""
    expires: Timestamp
    """Until when."""
    about: _Cited
    """The results that it lets pass."""


class DecisionRecorded(Event):
    """What is to become of a candidate, as a person decides it; no run and no benchmark ever does.

    It rests on the events that it cites, and is stale when one of them is retracted, redacted, lost or
    superseded after it.
    """

    signed_by: ClassVar[frozenset[Role]] = _OPERATOR
    type: Literal["decision.recorded/1"] = "decision.recorded/1"
    verdicts: Annotated[tuple[Verdict, ...], Field(strict=False, min_length=1)]
    """The decision; several may hold at once."""
    sentence: PublicText
    """Why, for every reader."""
    rests_on: Annotated[tuple[EntryHash, ...], Field(strict=False, min_length=1)]
    """The events that it rests on; at least one."""
    supersedes: EntryHash | None
    """The decision that this one replaces; null for none."""
