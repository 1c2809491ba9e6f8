"""Entries: what can be said of each one by itself, and of the streams inside a run of them.

For each entry, in this order:

1. The envelope and the header are spelled canonically and have this build's version.
2. The stored leaf hash and the lookup columns are what the entry gives.
3. The header's home ledger is this log's, or that of the carried range the entry lies in.
4. Every signature is by a key that the home ledger knows at that point, and verifies; the first is
   by the key that the header names, and its role may sign the type. A type that changes keys in a
   version that this build does not read leaves the keyring unknown, and is refused.
5. The event follows the one before it in its stream.
6. Each sealed value, private artifact and blob at hand fits its commitment or digest.

Runs of entries are independent of each other, so that they can be examined on all cores; what
links one run to the next (streams, tree) is in the report. Inside a run rule 4 comes for a hundred or so
entries at a time, after the rest: verifying one signature after another keeps the processor's caches for it,
and what was parsed is still in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Protocol

from anvil.ledger import canonical
from anvil.ledger.blobs import BlobRef
from anvil.ledger.chain import StreamHead, follow, head_after
from anvil.ledger.checks.finding import Finding
from anvil.ledger.checks.keys import CarriedRange, refusal
from anvil.ledger.commitments import Opening
from anvil.ledger.envelope import Envelope, pae
from anvil.ledger.errors import (
    ChainBroken,
    Malformed,
    MalformedEvent,
    NotPermitted,
    SignatureInvalid,
)
from anvil.ledger.events import CATALOGUE, is_known
from anvil.ledger.events.base import MAX_SEALED_SIZE
from anvil.ledger.header import ArtifactEntry, Header, UnsupportedVersion
from anvil.ledger.keyring import Keyring, changes_keys
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.schema import leaf_prefix

_AT_ONCE = 128
"""Entries whose signatures are verified one after another."""

Columns = tuple[str, str, int, str | None, int]
"""What is stored beside an entry for lookups: type, stream, sequence number, campaign, prefix of the leaf hash."""


class Stored(Protocol):
    """An entry as a source holds it. `columns` is None where the source has none."""

    @property
    def entry_index(self) -> int:
        """Where it says that it lies."""

    @property
    def leaf_hash(self) -> bytes:
        """Its hash as it is stored."""

    @property
    def entry(self) -> bytes:
        """Its bytes."""

    @property
    def columns(self) -> Columns | None:
        """What is stored for lookups."""


@dataclass(slots=True)
class Segment:
    """The events of one stream inside a run: the first, and where the stream stands after the last."""

    first_index: int
    first: Header
    last_index: int
    last_at: str
    head: StreamHead


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A commitment or digest whose bytes are not at hand; a redaction must say why."""

    index: int
    leaf: bytes
    kind: str
    name: str
    what: str


@dataclass
class Examined:
    """The report on one run of entries."""

    start: int
    leaves: list[bytes] = field(default_factory=list)
    opened: int = 0
    segments: dict[str, Segment] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    unresolved: list[Unresolved] = field(default_factory=list)
    disowned: Counter[str] = field(default_factory=Counter)
    unknown_types: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Context:
    """What examining needs to know; everything in it can be sent to another process.

    `opening` and `blob` look up bytes beside the log. `opening` is None where a source has no sealed
    values at all, `blob` where it has no blob store; then nothing of that kind is checked.
    """

    origin: str
    keyrings: Mapping[str, Keyring]
    carried: tuple[CarriedRange, ...]
    signatures: bool
    opening: Callable[[str], Opening | None] | None
    blob: Callable[[str], BlobRef | None] | None


