"""The Merkle tree of RFC 9162, section 2.1 (the same tree as RFC 6962): roots, proofs, verification.

1. A leaf's hash is ``SHA-256(0x00 || entry)``, a node's is ``SHA-256(0x01 || left || right)``, and
   the root of an empty tree is ``SHA-256("")``. The prefixes keep an entry from passing for a node.
2. A tree of n leaves splits at the largest power of two below n. So it is known by its peaks: the
   roots of the complete subtrees that the binary digits of n name, largest first. A `CompactRange`
   holds only these, and adds leaves in one pass and constant memory.
3. Proofs are made from complete subtrees alone, fetched through a `NodeReader`: whoever stores
   hashes, a database or tiles, only has to answer "the root of the i-th subtree of 2**level leaves".
4. A proof is checked by the iterative algorithms of RFC 9162, sections 2.1.3.2 and 2.1.4.2.
5. Every hash has 32 bytes; an empty leaf or root is refused. A consistency proof from size 0 is
   refused too: it holds for any tree, so it proves nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from anvil.ledger.errors import MalformedProof

HASH_SIZE = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()

NodeReader = Callable[[int, int], bytes]
"""``read(level, index)``: the root of the `index`-th complete subtree of ``2**level`` leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the 32-byte hash of an entry as a leaf of the tree (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the 32-byte hash of the node over two 32-byte hashes (RFC 9162, 2.1.1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class CompactRange:
    """The first `size` leaves of a log, known only by their peaks; grows leaf by leaf.

    `peaks` are the roots of the complete subtrees of the tree, left to right and so largest
    first: one for each binary digit 1 of `size`.
    """

    __slots__ = ("_peaks", "_size")

    def __init__(self) -> None:
        self._peaks: list[bytes] = []
        self._size = 0

    @classmethod
    def from_peaks(cls, size: int, peaks: Sequence[bytes]) -> CompactRange:
        """Return the range that `peaks` left when it had `size` leaves.

        Raises:
            MalformedProof: `size` is negative, or needs another number of peaks, or a peak is
                not 32 bytes long.
        """
        if size < 0 or len(peaks) != size.bit_count():
            raise MalformedProof(f"{len(peaks)} peaks do not make a tree of size {size}")
        for peak in peaks:
            _require_hash(peak, "peak")
        restored = cls()
        restored._peaks, restored._size = list(peaks), size
        return restored

    @property
    def size(self) -> int:
        """How many leaves were added."""
        return self._size

    @property
    def peaks(self) -> tuple[bytes, ...]:
        """The 32-byte roots of the complete subtrees, left to right."""
        return tuple(self._peaks)

    def copy(self) -> CompactRange:
        """Return a range that grows apart from this one."""
        return CompactRange.from_peaks(self._size, self._peaks)

    def append(self, leaf: bytes) -> None:
        """Add one leaf by its 32-byte leaf hash.

        Raises:
            MalformedProof: `leaf` is not 32 bytes long.
        """
        self.extend((leaf,))

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add many leaves by their 32-byte leaf hashes, in order.

        Raises:
            MalformedProof: one of them is not 32 bytes long; those before it were added.
        """
        peaks, size, sha256 = self._peaks, self._size, hashlib.sha256
        try:
            for node in leaves:
                if len(node) != HASH_SIZE:
                    _require_hash(node, f"leaf {size}")
                merges = size + 1
                while not merges & 1:  # the binary counter carries: two equal subtrees become one
                    node = sha256(b"\x01" + peaks.pop() + node).digest()
                    merges >>= 1
                peaks.append(node)
                size += 1
        finally:
            self._size = size

    def root(self) -> bytes:
        """Return the 32-byte root of the tree (RFC 9162, 2.1.1)."""
        return _fold(self._peaks) if self._peaks else EMPTY_ROOT


def root_at(size: int, read: NodeReader) -> bytes:
    """Return the root of the tree of the first `size` leaves.

    Raises:
        MalformedProof: `size` is negative.
    """
    if size < 0:
        raise MalformedProof(f"a tree cannot have {size} leaves")
    return _range_root(0, size, read) if size else EMPTY_ROOT


def inclusion_proof(index: int, size: int, read: NodeReader) -> list[bytes]:
    """Return the hashes that lead from leaf `index` to the root of `size` leaves (RFC 9162, 2.1.3.1).

    They run from the leaf's sibling up to the root's child.

    Raises:
        MalformedProof: there is no such leaf in a tree of that size.
    """
    _require_leaf(index, size)
    low, high, siblings = 0, size, []
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            siblings.append(_range_root(middle, high, read))
            high = middle
        else:
            siblings.append(_range_root(low, middle, read))
            low = middle
    return siblings[::-1]


def consistency_proof(old: int, new: int, read: NodeReader) -> list[bytes]:
    """Return the hashes that show the tree of `new` leaves to begin with that of `old` (RFC 9162, 2.1.4.1).

    Raises:
        MalformedProof: `old` is 0 or exceeds `new`.
    """
    _require_growth(old, new)
    low, high, hashes, on_left_edge = 0, new, [], True
    while old != high:
        middle = low + _split(high - low)
        if old <= middle:
            hashes.append(_range_root(middle, high, read))
            high = middle
        else:
            hashes.append(_range_root(low, middle, read))
            low, on_left_edge = middle, False
    if not on_left_edge:  # on the left edge the verifier has this hash already: it is the old root
        hashes.append(_range_root(low, high, read))
    return hashes[::-1]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> None:
    """Check that the leaf with this hash stands at `index` in the tree of `size` leaves and that root.

    The algorithm is that of RFC 9162, 2.1.3.2; `fn` and `sn` there are `node` and `last` here.

    Raises:
        MalformedProof: it does not, or a hash is not 32 bytes long.
    """
    _require_leaf(index, size)
    _require_hashes(proof, leaf=leaf, root=root)
    node, last, computed = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            raise MalformedProof(f"inclusion proof of leaf {index} in size {size} has too many hashes")
        if node & 1 or node == last:
            computed = node_hash(sibling, computed)
            node, last = _past_missing_siblings(node, last)
        else:
            computed = node_hash(computed, sibling)
        node, last = node >> 1, last >> 1
    if last:
        raise MalformedProof(f"inclusion proof of leaf {index} in size {size} has too few hashes")
    _require_root(computed, root, f"inclusion proof of leaf {index} in size {size}")


def verify_consistency(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> None:
    """Check that the tree of `new` leaves begins with that of `old` leaves (RFC 9162, 2.1.4.2).

    `fn` and `sn` there are `node` and `last` here, `fr` and `sr` are `was` and `now`.

    Raises:
        MalformedProof: it does not, a hash is not 32 bytes long, or `old` is 0.
    """
    _require_growth(old, new)
    _require_hashes(proof, old_root=old_root, new_root=new_root)
    claim = f"consistency proof from size {old} to {new}"
    if old == new:
        if proof:
            raise MalformedProof(f"{claim} has too many hashes")
        _require_root(new_root, old_root, claim)
        return
    path = [old_root, *proof] if old & (old - 1) == 0 else list(proof)
    if not path:
        raise MalformedProof(f"{claim} has too few hashes")
    node, last = old - 1, new - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    was = now = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise MalformedProof(f"{claim} has too many hashes")
        if node & 1 or node == last:
            was, now = node_hash(sibling, was), node_hash(sibling, now)
            node, last = _past_missing_siblings(node, last)
        else:
            now = node_hash(now, sibling)
        node, last = node >> 1, last >> 1
    if last:
        raise MalformedProof(f"{claim} has too few hashes")
    _require_root(was, old_root, f"{claim}, old tree")
    _require_root(now, new_root, f"{claim}, new tree")


def _split(size: int) -> int:
    """Return the largest power of two below `size`, which is at least 2."""
    return 1 << (size - 1).bit_length() - 1


def _subtrees(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yield (level, index) of the complete subtrees that make up leaves low to high, left to right."""
    while low < high:
        level = (high - low).bit_length() - 1
        yield level, low >> level
        low += 1 << level


def _range_root(low: int, high: int, read: NodeReader) -> bytes:
    """Return the root over leaves low to high, where `low` is a boundary at which a tree splits."""
    return _fold([read(level, index) for level, index in _subtrees(low, high)])


def _fold(peaks: Sequence[bytes]) -> bytes:
    """Return the root over at least one peak: the two rightmost are joined first."""
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node_hash(peak, root)
    return root


def _past_missing_siblings(node: int, last: int) -> tuple[int, int]:
    """Climb over the levels at which a node on the right edge has no sibling."""
    while node and not node & 1:
        node, last = node >> 1, last >> 1
    return node, last


def _require_leaf(index: int, size: int) -> None:
    if not 0 <= index < size:
        raise MalformedProof(f"there is no leaf {index} in a tree of size {size}")


def _require_growth(old: int, new: int) -> None:
    if old < 1:
        raise MalformedProof(f"a consistency proof from size {old} would prove nothing")
    if old > new:
        raise MalformedProof(f"a tree of size {new} does not begin with one of size {old}")


def _require_hashes(proof: Sequence[bytes], **named: bytes) -> None:
    for name, value in named.items():
        _require_hash(value, name.replace("_", " "))
    for position, value in enumerate(proof):
        _require_hash(value, f"hash {position} of the proof")


def _require_hash(value: bytes, name: str) -> None:
    if len(value) != HASH_SIZE:
        raise MalformedProof(f"{name} has {len(value)} bytes, a hash has {HASH_SIZE}")


def _require_root(computed: bytes, expected: bytes, claim: str) -> None:
    if computed != expected:
        raise MalformedProof(f"{claim} leads to root {computed.hex()}, not {expected.hex()}")
