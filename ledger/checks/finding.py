"""Findings: what verification found, each with its own verdict and weight.

A finding names the index where it can, and what was expected and found there. Notes do not fail
a verification; they are true of a healthy ledger too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from anvil.ledger.errors import Malformed, MalformedTile

Severity = Literal["fatal", "failure", "unanchored", "note"]

Code = Literal[
    "rolled-back",
    "split-view",
    "tampered",
    "column-differs",
    "non-canonical",
    "chain-broken",
    "sealed-altered",
    "sealed-missing",
    "artifact-altered",
    "artifact-missing",
    "checkpoint-invalid",
    "tree-differs",
    "schema-altered",
    "store-damaged",
    "file-damaged",
    "figure-differs",
    "unsupported",
    "not-recomputed",
    "other-ledger",
    "unknown-key",
    "signed-after-revocation",
    "not-permitted",
    "unsupported-version",
    "unanchored",
    "uncovered",
    "redacted",
    "lost",
    "stream-open",
    "disowned",
    "clock-stepped-back",
    "unknown-type",
    "dangling-reference",
    "withdrawn",
    "not-checked",
]

_SPECIAL: Mapping[str, Severity] = {
    "rolled-back": "fatal",
    "split-view": "fatal",
    "unanchored": "unanchored",
    "uncovered": "note",
    "redacted": "note",
    "lost": "note",
    "stream-open": "note",
    "disowned": "note",
    "clock-stepped-back": "note",
    "unknown-type": "note",
    "dangling-reference": "note",
    "withdrawn": "note",
    "not-checked": "note",
}

MEANINGS: Mapping[Code, str] = {
    "rolled-back": "more was signed for than the database holds",
    "split-view": "two signed states of one ledger contradict each other",
    "tampered": "an entry is not the one that was signed",
    "column-differs": "a lookup column says something else than the entry",
    "non-canonical": "an entry or header is not spelled in its one canonical way",
    "chain-broken": "a stream has a gap, a fork, or goes on after its end",
    "sealed-altered": "a sealed value does not fit its commitment",
    "sealed-missing": "a sealed value is gone and no event says so",
    "artifact-altered": "the bytes of an artifact are not those that were recorded",
    "artifact-missing": "an artifact is gone and no event says so",
    "checkpoint-invalid": "a stored checkpoint is not signed by the ledger, or not of its tree",
    "tree-differs": "a stored subtree hash, or a carried range, is not what the entries give",
    "schema-altered": "tables, indexes or triggers are not as they were made",
    "store-damaged": "SQLite finds the database file damaged",
    "file-damaged": "an exported file is missing or is not what its place says",
    "figure-differs": "a figure of a publication is not the one that its provenance states",
    "unsupported": "what a figure of a publication rests on is not there, or supports nothing",
    "not-recomputed": "made again from its events, a file of a publication comes out otherwise",
    "other-ledger": "this is not the ledger that was asked for",
    "unknown-key": "a signature by a key that the ledger did not introduce before",
    "signed-after-revocation": "a signature by a key that was revoked before",
    "not-permitted": "a key signed what its role, or the ledger's rules, do not allow",
    "unsupported-version": "a header of a version that this build does not read",
    "unanchored": "nothing outside the ledger says how far it had come",
    "uncovered": "entries that no checkpoint covers yet: only their streams order them",
    "redacted": "values or artifacts were redacted, and an event says so",
    "lost": "artifacts were lost, and an event says so",
    "stream-open": "streams that were neither closed nor abandoned",
    "disowned": "events signed between the last good state of a key and its revocation",
    "clock-stepped-back": "a signer's clock went backwards inside a stream",
    "unknown-type": "events of types that this build does not know; who may sign them was not checked",
    "dangling-reference": "a correction names an event or field that is not here",
    "withdrawn": "the publication was taken back, and an event says so",
    "not-checked": "something was not at hand, or not asked for, and so not checked",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that verification found.

    `index` is where; `until`, when given, is the end (excluded) of the range in which it must be.
    """

    code: Code
    message: str
    index: int | None = None
    until: int | None = None
    stream: str | None = None
    expected: str | None = None
    found: str | None = None

    @property
    def severity(self) -> Severity:
        """How much the finding weighs."""
        return _SPECIAL.get(self.code, "failure")


def worst(findings: Iterable[Finding]) -> Severity:
    """Return the heaviest severity; `note` when there is nothing."""
    order: tuple[Severity, ...] = ("fatal", "failure", "unanchored")
    present = {finding.severity for finding in findings}
    return next((severity for severity in order if severity in present), "note")


def stopped_by(error: Malformed, *, otherwise: Code) -> Finding:
    """Return the finding for what stopped a verification: `otherwise`, unless it is an exported file."""
    return Finding("file-damaged" if isinstance(error, MalformedTile) else otherwise, str(error))
