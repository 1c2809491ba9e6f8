"""Continuity: what a verification that begins in the middle still knows of what lies before.

Older entries are not read again, but the tree hashes over them are at hand, and they must lead to
what is known from outside.

1. The stored tree has, at the size of the earlier verification, the root that was found then. If not,
   the ledger's key may have signed another history: it did when the newest checkpoint fits that
   tree. Otherwise stored hashes were altered.
2. A state older than the earlier verification, a checkpoint from outside or the last good state that a
   revocation names, is one of the same history: a consistency proof from it leads to the root that was
   found then (RFC 9162, 2.1.4).

The stored hashes are not believed: a root or a proof that comes out right cannot be made from wrong
ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from anvil.ledger.checkpoint import Checkpoint
from anvil.ledger.checks.finding import Finding
from anvil.ledger.checks.tree import StatedRoot
from anvil.ledger.errors import MalformedProof
from anvil.ledger.merkle import EMPTY_ROOT, NodeReader, consistency_proof, root_at, verify_consistency


def check_continuity(
    before: Checkpoint, newest: Checkpoint | None, older: Iterable[StatedRoot], read: NodeReader
) -> list[Finding]:
    """Compare the stored tree that `read` reads with the state `before` of an earlier verification.

    `newest` is the newest stored checkpoint that a ledger key signed, if it is at least that new. `older`
    are roots at sizes below that of `before`.
    """
    if not before.size:
        return []
    found = [_differs(stated) for stated in older if not _leads_to(before, stated, read)]
    root = root_at(before.size, read)
    if root == before.root:
        return found
    signed = newest is not None and newest.root == root_at(newest.size, read)
    message = "an earlier verification: the stored tree has another root"
    code = "split-view" if signed else "tampered"
    return [
        *found,
        Finding(code, message, 0, before.size, expected=before.root.hex(), found=root.hex()),  # type: ignore[arg-type]
    ]


def _leads_to(before: Checkpoint, stated: StatedRoot, read: NodeReader) -> bool:
    """Rule 2."""
    if stated.size == 0:
        return stated.root == EMPTY_ROOT
    try:
        proof = consistency_proof(stated.size, before.size, read)
        verify_consistency(stated.size, stated.root, before.size, before.root, proof)
    except MalformedProof:
        return False
    return True


def _differs(stated: StatedRoot) -> Finding:
    message = f"{stated.by}: its state at size {stated.size} is not part of what was verified earlier"
    return Finding(stated.code, message, 0, stated.size, expected=stated.root.hex())
