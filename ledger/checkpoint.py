"""Checkpoints: what a ledger's key signs to say "this many events, this root" (C2SP tlog-checkpoint).

1. The text of the note is the origin, the tree size in decimal without leading zeros, the base64 of
   the 32-byte root, and any extension lines; each line is not empty and ends in a newline.
2. A size is below 2**63, as every other implementation of the format holds it. Size 0 goes with the
   root of the empty tree and with no other.
3. A ledger signs under its origin as key name. While its key is being rotated a checkpoint carries
   the signatures of both keys; witnesses may add theirs under their own names.
4. A checkpoint counts only when a known key *named like its origin* signed it: else the key of one
   ledger, or a witness alone, could vouch for the history of another.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anvil.ledger.errors import MalformedCheckpoint, SignatureInvalid
from anvil.ledger.merkle import EMPTY_ROOT, HASH_SIZE
from anvil.ledger.note import VerifierKey, decode_base64, open_note, sign_note
from anvil.ledger.signing import Signer

MAX_SIZE = 2**63 - 1

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_LINE_BREAKS_AND_CONTROLS = re.compile(r"[\x00-\x1f]")


@dataclass(frozen=True)
class Checkpoint:
    """The state of one log: its origin, how many entries it has, and the root over them.

    `extensions` are further signed lines that anvil neither writes nor interprets.

    Raises:
        MalformedCheckpoint: a value that the format cannot carry.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in (self.origin, *self.extensions):
            if not line or _LINE_BREAKS_AND_CONTROLS.search(line):
                raise MalformedCheckpoint(
                    f"a checkpoint line is empty or has control characters: {line[:80]!r}"
                )
        if not 0 <= self.size <= MAX_SIZE:
            raise MalformedCheckpoint(f"a tree size is 0 to 2**63-1, not {self.size}")
        if len(self.root) != HASH_SIZE:
            raise MalformedCheckpoint(f"a root hash has {HASH_SIZE} bytes, this one has {len(self.root)}")
        if self.size == 0 and self.root != EMPTY_ROOT:
            raise MalformedCheckpoint(
                f"the root of an empty tree is {EMPTY_ROOT.hex()}, not {self.root.hex()}"
            )

    @classmethod
    def parse_body(cls, text: str) -> Checkpoint:
        """Return the checkpoint in the text of a note.

        Raises:
            MalformedCheckpoint: the text is not that of a checkpoint.
        """
        lines = text.split("\n")
        if len(lines) < 4 or lines.pop() != "":
            raise MalformedCheckpoint("a checkpoint has at least three lines, each ending in a newline")
        origin, size, root, *extensions = lines
        decoded_size, decoded_root = parse_decimal(size), decode_base64(root)
        if decoded_size is None:
            raise MalformedCheckpoint(f"not a tree size from 0 to 2**63-1: {size[:40]!r}")
        if decoded_root is None:
            raise MalformedCheckpoint(f"not the canonical base64 of a root hash: {root[:80]!r}")
        return cls(origin, decoded_size, decoded_root, tuple(extensions))

    def body(self) -> str:
        """Return the text that is signed."""
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode(), *self.extensions)
        return "".join(line + "\n" for line in lines)


def sign_checkpoint(checkpoint: Checkpoint, signers: Sequence[Signer]) -> bytes:
    """Return the signed note of a checkpoint, each signer named like its origin.

    Raises:
        MalformedKey: the origin has a space or a plus sign, so that no key can be named like it.
        MalformedNote: there are no signers.
    """
    return sign_note(checkpoint.body(), [(checkpoint.origin, signer) for signer in signers])


def open_checkpoint(raw: bytes, keys: Iterable[VerifierKey]) -> Checkpoint:
    """Return the checkpoint in a note that at least one of `keys`, named like its origin, signed.

    Raises:
        MalformedNote: the bytes are not a signed note.
        MalformedCheckpoint: the text of the note is not a checkpoint.
        SignatureInvalid: a signature of one of `keys` does not verify, or none of those that
            signed is named like the origin.
    """
    note, signed_by = open_note(raw, keys)
    checkpoint = Checkpoint.parse_body(note.text)
    if not any(key.name == checkpoint.origin for key in signed_by):
        names = ", ".join(repr(key.name[:80]) for key in signed_by)
        raise SignatureInvalid(f"checkpoint of {checkpoint.origin[:80]!r} is signed only by {names}")
    return checkpoint


def parse_decimal(text: str) -> int | None:
    """Return the number from 0 to 2**63-1 that `text` is the shortest ASCII decimal of, or None."""
    number = int(text) if _DECIMAL.fullmatch(text) else MAX_SIZE + 1
    return number if number <= MAX_SIZE else None
