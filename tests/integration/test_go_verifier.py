"""golang.org/x/mod accepts the logs and proofs that our modules write, and refuses changed copies.

Here the entries are synthetic: what is checked is the tree, the tiles, the checkpoint and the proofs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.go import TlogVerify
from support.logs import ORIGIN, SIGNER, synthetic_entries, tree_reader, write_log

from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.merkle import inclusion_proof, leaf_hash
from anvil.ledger.signing import PrivateKey
from anvil.ledger.tlogproof import TlogProof

pytestmark = pytest.mark.needs("go")

SIZES = [1, 255, 256, 257, 1000]
OTHER = PrivateKey.from_seed(bytes([9]) * 32)


@pytest.fixture(scope="module", params=SIZES)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of each size; tests that change it make their own copy."""
    directory = tmp_path_factory.mktemp("log")
    write_log(directory, synthetic_entries(request.param), SIGNER, ORIGIN)
    return directory


@pytest.fixture
def copy(log: Path, tmp_path: Path) -> Path:
    """A copy of the log that a test may tamper with."""
    return shutil.copytree(log, tmp_path / "copy")


def size_of(log: Path) -> int:
    return int((log / "checkpoint").read_text().split("\n")[1])


def files_of(log: Path) -> list[Path]:
    return sorted(path for path in log.rglob("*") if path.is_file())


def test_it_accepts_a_log_with_every_proof(tlogverify: TlogVerify, log: Path) -> None:
    said = tlogverify.log(log)
    size = size_of(log)
    assert said.startswith(f"OK origin={ORIGIN} size={size} root=")
    assert f"signatures=1 unknown=0 included={size} " in said


def test_it_accepts_the_signatures_of_a_rotation(tlogverify: TlogVerify, copy: Path) -> None:
    checkpoint = Checkpoint.parse_body((copy / "checkpoint").read_text().split("\n\n")[0] + "\n")
    (copy / "checkpoint").write_bytes(sign_checkpoint(checkpoint, [SIGNER, OTHER]))
    assert "signatures=1 unknown=1" in tlogverify.log(copy)


def test_it_refuses_a_changed_byte_in_any_file(tlogverify: TlogVerify, copy: Path) -> None:
    for path in files_of(copy):
        original = path.read_bytes()
        # First and last byte of each file, one in the middle, and one in each tenth of the checkpoint.
        steps = 10 if path.name == "checkpoint" else 2
        for position in {(len(original) - 1) * step // steps for step in range(steps + 1)}:
            changed = bytearray(original)
            changed[position] ^= 0xFF
            path.write_bytes(changed)
            said = tlogverify.log(copy)
            assert said.startswith("FAIL"), f"{path.relative_to(copy)} byte {position}: {said}"
        path.write_bytes(original)
    assert tlogverify.log(copy).startswith("OK")


def test_it_refuses_a_missing_cut_or_padded_file(tlogverify: TlogVerify, copy: Path) -> None:
    for path in files_of(copy):
        original = path.read_bytes()
        path.unlink()
        assert tlogverify.log(copy).startswith("FAIL"), f"without {path.relative_to(copy)}"
        for changed in (original[:-1], original + b"\0", b""):
            path.write_bytes(changed)
            accepted = path.name == "log.vkey" and changed == original[:-1]  # only its newline is gone
            said = tlogverify.log(copy)
            assert said.startswith("OK" if accepted else "FAIL"), f"{path.relative_to(copy)}: {said}"
        path.write_bytes(original)


def test_it_refuses_a_stray_tile(tlogverify: TlogVerify, copy: Path) -> None:
    (copy / "tile" / "0" / "999").write_bytes(bytes(8192))
    assert "does not belong to a log of size" in tlogverify.log(copy)


@pytest.mark.parametrize("change", ["other_key", "smaller_size", "other_root", "other_origin"])
def test_it_refuses_a_checkpoint_that_is_well_signed_and_untrue(
    tlogverify: TlogVerify, copy: Path, change: str
) -> None:
    size, root, origin, signer = size_of(copy), bytes(32), ORIGIN, SIGNER
    true = Checkpoint.parse_body((copy / "checkpoint").read_text().split("\n\n")[0] + "\n")
    if change != "other_root":
        root = true.root
    if change == "smaller_size":
        size = size - 1 or 2
    if change == "other_origin":
        origin = "other.test.invalid/log"
    if change == "other_key":
        signer = OTHER
    (copy / "checkpoint").write_bytes(sign_checkpoint(Checkpoint(origin, size, root), [signer]))
    assert tlogverify.log(copy).startswith("FAIL")


def test_it_accepts_a_proof_of_an_entry_and_of_no_other(
    tlogverify: TlogVerify, log: Path, tmp_path: Path
) -> None:
    size = size_of(log)
    entries = synthetic_entries(size)
    read = tree_reader([leaf_hash(entry) for entry in entries])
    for index in {0, size // 2, size - 1}:
        for extra in (None, b"context"):
            hashes = tuple(inclusion_proof(index, size, read))
            proof = TlogProof(index, hashes, (log / "checkpoint").read_bytes(), extra)
            (tmp_path / "proof").write_bytes(proof.to_bytes())
            (tmp_path / "entry").write_bytes(entries[index])
            said = tlogverify.proof(log / "log.vkey", tmp_path / "proof", tmp_path / "entry")
            assert said == f"OK origin={ORIGIN} size={size} index={index}"
            (tmp_path / "entry").write_bytes(entries[index] + b" ")
            assert tlogverify.proof(log / "log.vkey", tmp_path / "proof", tmp_path / "entry").startswith(
                "FAIL"
            )