def examine(start: int, rows: Iterable[Stored], context: Context) -> Examined:
    """Check a run of entries that begins at index `start`; the report ends where an index is skipped."""
    report = Examined(start)
    parsed: list[tuple[int, Envelope, Header]] = []
    for index, row in enumerate(rows, start):
        if row.entry_index != index:
            break
        entry = row.entry
        report.leaves.append(leaf_hash(entry))
        try:
            envelope = Envelope.parse(entry)
            header = Header.parse(envelope.header)
        except UnsupportedVersion as error:
            report.findings.append(Finding("unsupported-version", str(error), row.entry_index))
            continue
        except Malformed as error:
            report.findings.append(Finding("non-canonical", str(error), row.entry_index))
            continue
        parsed.append((index, envelope, header))
        _check_stored(row, header, report)
        _check_stream(index, header, report)
        if header.sealed or header.artifacts:
            _check_bytes(index, header, context, report)
        if len(parsed) == _AT_ONCE:
            _check_signatures(parsed, context, report)
            parsed.clear()
    _check_signatures(parsed, context, report)
    report.findings.sort(key=attrgetter("index"))
    return report


def _check_stored(row: Stored, header: Header, report: Examined) -> None:
    """Rule 2."""
    leaf = report.leaves[-1]
    if row.leaf_hash != leaf:
        report.findings.append(
            Finding(
                "tampered",
                "the entry does not have the leaf hash stored for it",
                row.entry_index,
                stream=header.stream,
                expected=row.leaf_hash.hex(),
                found=leaf.hex(),
            )
        )
    said = (header.event, header.stream, header.stream_seq, header.subject.campaign, leaf_prefix(leaf))
    columns = row.columns
    if columns != said and columns is not None:
        report.findings.append(
            Finding(
                "column-differs",
                "a column says something else than the signed header",
                row.entry_index,
                stream=header.stream,
                expected=repr(said),
                found=repr(columns),
            )
        )


def _check_signatures(
    parsed: Iterable[tuple[int, Envelope, Header]], context: Context, report: Examined
) -> None:
    """Rules 3 and 4."""
    for index, envelope, header in parsed:
        _check_signers(index, envelope, header, context, report)


def _check_signers(
    index: int, envelope: Envelope, header: Header, context: Context, report: Examined
) -> None:
    keyring = context.keyrings.get(header.ledger)
    if keyring is None or not _is_home(header.ledger, index, context):
        message = f"an event of {header.ledger} has no place here"
        report.findings.append(Finding("not-permitted", message, index, stream=header.stream))
        return
    first = envelope.signatures[0]
    if first.key_id != header.key:
        message = f"the first signature is by {first.key_id[:16]}, the header names {header.key[:16]}"
        report.findings.append(Finding("not-permitted", message, index, stream=header.stream))
        return
    is_unread = header.event not in CATALOGUE and changes_keys(header.event)
    try:
        known = keyring.require(header.key, header.event, index, header.stream_seq)
        if context.signatures or changes_keys(header.event):  # else a forged event could claim any key
            _verify(envelope, 1 if is_unread else len(envelope.signatures), keyring, index)
    except NotPermitted as error:
        report.findings.append(Finding(refusal(error), str(error), index, stream=header.stream))
        return
    except SignatureInvalid as error:
        report.findings.append(Finding("tampered", str(error), index, stream=header.stream))
        return
    if known.disowns(index):
        report.disowned[header.key] += 1
    if is_unread:
        message = f"{header.event} changes keys in a way that this build does not know"
        report.findings.append(Finding("unsupported-version", message, index, stream=header.stream))
    elif not is_known(header.event):
        report.unknown_types[header.event] += 1


def _verify(envelope: Envelope, count: int, keyring: Keyring, index: int) -> None:
    """Verify the first `count` signatures: which keys a type that is not read introduces is not known."""
    message = pae(envelope.header)
    for signature in envelope.signatures[:count]:
        keyring.require_known(signature.key_id, index).public_key.verify(signature.value, message)


def _is_home(home: str, index: int, context: Context) -> bool:
    expected = context.origin
    for carried in context.carried:
        if carried.start <= index < carried.stop:
            expected = carried.origin
    return home == expected


