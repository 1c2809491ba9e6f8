"""Canaries: values that are known to be private, looked for by themselves in every form of a text.

1. They are the sealed values of the events that a document could rest on, and what the caller knows of
   this machine: its name, its user, its home, its variables.
2. A value of fewer than eight characters, or a common word, says nothing by itself. It counts in
   structure only: `/home/X`, `X@`, `@X`, `//X`, `X:8000`.
3. A sealed value that stands in the clear by its type too (the name of a model, a digest, a version, a
   setting, the flag of an experiment) is no secret. One that names a machine or a person is, wherever else it stands.
4. What is reported is the kind of value, never the value.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from anvil.projections.tripwire.forms import SPLIT, together
from anvil.projections.tripwire.words import COMMON

SHORTEST = 8
"""Characters that a value has at least to count by itself."""

LONGEST = 4096
"""Of a longer value its first so many characters are looked for."""

_NUMBER_LIKE = re.compile(r"[0-9.,:+\-/%\s]*")


@dataclass(frozen=True)
class Canary:
    """One private value and what kind of value it is."""

    kind: str
    value: str = field(repr=False)

    @property
    def name(self) -> str:
        """What a hit is called: no detector has such a name, so that no exception reaches a canary."""
        return f"private {self.kind}"

    @property
    def counts_alone(self) -> bool:
        """Whether it is long and rare enough to count outside of structure (rule 2)."""
        return len(self.value) >= SHORTEST and self.value not in COMMON


@dataclass(frozen=True)
class Canaries:
    """All of them, without regard to case."""

    alone: tuple[Canary, ...] = ()
    structured: tuple[tuple[Canary, re.Pattern[str]], ...] = ()

    @classmethod
    def of(cls, values: Iterable[tuple[str, str]]) -> Canaries:
        """Return the canaries for (kind, value); what is empty, one character or only a number is none."""
        found = {
            Canary(kind, value.strip().casefold()[:LONGEST]): None
            for kind, value in values
            if len(value.strip()) > 1 and not _NUMBER_LIKE.fullmatch(value.strip())
        }
        structured = tuple((c, _in_structure(c.value)) for c in found if len(c.value) <= 64)
        return cls(tuple(canary for canary in found if canary.counts_alone), structured)

    def __or__(self, other: Canaries) -> Canaries:
        return Canaries((*self.alone, *other.alone), (*self.structured, *other.structured))

    def matches(self, how: str, text: str) -> Iterator[tuple[str, str]]:
        """Yield (kind, what was found) for each canary in one form of a text."""
        folded = text.casefold()
        for canary in self.alone:
            wanted = together(canary.value) if how == SPLIT else canary.value
            if len(wanted) >= SHORTEST and wanted in folded:
                yield canary.name, canary.value
        if how != SPLIT:
            for canary, pattern in self.structured:  # most values are not there at all, which is soon asked
                if canary.value in folded and (found := pattern.search(folded)):
                    yield canary.name, found[0]

    def encoded(self) -> Iterator[tuple[str, bytes]]:
        """Yield (kind, bytes) of each canary as itself, in base64, percent-encoded and escaped, to look for in bytes."""
        for canary in self.alone:
            raw = canary.value.encode()
            spellings = {raw, base64.b64encode(raw).rstrip(b"="), quote(canary.value, safe="").encode()}
            spellings.add(json.dumps(canary.value)[1:-1].encode())
            yield from ((canary.name, spelling) for spelling in spellings)


def _in_structure(value: str) -> re.Pattern[str]:
    name = re.escape(value)
    return re.compile(
        rf"(?:/home/|/users/|\\users\\|~){name}(?![\w-])"
        rf"|(?<![\w.+-]){name}@(?!sha256:)|@{name}(?![\w-])|//{name}(?=[:/.]|$)|(?<![\w./-]){name}:[1-9][0-9]{{1,4}}(?!\w)"
        rf"|\b(?:host|hostname|user|username|login|node|machine)[\"']?\s*(?:[:=]|\bis\b|\bnamed\b)\s*[\"']?{name}(?![\w-])"
    )
