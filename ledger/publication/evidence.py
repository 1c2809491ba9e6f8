"""Envelopes and their proofs in files: verbatim, one a line, in order of index.

1. An entry has no line break in it, so `sha256sum` and any other tool can take the lines apart.
2. A line of proofs is the index in decimal, then the hashes of the inclusion proof in base64, from the
   leaf's sibling up, with single blanks between. A consistency proof is one line of hashes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anvil.ledger.checkpoint import parse_decimal
from anvil.ledger.errors import MalformedPublication
from anvil.ledger.merkle import HASH_SIZE, NodeReader, inclusion_proof, leaf_hash
from anvil.ledger.note import decode_base64
from anvil.ledger.tlogproof import MAX_HASHES
from anvil.ledger.wording import counted


@dataclass(frozen=True)
class Proved:
    """One entry, its index, and the hashes that lead to a root."""

    index: int
    entry: bytes
    hashes: tuple[bytes, ...]

    @property
    def leaf(self) -> bytes:
        """Its leaf hash; in hex the entry hash that other events name it by."""
        return leaf_hash(self.entry)


def prove_all(entries: Iterable[tuple[int, bytes]], size: int, read: NodeReader) -> tuple[Proved, ...]:
    """Return entries with their proofs under the tree of `size` leaves."""
    return tuple(Proved(index, entry, tuple(inclusion_proof(index, size, read))) for index, entry in entries)


def encode(proved: Sequence[Proved]) -> tuple[bytes, bytes]:
    """Return the file of entries and the file of proofs."""
    entries = b"".join(one.entry + b"\n" for one in proved)
    proofs = "".join(f"{one.index}{_joined(one.hashes)}\n" for one in proved)
    return entries, proofs.encode()


def decode(entries: bytes, proofs: bytes) -> tuple[Proved, ...]:
    """Return what two files hold, without verifying it.

    Raises:
        MalformedPublication: they are not such files, or do not belong together.
    """
    envelopes, lines = _lines(entries, "entries"), _lines(proofs, "proofs")
    if len(envelopes) != len(lines):
        raise MalformedPublication(
            f"there are {counted(len(envelopes), 'entry')} and {counted(len(lines), 'proof')}"
        )
    found: list[Proved] = []
    for envelope, line in zip(envelopes, lines, strict=True):
        first, *hashes = line.decode("ascii", "replace").split(" ")
        index = parse_decimal(first)
        if index is None or (found and index <= found[-1].index):
            raise MalformedPublication(f"the indices of the proofs do not rise: {first[:40]!r}")
        found.append(Proved(index, envelope, _hashes(hashes)))
    return tuple(found)


def encode_hashes(hashes: Sequence[bytes]) -> bytes:
    """Return the file of a consistency proof."""
    return f"{_joined(hashes).removeprefix(' ')}\n".encode()


def decode_hashes(raw: bytes) -> tuple[bytes, ...]:
    """Return the hashes of a consistency proof.

    Raises:
        MalformedPublication: it is none.
    """
    lines = _lines(raw, "a consistency proof")
    if len(lines) != 1:
        raise MalformedPublication("a consistency proof is one line")
    text = lines[0].decode("ascii", "replace")
    return _hashes(text.split(" ") if text else [])


def _joined(hashes: Sequence[bytes]) -> str:
    return "".join(f" {base64.b64encode(value).decode()}" for value in hashes)


def _hashes(texts: Sequence[str]) -> tuple[bytes, ...]:
    decoded = [decode_base64(text) for text in texts[: 2 * MAX_HASHES + 1]]
    found = tuple(value for value in decoded if value is not None and len(value) == HASH_SIZE)
    if len(found) != len(texts):
        raise MalformedPublication("a proof is hashes of 32 bytes in canonical base64")
    return found


def _lines(raw: bytes, name: str) -> list[bytes]:
    if not raw:
        return []
    if not raw.endswith(b"\n"):
        raise MalformedPublication(f"the last line of {name} has no end")
    return raw[:-1].split(b"\n")
