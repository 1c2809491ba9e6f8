"""The statements of one document as they are collected, and the patterns that several documents share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

from anvil.collectors.importers.interface import ImportRefused, Said
from anvil.collectors.importers.reading import NUMBER, Member, Part, stated
from anvil.ledger import canonical
from anvil.ledger.errors import MalformedEvent
from anvil.ledger.events import StatementImported, build
from anvil.ledger.events.imports import StatedValue, Topic
from anvil.ledger.public import EvidenceStatus

MAX_STATEMENT = 40_000
"""Bytes in a statement at most: it stands in the header, and an entry has at most 65,535 bytes with it in base64."""

DATE = Member(
    named="date",
    pattern=r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])",
    words="a day like 2026-11-30",
)
COUNT = Member(NUMBER, pattern=r"0|[1-9][0-9]*", words="a whole number from 0")
MEASURE = Member(NUMBER, pattern=r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", words="a number from 0")
FRACTION = Member(pattern=r"[0-9]{1,9}/[0-9]{1,9}", words="a count like 3/4")
DIGEST = Member(pattern=r"[0-9a-f]{64}", words="64 lower-case hex digits")
STATUS = Member(
    pattern="|".join(get_args(EvidenceStatus)), words=f"one of {', '.join(get_args(EvidenceStatus))}"
)


@dataclass
class Sayings:
    """What a document says, in order."""

    source: str
    """The digest of the file."""
    said: list[Said] = field(default_factory=list)

    def add(
        self,
        topic: Topic,
        part: Part | str,
        values: Sequence[StatedValue],
        *,
        name: str | None = None,
        within: str | None = None,
        candidate: str | None = None,
        attempt: str | None = None,
        claimed_status: str | None = None,
    ) -> None:
        """Add a statement. Nothing is added where there are no values.

        Raises:
            ImportRefused: it is not what a statement can hold.
        """
        place = part if isinstance(part, str) else part.place
        fields = {
            "source": self.source,
            "nature": "published-document",
            "position": place,
            "topic": topic,
            "name": name,
            "within": within,
            "claimed_status": claimed_status,
            "values": tuple(values),
        }
        if not values:
            return
        try:
            event = build(StatementImported, fields)
        except MalformedEvent as error:
            raise ImportRefused(f"{place}: {error}") from error
        size = len(canonical.encode(event.facts()))
        if size > MAX_STATEMENT:
            raise ImportRefused(f"{place}: the statement has {size} bytes, one event at most {MAX_STATEMENT}")
        self.said.append(Said(event, candidate, attempt))

    def each(self, topic: Topic, part: Part, of: str, member: Member, /, **more: str) -> None:
        """Add one statement for each item of a list of scalars.

        Raises:
            ImportRefused: an item is not what it must be.
        """
        for place, item in part.items(of):
            self.add(topic, place, [stated(member.named or topic, item, member, place)], **more)
