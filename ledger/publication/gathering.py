"""Which events go along with a document, and the snapshot of the keys.

1. Every event of each stream that has one of the campaign, or one that is cited.
2. Every event of each stream that corrects an event of these, or that ends one of these streams.
3. Every event of each stream that has an event about keys. Whoever may sign what follows from them.

So nothing of a chosen stream is left out, and its chain shows it. That there is no other stream is the
ledger's word: nothing in a folder can show it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.header import Header, family
from anvil.ledger.keyring import KEY_FAMILIES, Keyring
from anvil.ledger.publication.evidence import Proved, prove_all
from anvil.ledger.store import Row, Store
from anvil.ledger.storedtree import StoredTree

_CORRECTS = frozenset(
    {
        "event.retracted",
        "artifact.redacted",
        "artifact.missing",
        "artifact.disclosed",
        "evidence.attached",
        "sealed.redacted",
        "excerpt.approved",
    }
)
KEYRING_SCHEMA = "anvil.keyring/1"


@dataclass(frozen=True)
class Gathered:
    """The events of a publication, proved under its fold, and the ids of their streams."""

    fold: Checkpoint
    proved: tuple[Proved, ...]
    streams: frozenset[str]


def gather(store: Store, fold: Checkpoint, campaign: str, cited: Collection[str]) -> Gathered:
    """Return the events that go along with a document of `campaign` that cites entry hashes.

    Raises:
        Malformed: an entry is none.
        PublicationRefused: a lookup column is not what its entry says; a draft that is made by the columns would
            leave something out.
    """
    headers = {row.leaf_hash.hex(): _header(row) for row in store.rows(0, fold.size)}
    streams = {
        header.stream
        for name, header in headers.items()
        if header.subject.campaign == campaign or name in cited or family(header.event) in KEY_FAMILIES
    }
    while more := set(_about(headers, streams)) - streams:
        streams |= more
    chosen = [(row.entry_index, row.entry) for row in store.rows(0, fold.size) if row.stream in streams]
    return Gathered(fold, prove_all(chosen, fold.size, StoredTree(store).read), frozenset(streams))


def _header(row: Row) -> Header:
    header = Header.parse(Envelope.parse(row.entry).header)
    if (row.event, row.stream, row.campaign) != (header.event, header.stream, header.subject.campaign):
        raise PublicationRefused(
            f"a lookup column of entry {row.entry_index} says something else than the entry",
            advice="Run `anvil verify`; nothing is released from a ledger that somebody altered.",
        )
    return header


def _about(headers: dict[str, Header], streams: Collection[str]) -> Iterator[str]:
    """Yield the streams with an event that corrects an event of `streams`, or ends one of them (rule 2)."""
    for header in headers.values():
        target = headers.get(str(header.facts.get("target")))
        corrects = family(header.event) in _CORRECTS and target is not None and target.stream in streams
        ends = family(header.event) == "stream.abandoned" and header.facts.get("abandoned") in streams
        if corrects or ends:
            yield header.stream


def keyring_snapshot(keyrings: Collection[Keyring]) -> bytes:
    """Return the keys of the ledger, and of those that it carries, as they stand in a folder."""
    members = [
        {
            "origin": keyring.origin,
            "base": keyring.base,
            "keys": [
                {
                    "key": known.public_key.key_id,
                    "public_key": known.public_key.raw.hex(),
                    "role": known.role,
                    "added": known.added,
                    "rotated": known.rotated,
                    "revoked": known.revoked,
                    "last_good": known.last_good,
                }
                for known in keyring.keys.values()
            ],
        }
        for keyring in sorted(keyrings, key=lambda keyring: keyring.base)
    ]
    return f"{json.dumps({'schema': KEYRING_SCHEMA, 'keyrings': members}, indent=1)}\n".encode()
