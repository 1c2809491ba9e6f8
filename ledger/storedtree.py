"""The tree of a store: roots and proofs from a few hundred stored hashes.

The store keeps every leaf hash and the root of each complete subtree of 256, 65,536, … leaves, the
levels of C2SP tiles. Any complete subtree is made from at most 256 of them.
"""

from __future__ import annotations

from anvil.ledger.errors import StoreDamaged
from anvil.ledger.merkle import CompactRange
from anvil.ledger.store import Store
from anvil.ledger.tiledtree import TILE_HEIGHT, TILE_WIDTH, TiledTree


class StoredTree:
    """A reader of complete subtrees. It remembers the blocks that it has read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._blocks: dict[tuple[int, int], list[bytes]] = {}

    def read(self, level: int, position: int) -> bytes:
        """Return the root of the `position`-th complete subtree of ``2**level`` leaves.

        Raises:
            StoreDamaged: a hash that must be stored is not.
        """
        base, height = divmod(level, TILE_HEIGHT)
        first = position << height
        hashes = self._block(base, first // TILE_WIDTH)[first % TILE_WIDTH :][: 1 << height]
        if len(hashes) != 1 << height:
            raise StoreDamaged(
                f"{self._store.path}: tree hashes are missing at level {level}, position {position}"
            )
        subtree = CompactRange()
        subtree.extend(hashes)
        return subtree.root()

    def whole(self) -> TiledTree:
        """Return the tree over everything stored, ready to grow."""
        return TiledTree.read(self._store.size(), self.read)

    def _block(self, base: int, number: int) -> list[bytes]:
        if (base, number) not in self._blocks:
            start, stop = number * TILE_WIDTH, (number + 1) * TILE_WIDTH
            self._blocks[base, number] = (
                self._store.node_hashes(base * TILE_HEIGHT, start, stop)
                if base
                else self._store.leaf_hashes(start, stop)
            )
        return self._blocks[base, number]
