"""Redaction: private bytes are deleted for good, and the log says so for ever.

1. The events that say what is redacted and why are appended first; only then are bytes deleted. A
   crash in between leaves bytes that should be gone, and running the command again finishes.
2. A blob that another event names is not deleted: the redaction is refused, naming the events.
3. Deleting happens under the write lock, so that nobody can name the blob meanwhile.
4. Afterwards what killed processes left of half-written artifacts is removed, the write-ahead log
   emptied and the file rewritten, so that no byte is left in free pages. Copies that were made
   elsewhere, backups among them, are the operator's to delete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anvil.ledger import canonical
from anvil.ledger.blobs import BlobRef
from anvil.ledger.drafts import Draft
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ArtifactRedacted, Event, SealedRedacted, build, decode
from anvil.ledger.header import ArtifactEntry, Header
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.streams import record


@dataclass(frozen=True)
class Redacted:
    """What a redaction did: the events that say so, and what was deleted."""

    recorded: tuple[Recorded, ...]
    fields: tuple[str, ...]
    artifacts: tuple[str, ...]
    blobs: tuple[BlobRef, ...]


@dataclass(frozen=True)
class _Plan:
    """What is to be redacted in one event."""

    target: str
    fields: tuple[str, ...]
    artifacts: tuple[ArtifactEntry, ...]
    commitments: tuple[str, ...]
    blobs: tuple[BlobRef, ...]


def redact(
    ledger: Ledger, index: int, reason: str, *, fields: Sequence[str] = (), artifacts: Sequence[str] = ()
) -> Redacted:
    """Redact the named fields and artifacts of the event at `index`; all of them when none is named.

    Raises:
        LedgerError: there is no such event, field or artifact, nothing private is in it, or another
            event names the same blob.
        MalformedEvent: `reason` is no public text.
    """
    entry = ledger.store.entry(index)
    if entry is None:
        raise LedgerError(
            f"there is no entry {index}; the ledger has {ledger.store.size()}", advice="See `anvil log`."
        )
    plan = _plan(
        ledger, leaf_hash(entry).hex(), Header.parse(Envelope.parse(entry).header), fields, artifacts
    )
    seen = ledger.store.size()
    _require_unshared(_others(ledger, plan, 0, seen))
    already = _already_redacted(ledger, plan.target)
    drafts = [Draft(event) for event in _events(plan, reason) if _name_of(event) not in already]
    recorded = record(ledger, ledger.signer("operator"), drafts, purpose="redaction") if drafts else []
    with ledger.undisturbed():
        with ledger.store.transaction():
            _require_unshared(_others(ledger, plan, seen, ledger.store.size()))
            ledger.store.delete_openings(plan.commitments)
            for blob in plan.blobs:
                ledger.blobs.delete(blob.digest)
        ledger.blobs.sweep()
        ledger.store.scrub()
    return Redacted(tuple(recorded), plan.fields, tuple(a.name for a in plan.artifacts), plan.blobs)


def _plan(
    ledger: Ledger, target: str, header: Header, fields: Sequence[str], artifacts: Sequence[str]
) -> _Plan:
    by_name = {artifact.name: artifact for artifact in header.artifacts}
    unknown = [name for name in fields if name not in header.sealed] + [
        n for n in artifacts if n not in by_name
    ]
    if unknown:
        raise LedgerError(
            f"the event has no sealed field or artifact {', '.join(map(repr, unknown))}",
            advice=f"It has fields {sorted(header.sealed)} and artifacts {sorted(by_name)}.",
        )
    if not fields and not artifacts:
        fields, artifacts = sorted(header.sealed), sorted(by_name)
    if not fields and not artifacts:
        raise LedgerError(
            "nothing in this event can be redacted: it has no sealed field and no artifact",
            advice="What stands in the clear stays in the log for ever.",
        )
    chosen = tuple(by_name[name] for name in artifacts)
    commitments = [header.sealed[name] for name in fields] + [a.commitment for a in chosen if a.commitment]
    blobs = [blob for artifact in chosen if (blob := blob_of(ledger, artifact)) is not None]
    return _Plan(target, tuple(fields), chosen, tuple(commitments), tuple(blobs))


def blob_of(ledger: Ledger, artifact: ArtifactEntry) -> BlobRef | None:
    """Return which bytes an artifact names, or None when its opening is gone."""
    if artifact.commitment is None:
        return BlobRef(str(artifact.digest), int(artifact.size or 0))
    opening = ledger.store.opening(artifact.commitment)
    if opening is None:
        return None
    members = canonical.decode(opening.value)
    return BlobRef(members["digest"], members["size"])


def _events(plan: _Plan, reason: str) -> Iterator[Event]:
    for name in plan.fields:
        yield build(SealedRedacted, {"target": plan.target, "field": name, "reason": reason})
    for artifact in plan.artifacts:
        yield build(ArtifactRedacted, {"target": plan.target, "artifact": artifact.name, "reason": reason})


def _name_of(event: Event) -> tuple[str, str]:
    name = event.field if isinstance(event, SealedRedacted) else getattr(event, "artifact", "")
    return event.type, str(name)


def _already_redacted(ledger: Ledger, target: str) -> set[tuple[str, str]]:
    """Return what earlier events redacted in `target`: this run then only finishes the deletion."""
    found = set()
    for row in ledger.store.of_types((SealedRedacted.event_type, ArtifactRedacted.event_type)):
        header = Header.parse(Envelope.parse(row.entry).header)
        event = decode(header.event, header.facts, header.sealed)
        if isinstance(event, SealedRedacted | ArtifactRedacted) and event.target == target:
            found.add(_name_of(event))
    return found


def _others(ledger: Ledger, plan: _Plan, start: int, stop: int) -> list[int]:
    """Return the indices in the range of other events that name one of the plan's blobs."""
    digests = {blob.digest for blob in plan.blobs}
    if not digests:
        return []
    return [
        row.entry_index
        for row in ledger.store.rows(start, stop)
        if row.leaf_hash.hex() != plan.target and _names_any(ledger, row.entry, digests)
    ]


def _names_any(ledger: Ledger, entry: bytes, digests: set[str]) -> bool:
    artifacts = Header.parse(Envelope.parse(entry).header).artifacts
    blobs = (blob_of(ledger, artifact) for artifact in artifacts)
    return any(blob is not None and blob.digest in digests for blob in blobs)


def _require_unshared(others: list[int]) -> None:
    if others:
        raise LedgerError(
            f"the same bytes are an artifact of other events too: index {', '.join(map(str, others[:5]))}",
            advice="Redact those first, or only fields of this one with --field.",
        )
