"""The growing tree: the same roots as the compact range, the same subtrees as the naive tree."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.logs import naive_root, tree_reader

from anvil.ledger.errors import MalformedProof
from anvil.ledger.merkle import EMPTY_ROOT, CompactRange, leaf_hash
from anvil.ledger.tiledtree import TILE_WIDTH, TiledTree

LEAVES = [leaf_hash(b"%d" % number) for number in range(70_000)]
READ = tree_reader(LEAVES)
HASH = LEAVES[0]


@pytest.mark.parametrize(
    "tiles", [[[HASH] * 256], [[], [HASH] * 256], [[HASH[1:]]], [[HASH + b"\0"]], [[HASH], [b""]]]
)
def test_a_tile_that_is_full_or_holds_something_else_is_refused(tiles: list[list[bytes]]) -> None:
    with pytest.raises(MalformedProof, match="at most 255 hashes of 32 bytes"):
        TiledTree(tiles)


def test_the_empty_tree() -> None:
    for tree in (TiledTree(), TiledTree([]), TiledTree([[], []]), TiledTree.read(0, READ)):
        assert (tree.size, tree.root()) == (0, EMPTY_ROOT)
        assert tree.extend([]) == []


@given(st.lists(st.integers(0, 700), max_size=6))
def test_it_agrees_with_the_compact_range_however_it_grows(steps: list[int]) -> None:
    tree, plain = TiledTree(), CompactRange()
    for step in steps:
        part = LEAVES[tree.size : tree.size + step]
        tree.extend(part)
        plain.extend(part)
        assert (tree.size, tree.root()) == (plain.size, plain.root())


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, 70_000])
def test_it_agrees_at_the_edges_of_tiles_and_can_be_read_back(size: int) -> None:
    tree, plain = TiledTree(), CompactRange()
    tree.extend(LEAVES[:size])
    plain.extend(LEAVES[:size])
    assert tree.root() == plain.root()
    assert all(len(tile) < TILE_WIDTH for tile in tree.tiles)
    again = TiledTree.read(size, READ)
    assert (again.size, again.root()) == (size, tree.root())
    copy = TiledTree(tree.tiles)
    for grown in (again, copy):
        grown.extend(LEAVES[:300])
    assert again.root() == copy.root()


def test_the_naive_tree_agrees() -> None:
    tree = TiledTree()
    for size in range(1, 600):
        tree.extend(LEAVES[size - 1 : size])
        if size % 37 == 0 or size in (255, 256, 257, 512):
            assert tree.root() == naive_root(LEAVES[:size])


def test_each_subtree_of_a_tile_is_given_once_in_order_and_is_right() -> None:
    chance, tree, seen = random.Random(1), TiledTree(), []
    while tree.size < len(LEAVES):
        seen += tree.extend(LEAVES[tree.size : tree.size + chance.randrange(1, 1500)])
    assert [s for s in seen if s[0] == 8] == [(8, i, READ(8, i)) for i in range(70_000 >> 8)]
    assert [s for s in seen if s[0] == 16] == [(16, 0, READ(16, 0))]
    assert len(seen) == (70_000 >> 8) + 1
    assert seen.index((16, 0, READ(16, 0))) == seen.index((8, 255, READ(8, 255))) + 1


def test_what_it_shows_cannot_be_used_to_change_it() -> None:
    tree = TiledTree()
    tree.extend(LEAVES[:3])
    tiles = [list(tile) for tile in tree.tiles]
    other = TiledTree(tiles)
    tiles[0].append(HASH)
    assert (other.size, other.root()) == (3, tree.root())
