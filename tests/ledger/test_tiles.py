"""Tiles and bundles: paths, geometry, and the tree that can be read back from files alone."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.logs import ORIGIN, SIGNER, synthetic_entries, tree_reader, write_log
from support.mangle import mangled

from anvil.ledger.errors import MalformedTile
from anvil.ledger.merkle import (
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    root_at,
    verify_consistency,
    verify_inclusion,
)
from anvil.ledger.tiles import (
    TILE_WIDTH,
    decode_bundle,
    decode_tile,
    encode_bundle,
    encode_tile,
    entries_path,
    layout,
    node_reader,
    tile_path,
)

ENTRIES = synthetic_entries(1000)
LEAVES = [leaf_hash(entry) for entry in ENTRIES]
READ = tree_reader(LEAVES)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (tile_path(0, 0), "tile/0/000"),
        (tile_path(1, 1, 44), "tile/1/001.p/44"),
        (tile_path(63, 999, 1), "tile/63/999.p/1"),
        (tile_path(0, 1000), "tile/0/x001/000"),
        (tile_path(2, 1234067, 255), "tile/2/x001/x234/067.p/255"),
        (entries_path(0, 1), "tile/entries/000.p/1"),
        (entries_path(273_001), "tile/entries/x273/001"),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected


@pytest.mark.parametrize(
    ("level", "index", "width"), [(-1, 0, 1), (64, 0, 1), (0, -1, 1), (0, 0, 0), (0, 0, 257)]
)
def test_paths_that_do_not_exist_are_refused(level: int, index: int, width: int) -> None:
    with pytest.raises(MalformedTile):
        tile_path(level, index, width)


def test_bundle_paths_that_do_not_exist_are_refused() -> None:
    for index, width in ((-1, 1), (0, 0), (0, 257)):
        with pytest.raises(MalformedTile):
            entries_path(index, width)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, []),
        (1, [(0, 0, 1)]),
        (255, [(0, 0, 255)]),
        (256, [(0, 0, 256), (1, 0, 1)]),
        (257, [(0, 0, 256), (0, 1, 1), (1, 0, 1)]),
    ],
)
def test_layout_of_small_logs(size: int, expected: list[tuple[int, int, int]]) -> None:
    assert list(layout(size)) == expected


@given(st.integers(0, 500_000))
def test_layout_follows_the_formula(size: int) -> None:
    seen = list(layout(size))
    assert len(set(seen)) == len(seen)
    for level in range(4):
        widths = [width for at, _, width in seen if at == level]
        assert sum(widths) == size // 256**level
        assert all(width == TILE_WIDTH for width in widths[:-1])
        assert [index for at, index, _ in seen if at == level] == list(range(len(widths)))


# --- tiles -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 300, 512, 1000])
def test_the_tree_reads_back_from_tiles_alone(size: int, tmp_path: Path) -> None:
    checkpoint = write_log(tmp_path, ENTRIES[:size], SIGNER, ORIGIN)
    read = node_reader(size, lambda path: (tmp_path / path).read_bytes())
    assert root_at(size, read) == checkpoint.root == root_at(size, READ)
    for index in {0, size // 3, size - 1}:
        verify_inclusion(LEAVES[index], index, size, inclusion_proof(index, size, read), checkpoint.root)
    for old in {1, size // 2 or 1, size - 1 or 1, size}:
        proof = consistency_proof(old, size, read)
        verify_consistency(old, root_at(old, READ), size, checkpoint.root, proof)


def test_every_subtree_reads_back_alike(tmp_path: Path) -> None:
    write_log(tmp_path, ENTRIES, SIGNER, ORIGIN)
    read = node_reader(len(ENTRIES), lambda path: (tmp_path / path).read_bytes())
    for level in range(len(ENTRIES).bit_length()):
        for index in range(len(ENTRIES) >> level):
            assert read(level, index) == READ(level, index)


@pytest.mark.parametrize(("level", "index"), [(-1, 0), (0, -1), (0, 1000), (9, 1), (10, 0), (100, 0)])
def test_a_subtree_that_is_not_in_the_log_is_refused(level: int, index: int) -> None:
    read = node_reader(1000, lambda path: b"")
    with pytest.raises(MalformedTile, match="has no subtree"):
        read(level, index)


def test_a_tile_of_the_wrong_size_is_refused() -> None:
    for raw in (b"", bytes(31), bytes(33), bytes(32 * 231), bytes(32 * 233)):
        with pytest.raises(MalformedTile):
            node_reader(1000, lambda path, raw=raw: raw)(0, 999)  # type: ignore[misc]
        with pytest.raises(MalformedTile):
            decode_tile(raw, 232)


def test_a_tile_of_something_else_than_hashes_is_not_made() -> None:
    with pytest.raises(MalformedTile):
        encode_tile(0, 0, 2, lambda level, index: bytes(31 + 2 * index))


# --- entry bundles -----------------------------------------------------------------------------------


def test_a_bundle_is_lengths_and_entries() -> None:
    assert encode_bundle([b"one", b"", b"x" * 258]) == b"\0\x03one\0\0\x01\x02" + b"x" * 258


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=256))
def test_a_bundle_is_read_as_it_is_written(entries: list[bytes]) -> None:
    assert decode_bundle(encode_bundle(entries), len(entries)) == entries


def test_the_longest_entry_fits_and_a_longer_one_does_not() -> None:
    assert decode_bundle(encode_bundle([bytes(65_535)]), 1) == [bytes(65_535)]
    with pytest.raises(MalformedTile, match="entry 1 of a bundle has 65536 bytes"):
        encode_bundle([b"", bytes(65_536)])


@pytest.mark.parametrize("count", [0, 257])
def test_a_bundle_of_the_wrong_width_is_not_made(count: int) -> None:
    with pytest.raises(MalformedTile):
        encode_bundle([b""] * count)


@given(st.binary(max_size=40), st.integers(0, 256))
def test_arbitrary_bundles_raise_malformed_or_are_canonical(raw: bytes, width: int) -> None:
    try:
        entries = decode_bundle(raw, width)
    except MalformedTile:
        return
    assert len(entries) == width
    assert (encode_bundle(entries) if entries else b"") == raw


@given(mangled(encode_bundle(ENTRIES[:20])))
def test_a_mangled_bundle_is_refused_or_holds_other_entries(raw: bytes) -> None:
    with contextlib.suppress(MalformedTile):
        assert encode_bundle(decode_bundle(raw, 20)) == raw
