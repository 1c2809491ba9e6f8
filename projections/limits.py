"""The evidence limit of a document: what its statements rest on, and what is missing, as a structure.

1. It is derived from the statuses of what the document shows, and from what people and the log say
   was not kept. The text is rendered from the structure, never the other way round.
2. Attempts are named by their number in the document, from 1, and claims by the name of their leaf.
   Where a document is about candidates, claims are about these, and are named by their keys.
3. What an operator says (caveats, gaps) is quoted, and marked as theirs.
4. Words that name a stronger status than theirs are refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.public import EvidenceStatus
from anvil.projections.figures import RANKED, Figure, is_stronger

_MEANS: dict[EvidenceStatus, str] = {
    "retained-complete": "Every raw byte is retained for",
    "retained-bounded-log": "A bounded part of the raw bytes, such as a log, is retained for",
    "imported-artifact": "A file of another tool is retained for",
    "operator-observed-incomplete": "The operator's word, without complete evidence, is all there is for",
    "external-prior": "Somebody else's claim about another run is all there is for",
    "artifact-missing": "The bytes are gone for",
}


_HYPHENS = re.compile(r"[\u2010-\u2015\u2212_]")
"""What people read as the hyphen in the name of a status."""


@dataclass(frozen=True)
class Claim:
    """One statement of the document about one attempt or candidate, by number, and how strong it is."""

    attempt: int
    name: str
    status: EvidenceStatus
    words: str
    """What it is called in a sentence."""


@dataclass(frozen=True)
class Missing:
    """Something that would be evidence for an attempt and is not there."""

    attempt: int
    what: str
    why: str


@dataclass(frozen=True)
class Quoted:
    """What somebody says in an event, word for word."""

    kind: str
    """`caveat` or `gap`."""
    text: str
    event: str


@dataclass(frozen=True)
class Stale:
    """A decision that stands and is stale: its event and where it lies, why in short, and the note that says all of it."""

    index: int
    event: str
    in_short: str
    note: str


@dataclass(frozen=True)
class EvidenceLimit:
    """All of it. `notes` are sentences of ours, one for each thing that a reader must know first."""

    claims: tuple[Claim, ...]
    missing: tuple[Missing, ...]
    notes: tuple[str, ...] = ()
    quoted: tuple[Quoted, ...] = ()
    failed: tuple[str, ...] = ()
    """Those of the notes that say what failed or has no result: what a reader asks for who asks why."""
    candidates: tuple[str, ...] = ()
    """The candidates that claims are about, by number from 1; none where they are about attempts."""
    stale: tuple[Stale, ...] = ()
    """The decisions that are stale, each with that one of the notes which says so."""

    def by_status(self) -> list[tuple[EvidenceStatus, dict[str, list[int]]]]:
        """Return for each status that occurs, strongest first, the claims and the attempts they are about."""
        found = []
        for status in RANKED:
            claims: dict[str, list[int]] = {}
            for claim in self.claims:
                if claim.status == status:
                    claims.setdefault(claim.name, []).append(claim.attempt)
            if claims:
                found.append((status, claims))
        return found

    def by_loss(self) -> list[tuple[str, str, list[int]]]:
        """Return what is missing, why, and for which attempts, in the order in which it comes up."""
        found: dict[tuple[str, str], list[int]] = {}
        for item in self.missing:
            attempts = found.setdefault((item.what, item.why), [])
            if item.attempt not in attempts:
                attempts.append(item.attempt)
        return [(what, why, attempts) for (what, why), attempts in found.items()]

    def sentences(self, printed: Container[object] = ()) -> list[str]:
        """Return it in words, one statement each. What is `printed` beside as a figure is not quoted again."""
        said, words = list(self.notes), {claim.name: claim.words for claim in self.claims}
        for status, claims in self.by_status():
            parts = (f"{words[name]} of {self._about(numbers)}" for name, numbers in claims.items())
            said.append(f"{_MEANS[status]} {_joined(parts, '; ')}.")
        lost: dict[tuple[str, str], list[str]] = {}
        for what, why, numbers in self.by_loss():
            lost.setdefault((self._about(numbers), why.replace("-", " ")), []).append(what.replace("-", " "))
        said += [f"Not kept for {of} ({why}): {', '.join(whats)}." for (of, why), whats in lost.items()]
        said += [
            f"The operator notes a {item.kind}: “{item.text}”"
            for item in self.quoted
            if item.text not in printed
        ]
        return said

    def text(self) -> str:
        """Return it in words."""
        return " ".join(self.sentences())

    def members(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "notes": list(self.notes),
            "rests_on": [
                {
                    "status": status,
                    "claims": [{"claim": name, **self._of(numbers)} for name, numbers in claims.items()],
                }
                for status, claims in self.by_status()
            ],
            "missing": [
                {"what": what, "why": why, **self._of(numbers)} for what, why, numbers in self.by_loss()
            ],
            "quoted": [{"kind": q.kind, "text": q.text, "event": q.event} for q in self.quoted],
        }

    def _about(self, numbers: list[int]) -> str:
        if self.candidates:
            return _joined((self.candidates[number - 1] for number in numbers), ", ")
        return f"{'attempt' if len(numbers) == 1 else 'attempts'} {_joined(map(str, numbers), ', ')}"

    def _of(self, numbers: list[int]) -> dict[str, list[int] | list[str]]:
        if self.candidates:
            return {"candidates": [self.candidates[number - 1] for number in numbers]}
        return {"attempts": numbers}


def require_modest(words: Figure) -> None:
    """Refuse words that name a stronger status than theirs (rule 4), in whatever letters and with whatever hyphens.

    Raises:
        PublicationRefused: they do.
    """
    told = _HYPHENS.sub("-", unicodedata.normalize("NFKC", str(words.value))).casefold()
    for status in RANKED:
        if status in told and is_stronger(status, words.status):
            raise PublicationRefused(
                f"the words of an event claim {status}, its evidence is {words.status}: {words.value!r}",
                advice="Retract the event and state what the attached bytes support.",
            )


def _joined(parts: Iterable[str], comma: str) -> str:
    *before, last = parts
    return f"{comma.join(before)} and {last}" if before else last
