"""Redaction: private bytes are deleted for good, and the log says so for ever.

1. The events that say what is redacted and why are appended first; only then are bytes deleted. A
   crash in between leaves bytes that should be gone, and running the command again finishes.
2. Bytes go everywhere at once. A blob that is an artifact elsewhere too, of another event or under another
   name, is not deleted: the redaction is refused and names the places, and one that takes in all of them
   is not.
3. Deleting happens under the write lock, so that nobody can name the blob meanwhile.
4. Afterwards what killed processes left of half-written artifacts is removed, the write-ahead log
   emptied and the file rewritten, so that no byte is left in free pages. Copies that were made
   elsewhere, backups among them, are the operator's to delete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anvil.ledger.artifacts import blob_of, named_blobs
from anvil.ledger.blobs import BlobRef
from anvil.ledger.citations import Citations
from anvil.ledger.drafts import Draft
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import AnyEvent, ArtifactRedacted, SealedRedacted, build
from anvil.ledger.header import ArtifactEntry, Header
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.streams import record


@dataclass(frozen=True)
class Gone:
    """What of one event was redacted."""

    index: int
    fields: tuple[str, ...]
    artifacts: tuple[str, ...]


@dataclass(frozen=True)
class Redacted:
    """What a redaction did: the events that say so, what went in which event, and which blobs were deleted.

    `said_before` are the indices of earlier events that say it of something of this: that was not recorded again.
    """

    recorded: tuple[Recorded, ...]
    gone: tuple[Gone, ...]
    blobs: tuple[BlobRef, ...]
    said_before: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Plan:
    """What is to be redacted in one event."""

    index: int
    target: str
    fields: tuple[str, ...]
    artifacts: tuple[ArtifactEntry, ...]
    commitments: tuple[str, ...]
    blobs: tuple[BlobRef, ...]


def redact(
    ledger: Ledger,
    indices: Sequence[int],
    reason: str,
    *,
    fields: Sequence[str] = (),
    artifacts: Sequence[str] = (),
) -> Redacted:
    """Redact the named fields and artifacts of the events at `indices`; all of them when none is named.

    Raises:
        LedgerError: there is no such event, field or artifact, nothing private is in it, or the same blob
            is an artifact elsewhere.
        MalformedEvent: `reason` is no public text.
    """
    plans = [_plan(ledger, index, fields, artifacts) for index in dict.fromkeys(indices)]
    _require_found(plans, (*fields, *artifacts))
    seen = ledger.store.size()
    _require_unshared(plans, _elsewhere(ledger, plans, 0, seen))
    earlier = {plan.target: _already_redacted(ledger, plan.target) for plan in plans}
    events = [event for plan in plans for event in _events(plan, reason)]
    drafts = [Draft(event) for event in events if _name_of(event) not in earlier[event.target]]
    said = {earlier[event.target].get(_name_of(event)) for event in events}
    recorded = record(ledger, ledger.signer("operator"), drafts, purpose="redaction") if drafts else []
    blobs = tuple(dict.fromkeys(blob for plan in plans for blob in plan.blobs))
    with ledger.undisturbed():
        with ledger.store.transaction():
            _require_unshared(plans, _elsewhere(ledger, plans, seen, ledger.store.size()))
            ledger.store.delete_openings(c for plan in plans for c in plan.commitments)
            for blob in blobs:
                ledger.blobs.delete(blob.digest)
        ledger.blobs.sweep()
        ledger.store.scrub()
    gone = tuple(Gone(p.index, p.fields, tuple(a.name for a in p.artifacts)) for p in plans)
    return Redacted(tuple(recorded), gone, blobs, tuple(sorted(index for index in said if index is not None)))


def _plan(ledger: Ledger, index: int, fields: Sequence[str], artifacts: Sequence[str]) -> _Plan:
    entry = ledger.store.entry(index)
    if entry is None:
        raise LedgerError(
            f"there is no entry {index}; the ledger has {ledger.store.size()}", advice="See `anvil log`."
        )
    header = Header.parse(Envelope.parse(entry).header)
    by_name = {artifact.name: artifact for artifact in header.artifacts}
    everything = not fields and not artifacts
    if everything and not header.sealed and not by_name:
        raise LedgerError(
            f"nothing in event {index} can be redacted: it has no sealed field and no artifact",
            advice="What stands in the clear stays in the log for ever.",
        )
    named = tuple(name for name in sorted(header.sealed) if everything or name in fields)
    chosen = tuple(by_name[name] for name in sorted(by_name) if everything or name in artifacts)
    if not named and not chosen:
        raise LedgerError(
            f"event {index} has no sealed field or artifact {', '.join(map(repr, (*fields, *artifacts)))}",
            advice=f"It has fields {sorted(header.sealed)} and artifacts {sorted(by_name)}.",
        )
    commitments = [header.sealed[name] for name in named] + [a.commitment for a in chosen if a.commitment]
    blobs = [blob for artifact in chosen if (blob := blob_of(ledger.store, artifact)) is not None]
    return _Plan(index, leaf_hash(entry).hex(), named, chosen, tuple(commitments), tuple(blobs))


def _require_found(plans: Sequence[_Plan], names: Sequence[str]) -> None:
    """Refuse a name that is in none of the events: it is a mistake, and something would stay."""
    found = {name for plan in plans for name in (*plan.fields, *(a.name for a in plan.artifacts))}
    missing = [name for name in names if name not in found]
    if missing:
        raise LedgerError(
            f"the event has no sealed field or artifact {', '.join(map(repr, missing))}",
            advice="See `anvil show`.",
        )


def _events(plan: _Plan, reason: str) -> Iterator[SealedRedacted | ArtifactRedacted]:
    """Yield what is to be said of an event."""
    for name in plan.fields:
        yield build(SealedRedacted, {"target": plan.target, "field": name, "reason": reason})
    for artifact in plan.artifacts:
        yield build(ArtifactRedacted, {"target": plan.target, "artifact": artifact.name, "reason": reason})


def _name_of(event: AnyEvent) -> tuple[str, str]:
    name = event.field if isinstance(event, SealedRedacted) else getattr(event, "artifact", "")
    return event.type, str(name)


def _already_redacted(ledger: Ledger, target: str) -> dict[tuple[str, str], int]:
    """Return what earlier events redacted in `target`, and which: this run then only finishes the deletion.

    What a disowned key redacted explains nothing, and is said again.
    """
    earlier = Citations(ledger).about(target, SealedRedacted, ArtifactRedacted)
    return {_name_of(cited.event): cited.index for cited in earlier}


def _elsewhere(ledger: Ledger, plans: Sequence[_Plan], start: int, stop: int) -> list[tuple[int, str]]:
    """Return where else a blob of the plans is an artifact, as (index, name), in a range of the log."""
    digests = {blob.digest for plan in plans for blob in plan.blobs}
    planned = {(plan.index, artifact.name) for plan in plans for artifact in plan.artifacts}
    if not digests:
        return []
    return [
        (index, name)
        for index, name, blob in named_blobs(ledger.store, start, stop)
        if (index, name) not in planned and blob.digest in digests
    ]


def _require_unshared(plans: Sequence[_Plan], elsewhere: Sequence[tuple[int, str]]) -> None:
    if elsewhere:
        places = ", ".join(f"{name} of event {index}" for index, name in elsewhere[:5])
        events = " ".join(map(str, sorted({p.index for p in plans} | {index for index, _ in elsewhere})))
        raise LedgerError(
            f"the same bytes are an artifact elsewhere too: {places}",
            advice=f"They go everywhere at once, `anvil redact {events}`, or stay: --field leaves artifacts alone.",
        )
