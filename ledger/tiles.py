"""A log as static files: paths, hash tiles and entry bundles of C2SP tlog-tiles.

1. A tile is up to 256 hashes side by side. Tile n of level l holds the roots of complete subtrees of
   ``256**l`` leaves, the first of them number ``256 * n``; level 0 holds leaf hashes.
2. A log of s entries has ``s // 256**l`` such roots at level l. Full tiles have 256; what is left
   over is one partial tile whose width stands in its name. Empty tiles do not exist.
3. A tile's path is ``tile/<level>/<index>`` with the index in groups of three digits, all but the
   last with an ``x`` before them, and ``.p/<width>`` after it when the tile is partial.
4. An entry bundle goes with each tile of level 0, at ``tile/entries/<index>``: its entries, each
   preceded by its length as a big-endian uint16. So an entry has at most 65,535 bytes.
5. What tiles say is not evidence by itself: whoever reads them compares the root they give with
   that of a signed checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from anvil.ledger.errors import MalformedTile
from anvil.ledger.merkle import HASH_SIZE, CompactRange, NodeReader
from anvil.ledger.tiledtree import TILE_HEIGHT, TILE_WIDTH

MAX_LEVEL = 63
MAX_ENTRY_SIZE = 65_535

_CACHED_TILES = 256


def tile_path(level: int, index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a hash tile, relative to the log: ``tile/0/x001/x234/067.p/44``.

    Raises:
        MalformedTile: `level` is not 0 to 63, `index` is negative, or `width` is not 1 to 256.
    """
    if not 0 <= level <= MAX_LEVEL:
        raise MalformedTile(f"a tile level is 0 to {MAX_LEVEL}, not {level}")
    return f"tile/{level}/{_index_path(index, width)}"


def entries_path(index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of an entry bundle, relative to the log: ``tile/entries/x001/x234/067``.

    Raises:
        MalformedTile: `index` is negative, or `width` is not 1 to 256.
    """
    return f"tile/entries/{_index_path(index, width)}"


def layout(size: int) -> Iterator[tuple[int, int, int]]:
    """Yield (level, index, width) of every hash tile of a log of `size` entries, level by level.

    The triples of level 0 are those of the entry bundles as well.
    """
    level, hashes = 0, size
    while hashes > 0:
        full, rest = divmod(hashes, TILE_WIDTH)
        for index in range(full):
            yield level, index, TILE_WIDTH
        if rest:
            yield level, full, rest
        level, hashes = level + 1, full


def encode_tile(level: int, index: int, width: int, read: NodeReader) -> bytes:
    """Return the bytes of a hash tile, its roots fetched one by one through `read`.

    Raises:
        MalformedTile: `read` gave something that is not 32 bytes long.
    """
    first = index * TILE_WIDTH
    hashes = [read(level * TILE_HEIGHT, first + offset) for offset in range(width)]
    if any(len(value) != HASH_SIZE for value in hashes):
        raise MalformedTile(f"a hash of tile {tile_path(level, index, width)} is not {HASH_SIZE} bytes long")
    return b"".join(hashes)


def decode_tile(raw: bytes, width: int) -> list[bytes]:
    """Return the 32-byte hashes of a tile.

    Raises:
        MalformedTile: `raw` is not exactly `width` hashes long.
    """
    if len(raw) != width * HASH_SIZE:
        raise MalformedTile(
            f"a tile of {width} hashes has {width * HASH_SIZE} bytes, this one has {len(raw)}"
        )
    return [raw[start : start + HASH_SIZE] for start in range(0, len(raw), HASH_SIZE)]


def node_reader(size: int, fetch: Callable[[str], bytes]) -> NodeReader:
    """Return a reader of subtree roots over the tiles of a log of `size` entries.

    `fetch` is given a tile's path and returns its bytes; what it raises comes through. Hashes below
    a tile's own level are computed from it, so one tile answers for eight levels.

    Raises, when it is read:
        MalformedTile: a tile has the wrong size, or the subtree is not in a log of that size.
    """

    @lru_cache(maxsize=_CACHED_TILES)
    def tile(level: int, index: int) -> list[bytes]:
        width = min(TILE_WIDTH, (size >> level * TILE_HEIGHT) - index * TILE_WIDTH)
        return decode_tile(fetch(tile_path(level, index, width)), width)

    def read(level: int, index: int) -> bytes:
        if level < 0 or index < 0 or index + 1 << level > size:
            raise MalformedTile(f"a log of {size} entries has no subtree {index} of 2**{level} leaves")
        tile_level, height = divmod(level, TILE_HEIGHT)
        tile_index, offset = divmod(index << height, TILE_WIDTH)
        subtree = CompactRange()
        subtree.extend(tile(tile_level, tile_index)[offset : offset + (1 << height)])
        return subtree.root()

    return read


def encode_bundle(entries: Sequence[bytes]) -> bytes:
    """Return the bytes of the entry bundle that holds 1 to 256 entries.

    Raises:
        MalformedTile: there are none or too many, or one is longer than 65,535 bytes.
    """
    if not 1 <= len(entries) <= TILE_WIDTH:
        raise MalformedTile(f"an entry bundle holds 1 to {TILE_WIDTH} entries, not {len(entries)}")
    parts: list[bytes] = []
    for position, entry in enumerate(entries):
        if len(entry) > MAX_ENTRY_SIZE:
            raise MalformedTile(
                f"entry {position} of a bundle has {len(entry)} bytes, at most {MAX_ENTRY_SIZE} fit"
            )
        parts += (len(entry).to_bytes(2, "big"), entry)
    return b"".join(parts)


def decode_bundle(raw: bytes, width: int) -> list[bytes]:
    """Return the `width` entries of an entry bundle.

    Raises:
        MalformedTile: the bytes end within an entry, or go on after the last.
    """
    entries: list[bytes] = []
    position = 0
    for _ in range(width):
        start = position + 2
        position = start + int.from_bytes(raw[start - 2 : start], "big")
        if position > len(raw):
            raise MalformedTile(f"an entry bundle of {width} ends within entry {len(entries)}")
        entries.append(raw[start:position])
    if position != len(raw):
        raise MalformedTile(
            f"an entry bundle of {width} has {len(raw) - position} bytes after its last entry"
        )
    return entries


def _index_path(index: int, width: int) -> str:
    if index < 0 or not 1 <= width <= TILE_WIDTH:
        raise MalformedTile(f"there is no tile with index {index} and width {width}")
    higher, last = divmod(index, 1000)
    path = f"{last:03d}"
    while higher:
        higher, group = divmod(higher, 1000)
        path = f"x{group:03d}/{path}"
    return path if width == TILE_WIDTH else f"{path}.p/{width}"
