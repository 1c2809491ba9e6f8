"""Logs for tests: the naive Merkle tree of RFC 9162, readers over it, and a log written as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from anvil.ledger import tiles
from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.merkle import EMPTY_ROOT, NodeReader, leaf_hash, node_hash, root_at
from anvil.ledger.note import VerifierKey
from anvil.ledger.signing import PrivateKey, Signer

ORIGIN = "log.test.invalid/golden"
SIGNER = PrivateKey.from_seed(bytes(range(32)))
"""The key of every deterministic test log: its seed is no secret."""


def key_of(signer: Signer, origin: str = ORIGIN) -> VerifierKey:
    """Return the verifier key of a log's signer."""
    return VerifierKey(origin, signer.public_key)


# --- RFC 9162, section 2.1, word for word and without any thought of speed -------------------------


def naive_root(leaves: Sequence[bytes]) -> bytes:
    """MTH of 2.1.1 over leaf hashes."""
    if len(leaves) < 2:
        return leaves[0] if leaves else EMPTY_ROOT
    k = _split(len(leaves))
    return node_hash(naive_root(leaves[:k]), naive_root(leaves[k:]))


def naive_path(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PATH of 2.1.3.1 over leaf hashes."""
    if len(leaves) == 1:
        return []
    k = _split(len(leaves))
    if m < k:
        return [*naive_path(m, leaves[:k]), naive_root(leaves[k:])]
    return [*naive_path(m - k, leaves[k:]), naive_root(leaves[:k])]


def naive_proof(m: int, leaves: Sequence[bytes]) -> list[bytes]:
    """PROOF of 2.1.4.1 over leaf hashes."""
    return _subproof(m, leaves, True)


def _subproof(m: int, leaves: Sequence[bytes], known: bool) -> list[bytes]:
    if m == len(leaves):
        return [] if known else [naive_root(leaves)]
    k = _split(len(leaves))
    if m <= k:
        return [*_subproof(m, leaves[:k], known), naive_root(leaves[k:])]
    return [*_subproof(m - k, leaves[k:], False), naive_root(leaves[:k])]


def _split(size: int) -> int:
    k = 1
    while k * 2 < size:
        k *= 2
    return k


# --- a tree in memory, a log on disk -----------------------------------------------------------------


def tree_reader(leaves: Sequence[bytes]) -> NodeReader:
    """Return a reader of the complete subtrees over leaf hashes, each computed once and up front."""
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([node_hash(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)])

    def read(level: int, index: int) -> bytes:
        return levels[level][index]

    return read


def synthetic_entries(count: int) -> list[bytes]:
    """Return entries that differ in content and length; entry 2 is empty."""
    return [b"" if i == 2 else f'{{"n":{i},"pad":"{"." * (i % 7)}"}}'.encode() for i in range(count)]


def write_log(directory: Path, entries: Sequence[bytes], signer: Signer, origin: str) -> Checkpoint:
    """Write `log.vkey`, `checkpoint` and `tile/` of a C2SP tlog-tiles log; return its checkpoint."""
    read = tree_reader([leaf_hash(entry) for entry in entries])
    checkpoint = Checkpoint(origin, len(entries), root_at(len(entries), read))
    for level, index, width in tiles.layout(len(entries)):
        _write(directory / tiles.tile_path(level, index, width), tiles.encode_tile(level, index, width, read))
        if level == 0:
            first = index * tiles.TILE_WIDTH
            bundle = tiles.encode_bundle(entries[first : first + width])
            _write(directory / tiles.entries_path(index, width), bundle)
    _write(directory / "log.vkey", f"{key_of(signer, origin)}\n".encode())
    _write(directory / "checkpoint", sign_checkpoint(checkpoint, [signer]))
    return checkpoint


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
