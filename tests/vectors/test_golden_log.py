"""Our own golden files: what a log of a fixed key and fixed entries must be, to the byte.

A change here changes the published format. `python tests/vectors/test_golden_log.py` writes them anew
(with PYTHONPATH=tests); the independent verifier in Go must accept what it writes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from support.go import TlogVerify
from support.logs import ORIGIN, SIGNER, key_of, synthetic_entries, tree_reader, write_log

from anvil.ledger import tiles
from anvil.ledger.checkpoint import open_checkpoint
from anvil.ledger.merkle import inclusion_proof, leaf_hash
from anvil.ledger.tlogproof import TlogProof

GOLDEN = Path(__file__).parent / "golden"
SIZES = [1, 5, 256, 257]


def rendered(size: int, directory: Path) -> dict[str, bytes]:
    """Return the golden files of one size: checkpoint, a proof, the last bundle, the last tile of level 0."""
    entries = synthetic_entries(size)
    write_log(directory, entries, SIGNER, ORIGIN)
    index, width = next(
        (index, width) for level, index, width in reversed(list(tiles.layout(size))) if level == 0
    )
    note = (directory / "checkpoint").read_bytes()
    read = tree_reader([leaf_hash(entry) for entry in entries])
    hashes = tuple(inclusion_proof(size // 2, size, read))
    return {
        f"{size}.checkpoint": note,
        f"{size}.tlog-proof": TlogProof(size // 2, hashes, note, b"golden" if size == 5 else None).to_bytes(),
        f"{size}.bundle": (directory / tiles.entries_path(index, width)).read_bytes(),
        f"{size}.tile": (directory / tiles.tile_path(0, index, width)).read_bytes(),
    }


@pytest.mark.parametrize("size", SIZES)
def test_golden_files_are_reproduced(size: int, tmp_path: Path) -> None:
    for name, content in rendered(size, tmp_path).items():
        assert content == (GOLDEN / name).read_bytes(), name


def test_there_are_no_other_golden_files() -> None:
    expected = {f"{size}.{kind}" for size in SIZES for kind in ("checkpoint", "tlog-proof", "bundle", "tile")}
    assert {path.name for path in GOLDEN.glob("[0-9]*")} == expected


@pytest.mark.parametrize("size", SIZES)
def test_golden_files_verify(size: int) -> None:
    checkpoint = open_checkpoint((GOLDEN / f"{size}.checkpoint").read_bytes(), [key_of(SIGNER)])
    proof = TlogProof.parse((GOLDEN / f"{size}.tlog-proof").read_bytes())
    assert proof.verify(synthetic_entries(size)[size // 2], [key_of(SIGNER)]) == checkpoint
    width = (size - 1) % tiles.TILE_WIDTH + 1
    entries = tiles.decode_bundle((GOLDEN / f"{size}.bundle").read_bytes(), width)
    assert entries == synthetic_entries(size)[-width:]
    assert tiles.decode_tile((GOLDEN / f"{size}.tile").read_bytes(), width) == [
        leaf_hash(entry) for entry in entries
    ]


@pytest.mark.needs("go")
def test_the_go_verifier_accepts_the_golden_proofs(tlogverify: TlogVerify, tmp_path: Path) -> None:
    (tmp_path / "vkey").write_text(f"{key_of(SIGNER)}\n")
    for size in SIZES:
        (tmp_path / "entry").write_bytes(synthetic_entries(size)[size // 2])
        said = tlogverify.proof(tmp_path / "vkey", GOLDEN / f"{size}.tlog-proof", tmp_path / "entry")
        assert said == f"OK origin={ORIGIN} size={size} index={size // 2}"


if __name__ == "__main__":
    for golden_size in SIZES:
        with tempfile.TemporaryDirectory() as scratch:
            for golden_name, golden_content in rendered(golden_size, Path(scratch)).items():
                (GOLDEN / golden_name).write_bytes(golden_content)
