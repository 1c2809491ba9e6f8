"""Offline proofs that an entry is in a log: C2SP tlog-proof, version 1.

1. The lines are ``c2sp.org/tlog-proof@v1``, then perhaps ``extra <base64>``, ``index <decimal>``,
   the base64 of each hash of the inclusion proof from the leaf's sibling up, an empty line, and the
   signed checkpoint as it was issued.
2. Parsing checks the form only. `TlogProof.verify` opens the checkpoint under the keys that the
   reader trusts, and only then checks that the proof leads from the entry to its root.
3. `extra` is covered by no signature and by no hash: whoever passes a proof on can change it.
4. Base64 and decimals have one spelling, so a proof that is parsed and written again has the same
   bytes. No log holds more than 2**63 entries, so there are at most 63 hashes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from anvil.ledger.checkpoint import MAX_SIZE, Checkpoint, open_checkpoint, parse_decimal
from anvil.ledger.errors import MalformedProof
from anvil.ledger.merkle import HASH_SIZE, leaf_hash, verify_inclusion
from anvil.ledger.note import VerifierKey, decode_base64

MAX_HASHES = 63

_HEADER = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True)
class TlogProof:
    """What shows that an entry stands at `index` of the log that signed `checkpoint`.

    `hashes` are the 32-byte hashes of the inclusion proof, `checkpoint` the bytes of the signed
    note, `extra` unauthenticated bytes or None.

    Raises:
        MalformedProof: a value that the format cannot carry.
    """

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.index <= MAX_SIZE:
            raise MalformedProof(f"an index is 0 to 2**63-1, not {self.index}")
        if len(self.hashes) > MAX_HASHES or any(len(value) != HASH_SIZE for value in self.hashes):
            raise MalformedProof(f"an inclusion proof is at most {MAX_HASHES} hashes of {HASH_SIZE} bytes")
        if not self.checkpoint:
            raise MalformedProof("a tlog-proof ends with a checkpoint, this one has none")
        if self.extra == b"":
            raise MalformedProof("extra data that is empty is left out of a tlog-proof")

    @classmethod
    def parse(cls, raw: bytes) -> TlogProof:
        """Return the proof in these bytes without verifying it.

        Raises:
            MalformedProof: they are not a tlog-proof in its canonical spelling.
        """
        head, separator, checkpoint = raw.partition(b"\n\n")
        if not separator or not head.isascii():
            raise MalformedProof("a tlog-proof is ASCII lines, an empty line and a checkpoint")
        lines = head.decode("ascii").split("\n")
        if lines.pop(0) != _HEADER:
            raise MalformedProof(f"the first line of a tlog-proof is {_HEADER!r}")
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = _base64_field(lines.pop(0).removeprefix("extra "), "extra data")
        if not lines or not lines[0].startswith("index "):
            raise MalformedProof("a tlog-proof has a line 'index <decimal>' before its hashes")
        index = parse_decimal(lines.pop(0).removeprefix("index "))
        if index is None:
            raise MalformedProof("the index of a tlog-proof is not a decimal from 0 to 2**63-1")
        hashes = tuple(_base64_field(line, "a hash") for line in lines[: MAX_HASHES + 1])
        return cls(index, hashes, checkpoint, extra)

    def to_bytes(self) -> bytes:
        """Return the bytes of a ``.tlog-proof`` file."""
        lines = [_HEADER]
        if self.extra is not None:
            lines.append(f"extra {base64.b64encode(self.extra).decode()}")
        lines.append(f"index {self.index}")
        lines.extend(base64.b64encode(value).decode() for value in self.hashes)
        return "".join(line + "\n" for line in lines).encode() + b"\n" + self.checkpoint

    def verify(self, entry: bytes, keys: Iterable[VerifierKey]) -> Checkpoint:
        """Return the checkpoint, which one of `keys` signed, of a log that holds `entry` at `index`.

        Raises:
            MalformedNote, MalformedCheckpoint: what follows the proof is not a checkpoint.
            SignatureInvalid: none of `keys` signed it for its origin, or a signature is bad.
            MalformedProof: the hashes do not lead from `entry` at `index` to its root.
        """
        checkpoint = open_checkpoint(self.checkpoint, keys)
        verify_inclusion(leaf_hash(entry), self.index, checkpoint.size, self.hashes, checkpoint.root)
        return checkpoint


def _base64_field(text: str, name: str) -> bytes:
    decoded = decode_base64(text)
    if decoded is None:
        raise MalformedProof(f"{name} of a tlog-proof is not canonical base64: {text[:80]!r}")
    return decoded
