"""What a file of evidence says about what was tested: as far as a public type holds it, and what is missing.

1. A word of the file is taken into a statement only if a narrow type holds it: a model as `org/model`, an
   image by its digest, a name. Anything else stays in the file and is said to be withheld.
2. What an endpoint calls its model is a name that somebody chose. It does not say which model it is.
3. What is neither said nor withheld is missing, and listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from anvil.collectors.importers.fields import public
from anvil.collectors.importers.interface import Said
from anvil.ledger.events import StatementImported
from anvil.ledger.events.imports import IdentityField, StatedValue, Topic
from anvil.ledger.public import Digest, ImageReference, Label, ModelId, ProductName, Revision, Timestamp, Word
from anvil.ledger.public import Version as PublicVersion

_TOPICS: Mapping[IdentityField, Topic] = {
    "date": "document",
    "hardware": "hardware",
    "engine": "runtime",
    "image": "runtime",
    "model": "candidate",
    "revision": "candidate",
    "recipe": "setting",
}
_KINDS: Mapping[IdentityField, tuple[Any, ...]] = {
    "date": (Timestamp,),
    "hardware": (Label, ProductName),
    "engine": (Label, Word, PublicVersion),
    "image": (ImageReference, Digest),
    "model": (ModelId,),
    "revision": (Revision,),
    "recipe": (Label, Digest),
}


@dataclass
class Identity:
    """What one file says of what was tested, as it is read."""

    source: str
    """The digest of the file."""
    _values: dict[Topic, dict[str, str]] = field(default_factory=dict)
    _said: set[IdentityField] = field(default_factory=set)
    _withheld: set[IdentityField] = field(default_factory=set)

    def add(self, what: IdentityField, text: str | None, name: str | None = None) -> None:
        """Take what the file says of something; nothing when it says null."""
        if text is None or not text.strip():
            return
        held = public(text, *_KINDS[what])
        if held is None:
            self._withheld.add(what)
            return
        self._said.add(what)
        self._value(_TOPICS[what], name or what, held)

    def add_served(self, text: str | None) -> None:
        """Take what the endpoint calls its model (rule 2)."""
        held = public(text, ModelId, Label)
        if held is not None:
            self._value("candidate", "served_model", held)
        elif text is not None:
            self._withheld.add("model")

    def not_said(self) -> tuple[IdentityField, ...]:
        """Return what is missing."""
        return tuple(one for one in get_args(IdentityField) if one not in self._said | self._withheld)

    def withheld(self) -> tuple[IdentityField, ...]:
        """Return what only the file says."""
        return tuple(one for one in get_args(IdentityField) if one in self._withheld - self._said)

    def statements(self, candidate: str | None = None, attempt: str | None = None) -> list[Said]:
        """Return what is said as statements, one a topic."""
        return [
            Said(
                StatementImported(
                    source=self.source,
                    nature="raw-evidence",
                    position="$",
                    topic=topic,
                    name=None,
                    within=None,
                    claimed_status=None,
                    values=tuple(
                        StatedValue(name=name, text=text, number=None, truth=None, texts=None)
                        for name, text in values.items()
                    ),
                ),
                candidate,
                attempt,
            )
            for topic, values in self._values.items()
        ]

    def _value(self, topic: Topic, name: str, text: str) -> None:
        self._values.setdefault(topic, {}).setdefault(name, text)
