"""A growing Merkle tree that knows the subtrees its tiles need (RFC 9162; C2SP tlog-tiles).

It holds, for each tile level, the hashes of the one tile that is not full yet: at most 255 hashes a
level. Adding leaves yields the root of each subtree of 2**8, 2**16, … leaves that becomes complete,
and every inner node is hashed once.
"""

from __future__ import annotations

from collections.abc import Sequence

from anvil.ledger.errors import MalformedProof
from anvil.ledger.merkle import CompactRange, NodeReader

TILE_HEIGHT = 8
TILE_WIDTH = 1 << TILE_HEIGHT

Subtree = tuple[int, int, bytes]
"""(level, position, root): the `position`-th complete subtree of ``2**level`` leaves."""


class TiledTree:
    """The tree of the first `size` leaves, known by its unfinished tiles."""

    def __init__(self, tiles: Sequence[Sequence[bytes]] = ()) -> None:
        """Begin where `tiles` left off: for each tile level, lowest first, the hashes of its last tile.

        Raises:
            MalformedProof: a tile is full or holds something else than hashes.
        """
        self._tiles = [list(tile) for tile in tiles]
        if any(len(tile) >= TILE_WIDTH or any(len(node) != 32 for node in tile) for tile in self._tiles):
            raise MalformedProof("an unfinished tile holds at most 255 hashes of 32 bytes")
        self.size = sum(len(tile) << (TILE_HEIGHT * level) for level, tile in enumerate(self._tiles))

    @classmethod
    def read(cls, size: int, read: NodeReader) -> TiledTree:
        """Return the tree of the first `size` leaves, from complete subtrees."""
        tiles, level = [], 0
        while size >> level:
            end = size >> level
            tiles.append([read(level, position) for position in range(end // TILE_WIDTH * TILE_WIDTH, end)])
            level += TILE_HEIGHT
        return cls(tiles)

    @property
    def tiles(self) -> tuple[tuple[bytes, ...], ...]:
        """The hashes of the unfinished tile of each level, lowest level first."""
        return tuple(tuple(tile) for tile in self._tiles)

    def extend(self, leaves: Sequence[bytes]) -> list[Subtree]:
        """Add leaf hashes; return the subtrees that became complete, in the order they did."""
        completed: list[Subtree] = []
        done = 0
        while done < len(leaves):
            room = TILE_WIDTH - self.size % TILE_WIDTH
            part = leaves[done : done + room]
            self.size += len(part)
            self._add(0, part, completed)
            done += len(part)
        return completed

    def root(self) -> bytes:
        """Return the 32-byte root."""
        peaks: list[bytes] = []
        for tile in reversed(self._tiles):
            part = CompactRange()
            part.extend(tile)
            peaks.extend(part.peaks)
        return CompactRange.from_peaks(self.size, peaks).root()

    def _add(self, level: int, nodes: Sequence[bytes], completed: list[Subtree]) -> None:
        if level == len(self._tiles):
            self._tiles.append([])
        tile = self._tiles[level]
        tile.extend(nodes)
        if len(tile) == TILE_WIDTH:
            subtree = CompactRange()
            subtree.extend(tile)
            tile.clear()
            height = TILE_HEIGHT * (level + 1)
            completed.append((height, (self.size >> height) - 1, subtree.root()))
            self._add(level + 1, (subtree.root(),), completed)