def _check_stream(index: int, header: Header, report: Examined) -> None:
    """Rule 5, inside the run."""
    segment = report.segments.get(header.stream)
    if segment is None:
        report.segments[header.stream] = Segment(index, header, index, header.at, head_after(header))
        return
    try:
        segment.head = follow(segment.head, header)
    except ChainBroken as error:
        report.findings.append(Finding("chain-broken", str(error), index, stream=header.stream))
        segment.head = head_after(header)
    if header.at < segment.last_at:
        report.findings.append(stepped_back(index, header.stream, segment.last_at, header.at))
    segment.last_index, segment.last_at = index, header.at


def stepped_back(index: int, stream: str, before: str, after: str) -> Finding:
    """Return the note that a signer's clock went backwards."""
    message = f"the signer's clock went from {before} back to {after}"
    return Finding("clock-stepped-back", message, index, stream=stream, expected=before, found=after)


def _check_bytes(index: int, header: Header, context: Context, report: Examined) -> None:
    """Rule 6."""
    if context.opening is not None:
        for name, commitment in header.sealed.items():
            value = _open(index, header, "sealed", name, commitment, context, report)
            if value is not None:
                _check_value(index, header, name, value, report)
    for artifact in header.artifacts:
        blob = _shown_blob(index, header, artifact, context, report)
        if blob is not None and context.blob is not None:
            _check_blob(index, header, artifact.name, blob, context.blob(blob.digest), report)


def _check_value(index: int, header: Header, name: str, value: bytes, report: Examined) -> None:
    try:
        if len(value) > MAX_SEALED_SIZE:
            raise MalformedEvent(f"{len(value)} bytes, at most {MAX_SEALED_SIZE} are sealed")
        canonical.decode(value)
    except Malformed as error:
        message = f"what is sealed as {name!r} is no sealed value: {error}"
        report.findings.append(Finding("sealed-altered", message, index, stream=header.stream))


def _open(
    index: int, header: Header, kind: str, name: str, commitment: str, context: Context, report: Examined
) -> bytes | None:
    opening = context.opening(commitment) if context.opening else None
    if opening is None:
        report.unresolved.append(Unresolved(index, report.leaves[-1], kind, name, "value"))
        return None
    report.opened += 1
    if len(opening.salt) != 32 or opening.commitment() != commitment:
        message = f"the value kept for {kind} {name!r} does not fit its commitment"
        report.findings.append(
            Finding("sealed-altered", message, index, stream=header.stream, expected=commitment)
        )
        return None
    return opening.value


def _shown_blob(
    index: int, header: Header, artifact: ArtifactEntry, context: Context, report: Examined
) -> BlobRef | None:
    """Return which bytes an artifact names, or None when that cannot be known here."""
    if artifact.commitment is None:
        return BlobRef(str(artifact.digest), int(artifact.size or 0))
    if context.opening is None:
        return None
    value = _open(index, header, "artifact", artifact.name, artifact.commitment, context, report)
    return None if value is None else _parse_blob(index, header, artifact.name, value, report)


def _parse_blob(index: int, header: Header, name: str, value: bytes, report: Examined) -> BlobRef | None:
    try:
        members = canonical.decode(value)
        if type(members) is not dict or members.keys() != {"digest", "size"}:
            raise MalformedEvent("expected digest and size")
        entry = ArtifactEntry(name, "application/octet-stream", members["digest"], members["size"])
        return BlobRef(str(entry.digest), int(entry.size or 0))
    except Malformed as error:
        message = f"what is sealed for artifact {name!r} names no bytes: {error}"
        report.findings.append(Finding("sealed-altered", message, index, stream=header.stream))
        return None


def _check_blob(
    index: int, header: Header, name: str, expected: BlobRef, found: BlobRef | None, report: Examined
) -> None:
    if found is None:
        report.unresolved.append(Unresolved(index, report.leaves[-1], "artifact", name, "bytes"))
    elif found != expected:
        message = f"the bytes of artifact {name!r} are not those that were recorded"
        report.findings.append(
            Finding(
                "artifact-altered",
                message,
                index,
                stream=header.stream,
                expected=f"{expected.digest}, {expected.size} bytes",
                found=f"{found.digest}, {found.size} bytes",
            )
        )
