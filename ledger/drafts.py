"""Drafts: events on their way into a stream, before and after they are signed.

A `Draft` is what a recorder wants to say. Preparing it settles its place in the stream, seals what
is private and signs; a `Prepared` event is complete and only waits for its index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from anvil.ledger import canonical, envelope
from anvil.ledger.blobs import BlobRef
from anvil.ledger.commitments import Opening
from anvil.ledger.envelope import Signature, enclose
from anvil.ledger.errors import MalformedHeader
from anvil.ledger.events import Event
from anvil.ledger.header import NO_SUBJECT, ArtifactEntry, Header, Subject
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.signing import Signer


@dataclass(frozen=True, slots=True)
class Attachment:
    """Bytes in the blob store that an event names.

    A private one shows only a salted commitment in the log.
    """

    name: str
    media_type: str
    blob: BlobRef
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """An event to be recorded: what, about what, with which artifacts, and who signs besides the stream's key."""

    event: Event
    subject: Subject = NO_SUBJECT
    attachments: tuple[Attachment, ...] = ()
    cosigners: tuple[Signer, ...] = ()


class Unsigned(NamedTuple):
    """A header in its place in a stream, with the openings of its commitments."""

    draft: Draft
    header: Header
    header_hash: str
    openings: tuple[Opening, ...]


class Prepared(NamedTuple):
    """A signed event: its entry, the leaf hash that names it, and the openings to keep beside it."""

    draft: Draft
    header: Header
    header_hash: str
    entry: bytes
    leaf: bytes
    signed_by: tuple[str, ...]
    openings: tuple[Opening, ...]


def artifact_opening(blob: BlobRef) -> Opening:
    """Return a fresh opening for the digest and size of a private artifact."""
    return Opening.of(canonical.encode({"digest": blob.digest, "size": blob.size}))


def seal(draft: Draft) -> tuple[dict[str, str], tuple[ArtifactEntry, ...], tuple[Opening, ...]]:
    """Return the commitments of the sealed fields, the artifacts as the header shows them, and all openings.

    Raises:
        MalformedHeader: two attachments have one name.
        MalformedEvent: a sealed value is too large.
    """
    fields = draft.event.openings()
    if not fields and not draft.attachments:
        return {}, (), ()
    openings = list(fields.values())
    artifacts = []
    for item in draft.attachments:
        if item.is_public:
            artifacts.append(ArtifactEntry(item.name, item.media_type, item.blob.digest, item.blob.size))
        else:
            opening = artifact_opening(item.blob)
            openings.append(opening)
            artifacts.append(ArtifactEntry(item.name, item.media_type, commitment=opening.commitment()))
    if len({artifact.name for artifact in artifacts}) != len(artifacts):
        raise MalformedHeader("two attachments of one event have the same name")
    return {name: opening.commitment() for name, opening in fields.items()}, tuple(artifacts), tuple(openings)


def sign_all(unsigned: Sequence[Unsigned], signer: Signer) -> list[Prepared]:
    """Sign headers."""
    messages = [envelope.pae(item.header.raw) for item in unsigned]
    signatures = [signer.sign(message) for message in messages]  # one after another: see `checks.entries`
    key_id = signer.public_key.key_id
    return [
        _prepare(item, message, Signature(key_id, signature))
        for item, message, signature in zip(unsigned, messages, signatures, strict=True)
    ]


def _prepare(item: Unsigned, message: bytes, first: Signature) -> Prepared:
    draft, header, header_hash, openings = item
    signatures, signed_by = [first], [first.key_id]
    if draft.cosigners:
        signatures += _cosign(draft.cosigners, message, first.key_id)
        signed_by = [signature.key_id for signature in signatures]
    entry = enclose(header.raw, signatures)
    return Prepared(draft, header, header_hash, entry, leaf_hash(entry), tuple(signed_by), openings)


def _cosign(cosigners: Sequence[Signer], message: bytes, first: str) -> Iterable[Signature]:
    """Return the signatures of those who sign besides the key `first`, one by each key."""
    keys = {signer.public_key.key_id: signer for signer in cosigners}
    return [Signature(key_id, signer.sign(message)) for key_id, signer in keys.items() if key_id != first]
