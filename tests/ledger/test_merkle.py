"""The Merkle tree against a naive recursive one, and every way of bending a proof."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.logs import naive_path, naive_proof, naive_root, tree_reader

from anvil.ledger.errors import MalformedProof
from anvil.ledger.merkle import (
    EMPTY_ROOT,
    CompactRange,
    NodeReader,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    node_hash,
    root_at,
    verify_consistency,
    verify_inclusion,
)

LEAVES = [leaf_hash(str(i).encode()) for i in range(300)]
READ = tree_reader(LEAVES)
SIZES = st.integers(1, len(LEAVES))
HUGE = st.integers(1, 2**63 - 1)
HASHES = st.binary(min_size=32, max_size=32)


def uniform_reader() -> NodeReader:
    """A log of any size whose entries are all alike: one hash per level answers for all of it."""
    levels = [leaf_hash(b"")]
    for _ in range(63):
        levels.append(node_hash(levels[-1], levels[-1]))
    return lambda level, index: levels[level]


def compact(leaves: list[bytes]) -> CompactRange:
    tree = CompactRange()
    tree.extend(leaves)
    return tree


def test_the_root_of_nothing_is_the_hash_of_nothing() -> None:
    assert CompactRange().root() == root_at(0, READ) == EMPTY_ROOT == hashlib.sha256(b"").digest()


def test_roots_are_the_naive_ones_at_every_size() -> None:
    tree = CompactRange()
    for size, leaf in enumerate(LEAVES, start=1):
        tree.append(leaf)
        assert tree.size == size
        assert tree.root() == root_at(size, READ) == naive_root(LEAVES[:size])


def test_proofs_are_the_naive_ones_at_every_small_size() -> None:
    for size in range(1, 35):
        root = naive_root(LEAVES[:size])
        for index in range(size):
            path = inclusion_proof(index, size, READ)
            assert path == naive_path(index, LEAVES[:size])
            verify_inclusion(LEAVES[index], index, size, path, root)
        for old in range(1, size + 1):
            proof = consistency_proof(old, size, READ)
            assert proof == naive_proof(old, LEAVES[:size])
            verify_consistency(old, naive_root(LEAVES[:old]), size, root, proof)


@given(st.data(), SIZES)
def test_inclusion_round_trip(data: st.DataObject, size: int) -> None:
    index = data.draw(st.integers(0, size - 1))
    path = inclusion_proof(index, size, READ)
    assert path == naive_path(index, LEAVES[:size])
    verify_inclusion(LEAVES[index], index, size, path, naive_root(LEAVES[:size]))


@given(st.data(), SIZES)
def test_consistency_round_trip(data: st.DataObject, new: int) -> None:
    old = data.draw(st.integers(1, new))
    proof = consistency_proof(old, new, READ)
    assert proof == naive_proof(old, LEAVES[:new])
    verify_consistency(old, naive_root(LEAVES[:old]), new, naive_root(LEAVES[:new]), proof)


@given(st.data(), HUGE)
def test_proofs_in_a_log_of_any_size(data: st.DataObject, size: int) -> None:
    read = uniform_reader()
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    path, root = inclusion_proof(index, size, read), root_at(size, read)
    assert len(path) <= 63
    verify_inclusion(leaf_hash(b""), index, size, path, root)
    verify_consistency(old, root_at(old, read), size, root, consistency_proof(old, size, read))


@st.composite
def bent(draw: st.DrawFn, proof: list[bytes]) -> list[bytes]:
    """Draw a proof that differs from `proof`: a bit, an item more, an item less, two swapped."""
    result = list(proof)
    position = draw(st.integers(0, len(proof)))
    match draw(st.sampled_from(["flip", "insert", "remove", "swap"])):
        case "insert":
            result.insert(position, draw(HASHES | st.sampled_from(LEAVES)))
        case "remove":
            del result[position:]
        case "swap":
            result.reverse()
        case "flip" if position < len(proof):
            bit = draw(st.integers(0, 255))
            result[position] = (int.from_bytes(result[position], "big") ^ 1 << bit).to_bytes(32, "big")
    assume(result != proof)
    return result


@given(st.data(), SIZES)
def test_a_bent_inclusion_proof_is_refused(data: st.DataObject, size: int) -> None:
    index, root = data.draw(st.integers(0, size - 1)), root_at(size, READ)
    path = inclusion_proof(index, size, READ)
    with pytest.raises(MalformedProof):
        verify_inclusion(LEAVES[index], index, size, data.draw(bent(path)), root)


@given(st.data(), SIZES)
def test_an_inclusion_proof_shows_one_leaf_at_one_index_under_one_root(
    data: st.DataObject, size: int
) -> None:
    index, other = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size + 3))
    path, root = inclusion_proof(index, size, READ), root_at(size, READ)
    assume(other != index and other % len(LEAVES) != index)
    with pytest.raises(MalformedProof):
        verify_inclusion(LEAVES[index], other, size, path, root)
    with pytest.raises(MalformedProof):
        verify_inclusion(LEAVES[other % len(LEAVES)], index, size, path, root)
    with pytest.raises(MalformedProof):
        verify_inclusion(LEAVES[index], index, size, path, EMPTY_ROOT)


@given(st.data(), SIZES)
def test_a_bent_consistency_proof_is_refused(data: st.DataObject, new: int) -> None:
    old = data.draw(st.integers(1, new))
    old_root, new_root, proof = root_at(old, READ), root_at(new, READ), consistency_proof(old, new, READ)
    with pytest.raises(MalformedProof):
        verify_consistency(old, old_root, new, new_root, data.draw(bent(proof)))
    with pytest.raises(MalformedProof):
        verify_consistency(old, EMPTY_ROOT, new, new_root, proof)
    with pytest.raises(MalformedProof):
        verify_consistency(old, old_root, new, EMPTY_ROOT, proof)
    if old != new:
        with pytest.raises(MalformedProof):
            verify_consistency(old, new_root, new, old_root, proof)


@given(st.lists(HASHES, max_size=70), HASHES, HASHES, st.integers(), st.integers())
def test_arbitrary_proofs_raise_nothing_but_malformed(
    proof: list[bytes], leaf: bytes, root: bytes, a: int, b: int
) -> None:
    with pytest.raises(MalformedProof):
        verify_inclusion(leaf, a, b, [*proof, leaf], root)
    with pytest.raises(MalformedProof):
        verify_consistency(a, leaf, b, root, [*proof, leaf])


@given(st.integers(-3, 300), st.integers(-3, 300))
def test_proofs_of_what_is_not_there_are_refused(a: int, b: int) -> None:
    if not 0 <= a < b:
        with pytest.raises(MalformedProof):
            inclusion_proof(a, b, READ)
    if not 1 <= a <= b:
        with pytest.raises(MalformedProof):
            consistency_proof(a, b, READ)
    if a < 0:
        with pytest.raises(MalformedProof):
            root_at(a, READ)


def test_an_empty_leaf_or_root_is_refused() -> None:
    leaf, root = LEAVES[0], root_at(2, READ)
    proof = inclusion_proof(0, 2, READ)
    for bad in (b"", leaf[:31], leaf + b"\0"):
        with pytest.raises(MalformedProof, match="a hash has 32"):
            verify_inclusion(bad, 0, 2, proof, root)
        with pytest.raises(MalformedProof, match="a hash has 32"):
            verify_inclusion(leaf, 0, 2, proof, bad)
        with pytest.raises(MalformedProof, match="a hash has 32"):
            verify_inclusion(leaf, 0, 2, [bad], root)
        with pytest.raises(MalformedProof, match="a hash has 32"):
            verify_consistency(1, bad, 1, bad, [])


def test_a_consistency_proof_from_size_zero_is_refused() -> None:
    with pytest.raises(MalformedProof, match="size 0 would prove nothing"):
        verify_consistency(0, EMPTY_ROOT, 5, root_at(5, READ), [])
    with pytest.raises(MalformedProof, match="size 0 would prove nothing"):
        consistency_proof(0, 5, READ)


# --- compact ranges --------------------------------------------------------------------------------


@given(st.lists(HASHES, max_size=70), st.integers(0, 70))
def test_a_compact_range_may_be_put_down_and_taken_up(leaves: list[bytes], cut: int) -> None:
    first = compact(leaves[:cut])
    second = CompactRange.from_peaks(first.size, first.peaks)
    second.extend(leaves[cut:])
    assert second.size == len(leaves)
    assert second.root() == compact(leaves).root() == naive_root(leaves)
    assert second.peaks == compact(leaves).peaks
    assert len(second.peaks) == len(leaves).bit_count()


def test_a_copy_grows_apart() -> None:
    tree = compact(LEAVES[:5])
    copy = tree.copy()
    copy.append(LEAVES[5])
    assert (tree.size, copy.size) == (5, 6)
    assert tree.root() == naive_root(LEAVES[:5])


@pytest.mark.parametrize(
    ("size", "peaks"),
    [(-1, []), (0, LEAVES[:1]), (3, LEAVES[:1]), (3, LEAVES[:3]), (1, [b""]), (1, [b"x" * 33])],
)
def test_peaks_that_do_not_fit_the_size_are_refused(size: int, peaks: list[bytes]) -> None:
    with pytest.raises(MalformedProof):
        CompactRange.from_peaks(size, peaks)


def test_a_wrong_leaf_leaves_a_usable_range() -> None:
    tree = CompactRange()
    with pytest.raises(MalformedProof, match="leaf 3 has 0 bytes"):
        tree.extend([*LEAVES[:3], b"", *LEAVES[4:9]])
    tree.extend(LEAVES[3:9])
    assert tree.root() == naive_root(LEAVES[:9])
