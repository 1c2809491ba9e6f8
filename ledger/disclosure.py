"""Disclosure: a private artifact becomes public for good, by its digest alone or with its bytes.

1. What is disclosed is there: the opening fits the commitment, and the blob is what it says, to the byte.
2. Nothing is said twice. Bytes can follow a digest; what is public, redacted or lost is not disclosed.
3. Bytes are looked at before everybody may have them, since what is in the log stays there. What the tripwire cannot
   look into, what is no text or too much of it, stays private.
4. It is a person's act, by an operator's key. Rules 1 and 2 are asked again under the write lock: a redaction or
   another disclosure may have come between.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from anvil.ledger import canonical
from anvil.ledger.artifacts import blob_of, disclosures
from anvil.ledger.blobs import BlobRef
from anvil.ledger.citations import Citations, Cited
from anvil.ledger.commitments import SALT_SIZE, Opening
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ArtifactDisclosed, build
from anvil.ledger.header import ArtifactEntry
from anvil.ledger.losses import said_of
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.streams import record

Extent = Literal["digest", "bytes"]

MOST_BYTES = 4 << 20
"""Bytes that are disclosed at most: the tripwire needs minutes for so many, and an excerpt says it better."""


@dataclass(frozen=True)
class Disclosing:
    """What would become public: which artifact of which event, and which bytes those are."""

    cited: Cited
    artifact: ArtifactEntry
    blob: BlobRef
    opening: Opening
    extent: Extent


def find(ledger: Ledger, name: str, artifact: str, extent: Extent) -> Disclosing:
    """Return what a disclosure would make public; `name` is the index or entry hash of the event (rules 1 and 2).

    Raises:
        LedgerError: there is no such event or artifact, it is public or disclosed already, it is redacted or lost, or
            what is kept is not what was sealed.
    """
    cited = Citations(ledger).find(name)
    entry = next((a for a in cited.header.artifacts if a.name == artifact), None)
    what = f"artifact {artifact} of event {cited.index}"
    if entry is None:
        held = [a.name for a in cited.header.artifacts]
        raise LedgerError(
            f"event {cited.index} ({cited.event.type}) has no artifact {artifact!r}",
            advice=f"It has {', '.join(held)}."
            if held
            else "It has none; `anvil show` prints what an event has.",
        )
    if entry.commitment is None:
        raise LedgerError(
            f"{what} is public: its digest stands in the event", advice="Nothing is to be done."
        )
    _require_undisclosed(ledger, cited, artifact, extent)
    _require_not_gone(ledger, cited, artifact)
    opening = ledger.store.opening(entry.commitment)
    blob = blob_of(ledger.store, entry)
    if opening is None or blob is None or not _fits(opening, blob, entry.commitment):
        raise LedgerError(
            f"{what}: its opening is {'gone' if opening is None else 'not what was sealed'}, so nobody can show "
            "which bytes it names",
            advice="Run `anvil verify`. A database that lost openings is replaced by a backup (`anvil restore`).",
        )
    there = ledger.blobs.measure(blob.digest)
    if there != blob:
        found = "nothing" if there is None else f"{there.size} bytes of {there.digest}"
        raise LedgerError(
            f"{what} is not in the blob store as it was recorded: expected {blob.size} bytes of {blob.digest}, "
            f"found {found}",
            advice="Put the bytes back, or say that they are lost: `anvil note missing`.",
        )
    return Disclosing(cited, entry, blob, opening, extent)


def disclose(
    ledger: Ledger, found: Disclosing, reason: str | None, exceptions: Iterable[str] = ()
) -> Recorded:
    """Record that it is public from now on; `exceptions` are those by which its bytes passed the tripwire.

    Raises:
        LedgerError: it was redacted, lost or disclosed meanwhile.
        MalformedEvent: `reason` is no public text.
        NotPermitted: no operator's key is at hand.
    """
    fields = {
        "target": found.cited.entry_hash,
        "artifact": found.artifact.name,
        "extent": found.extent,
        "digest": found.blob.digest,
        "size": found.blob.size,
        "salt": found.opening.salt.hex(),
        "reason": reason,
        "exceptions": sorted(exceptions),
    }
    draft = Draft(build(ArtifactDisclosed, fields), found.cited.header.subject)

    def unchanged() -> None:  # rule 4; the bytes are not read again, since nobody can write meanwhile
        _require_undisclosed(ledger, found.cited, found.artifact.name, found.extent)
        _require_not_gone(ledger, found.cited, found.artifact.name)

    signer = ledger.signer("operator")
    return record(ledger, signer, [draft], purpose="publication", require=unchanged)[0]


def readable(found: Disclosing, content: bytes) -> str:
    """Return the text of bytes that are to be disclosed (rule 3).

    Raises:
        LedgerError: they are no text, or too many to be looked through.
    """
    what = f"artifact {found.artifact.name} of event {found.cited.index}"
    advice = "`--digest-only` discloses its digest and size; `anvil approve` publishes a sentence of it."
    if len(content) > MOST_BYTES:
        raise LedgerError(
            f"{what} has {len(content):,} bytes; at most {MOST_BYTES:,} can be looked through before everybody "
            "may have them",
            advice=advice,
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if any(unicodedata.category(c) == "Cc" and c not in "\t\n\r\x1b" for c in text):
        raise LedgerError(
            f"{what} ({found.artifact.media_type}) is no plain text, so the tripwire cannot look into it",
            advice=advice,
        )
    return text


def _fits(opening: Opening, blob: BlobRef, commitment: str) -> bool:
    """Say whether salt, digest and size give the commitment, as a disclosure must."""
    value = canonical.encode({"digest": blob.digest, "size": blob.size})
    return len(opening.salt) == SALT_SIZE and Opening(opening.salt, value).commitment() == commitment


def _require_undisclosed(ledger: Ledger, cited: Cited, artifact: str, extent: Extent) -> None:
    earlier = disclosures(ledger.store).get((cited.entry_hash, artifact))
    if earlier is None or (extent == "bytes" and not earlier.is_of_bytes):
        return
    how = "with its bytes" if earlier.is_of_bytes else "by its digest"
    raise LedgerError(
        f"artifact {artifact} of event {cited.index} is public already: event {earlier.index} disclosed it {how}",
        advice="Nothing is to be done."
        if earlier.is_of_bytes
        else "Leave out --digest-only to disclose its bytes.",
    )


def _require_not_gone(ledger: Ledger, cited: Cited, artifact: str) -> None:
    said = said_of(Citations(ledger), cited.entry_hash).get(artifact)
    if said is not None:
        raise LedgerError(
            f"artifact {artifact} of event {cited.index} was {said[0]}, as event {said[1]} says: there is nothing "
            "to disclose",
            advice="`anvil show` prints what is left of it.",
        )
