"""How fast: one repetition of a load protocol. The rows are the evidence; figures are made from them."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from anvil.ledger.events.base import Event, NamedTexts, Sealed
from anvil.ledger.events.checks import Parameter
from anvil.ledger.public import Count, Label, Role


class LoadMeasured(Event):
    """One run of a cell was carried out. Artifacts: `rows` (public) and the attempt `record` (private)."""

    signed_by: ClassVar[frozenset[Role]] = frozenset({"collector"})
    type: Literal["load.measured/1"] = "load.measured/1"
    protocol: Label
    """Which protocol."""
    version: Count
    """Its version."""
    parser_version: Count
    """The version of the parser that made the rows from the raw bytes."""
    cell: Label
    """Which cell of it."""
    run: Count
    """Which repetition, from 1."""
    outcome: Literal["completed", "aborted", "void"]
    """Whether it went to its end; void when the clock stepped."""
    expected: Count
    """How many requests it plans."""
    completed: Count
    """How many succeeded."""
    failed: Count
    """How many did not."""
    concurrency: Count
    """How many are in flight at most."""
    cache_state: Literal["cold", "shared_within_run", "primed", "unknown"]
    """What was in the prefix cache."""
    resolution_ns: Count | None
    """The client's own resolution while it ran; null when it was not measured."""
    parameters: Annotated[tuple[Parameter, ...], Field(strict=False)]
    """With what it was carried out."""
    findings: Annotated[tuple[Label, ...], Field(strict=False)]
    """Impossible or suspicious results."""
    messages: Sealed[NamedTexts | None]
    """Errors' messages, whole, by request."""
