"""Artifacts whose bytes are lost, and bytes that were found again.

1. A loss is said only of bytes that are not there: not of what is, and not of what lies there altered.
2. Bytes found later are evidence for an event. Those that are an artifact of it, by their digest, come back
   to their place in the blob store; bytes that the event has already are no new evidence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from anvil.ledger.artifacts import blob_of
from anvil.ledger.blobs import CHUNK, BlobRef
from anvil.ledger.citations import Citations, Cited
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ArtifactMissing, ArtifactRedacted, EvidenceAttached, build
from anvil.ledger.recording import Ledger


def lost(
    ledger: Ledger, citations: Citations, cited: Cited, names: Sequence[str], reason: str
) -> list[Draft]:
    """Return what is to be recorded of the lost artifacts `names` of an event; all that are lost when none is named.

    Raises:
        LedgerError: there is no such artifact, its bytes are there, or their loss was said before.
        MalformedEvent: `reason` is no public text.
    """
    artifacts = {artifact.name: artifact for artifact in cited.header.artifacts}
    unknown = [name for name in names if name not in artifacts]
    if unknown:
        raise LedgerError(
            f"event {cited.index} has no artifact {unknown[0]!r}", advice=f"It has {sorted(artifacts)}."
        )
    said = said_of(citations, cited.entry_hash)
    found = []
    for name in dict.fromkeys(names or artifacts):
        refusal = _refusal(ledger, cited, name, said.get(name))
        if refusal is None:
            fields = {"target": cited.entry_hash, "artifact": name, "reason": reason}
            found.append(Draft(build(ArtifactMissing, fields), cited.header.subject))
        elif names:
            raise refusal
    if not artifacts:
        raise LedgerError(f"event {cited.index} has no artifacts", advice="See `anvil show`.")
    if not found:
        raise LedgerError(
            f"event {cited.index} lacks nothing: each of its {len(artifacts)} artifacts is there, or an event "
            "says why not",
            advice="`anvil verify` names what is missing without an explanation.",
        )
    return found


def restored(ledger: Ledger, cited: Cited, files: Sequence[Path]) -> tuple[str, ...]:
    """Return which artifacts of an event the bytes of `files` are. Nothing is kept yet.

    Raises:
        LedgerError: a file cannot be read, or the event has its bytes already.
    """
    brought = {digest_of(path): path for path in files}
    names = []
    for artifact in cited.header.artifacts:
        blob = blob_of(ledger.store, artifact)
        if blob is None or blob not in brought:
            continue
        if ledger.blobs.measure(blob.digest) == blob:
            raise LedgerError(
                f"{brought[blob]} is no new evidence: its bytes are artifact {artifact.name} of event "
                f"{cited.index}, and they are there",
                advice="Attach what is not yet kept.",
            )
        names.append(artifact.name)
    return tuple(names)


def digest_of(path: Path) -> BlobRef:
    """Return which bytes a file has.

    Raises:
        LedgerError: it cannot be read.
    """
    hasher, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                hasher.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise LedgerError(f"{path} cannot be read: {error.strerror}") from error
    return BlobRef(f"sha256:{hasher.hexdigest()}", size)


def _refusal(ledger: Ledger, cited: Cited, name: str, said: tuple[str, int] | None) -> LedgerError | None:
    """Return why the loss of an artifact cannot be said (rule 1), or None."""
    what = f"artifact {name} of event {cited.index}"
    if said is not None:
        return LedgerError(
            f"{what} was {said[0]}, as event {said[1]} says", advice="Nothing more is to be said."
        )
    artifact = next(each for each in cited.header.artifacts if each.name == name)
    blob = blob_of(ledger.store, artifact)
    if blob is None:
        return LedgerError(
            f"{what}: its opening is not at hand, so nobody can tell which bytes it names",
            advice="Run `anvil verify`. A database that lost openings is replaced by a backup (`anvil restore`).",
        )
    there = ledger.blobs.measure(blob.digest)
    if there == blob:
        return LedgerError(
            f"{what} is not lost: its bytes are in the blob store",
            advice="To delete private bytes for good, use `anvil redact`.",
        )
    if there is not None:
        return LedgerError(
            f"{what} is not lost but altered: expected {blob.size} bytes of {blob.digest}, "
            f"found {there.size} bytes of {there.digest}",
            advice=f"Move {ledger.blobs.path(blob.digest)} away to look into it, then say that it is lost.",
        )
    return None


def said_of(citations: Citations, target: str) -> dict[str, tuple[str, int]]:
    """Return what was said of artifacts of an event: redacted, or lost and not found again; and where."""
    found: dict[str, tuple[str, int]] = {}
    for cited in citations.about(target, ArtifactRedacted, ArtifactMissing, EvidenceAttached):
        if isinstance(cited.event, EvidenceAttached):
            for name in cited.event.restores:
                found.pop(name, None)
        elif isinstance(cited.event, ArtifactRedacted | ArtifactMissing):
            word = "redacted" if isinstance(cited.event, ArtifactRedacted) else "lost"
            found[cited.event.artifact] = word, cited.index
    return found
