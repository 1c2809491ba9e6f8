"""Whole logs made elsewhere, reproduced byte for byte: Tessera's test log, the interop logs, tlog-proofs.

Both logs have public test keys, so checkpoints too must come out alike: Ed25519 is deterministic. The
witness's cosignature lines of the interop logs are not ours to make: they are kept as found.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from support.go import TlogVerify
from support.logs import key_of, tree_reader, write_log

from anvil.ledger import tiles
from anvil.ledger.checkpoint import Checkpoint, open_checkpoint, sign_checkpoint
from anvil.ledger.errors import MalformedKey, MalformedProof, SignatureInvalid
from anvil.ledger.merkle import CompactRange, inclusion_proof, leaf_hash, root_at, verify_consistency
from anvil.ledger.merkle import consistency_proof as prove_consistency
from anvil.ledger.note import SignedNote, VerifierKey
from anvil.ledger.signing import PrivateKey
from anvil.ledger.tlogproof import TlogProof

pytestmark = pytest.mark.needs("vectors")

INTEROP = {"log1": 1, "log255": 255, "log256": 256, "log300": 300}
INTEROP_SIGNER = PrivateKey.from_seed(bytes(range(32)))


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


# --- Tessera -----------------------------------------------------------------------------------------------


@pytest.fixture
def tessera(vectors: Path) -> tuple[Path, VerifierKey, PrivateKey, list[bytes]]:
    """The log's folder, its verifier key, its public signing key and its leaves."""
    folder = vectors / "tessera-testdata-log"
    described = load(folder / "keys_and_leaves.json")
    seed = base64.b64decode(described["skey"].split("+", 4)[4])[1:]
    leaves = [leaf.encode() for leaf in described["leaves"]]
    return (
        folder / "testdata" / "log",
        VerifierKey.parse(described["vkey"]),
        PrivateKey.from_seed(seed),
        leaves,
    )


def test_tessera_log_is_reproduced_at_all_16_sizes(
    tessera: tuple[Path, VerifierKey, PrivateKey, list[bytes]], tmp_path: Path
) -> None:
    log, key, signer, leaves = tessera
    assert key == key_of(signer, key.name)
    for size in range(16):
        ours = tmp_path / str(size)
        write_log(ours, leaves[:size], signer, key.name)
        assert (ours / "checkpoint").read_bytes() == (log / f"checkpoint.{size}").read_bytes()
        made = [path.relative_to(ours) for path in (ours / "tile").rglob("*") if path.is_file()]
        assert len(made) == (2 if size else 0)
        for path in made:
            assert (ours / path).read_bytes() == (log / path).read_bytes()
    assert (tmp_path / "15" / "checkpoint").read_bytes() == (log / "checkpoint").read_bytes()


def test_tessera_checkpoints_follow_from_one_another(
    tessera: tuple[Path, VerifierKey, PrivateKey, list[bytes]],
) -> None:
    log, key, _, leaves = tessera
    read = tree_reader([leaf_hash(leaf) for leaf in leaves])
    heads = [open_checkpoint((log / f"checkpoint.{size}").read_bytes(), [key]) for size in range(16)]
    for new in heads:
        for old in heads[1 : new.size + 1]:
            proof = prove_consistency(old.size, new.size, read)
            verify_consistency(old.size, old.root, new.size, new.root, proof)


# --- logs made for this project --------------------------------------------------------------------------


def entries_of(log: Path, size: int) -> list[bytes]:
    entries: list[bytes] = []
    for level, index, width in tiles.layout(size):
        if level == 0:
            entries += tiles.decode_bundle((log / tiles.entries_path(index, width)).read_bytes(), width)
    return entries


@pytest.mark.parametrize(("name", "size"), INTEROP.items())
def test_interop_log_is_reproduced(vectors: Path, tmp_path: Path, name: str, size: int) -> None:
    log = vectors / "interop-self" / name
    key = VerifierKey.parse((log / "log.vkey").read_text().strip())
    entries = entries_of(log, size)
    write_log(tmp_path, entries, INTEROP_SIGNER, key.name)
    theirs = {
        path.relative_to(log): path.read_bytes() for path in (log / "tile").rglob("*") if path.is_file()
    }
    ours = {
        path.relative_to(tmp_path): path.read_bytes()
        for path in (tmp_path / "tile").rglob("*")
        if path.is_file()
    }
    assert ours == theirs
    assert (tmp_path / "log.vkey").read_bytes() == (log / "log.vkey").read_bytes()
    cosigned = SignedNote.parse((log / "checkpoint").read_bytes())
    assert [line.name for line in cosigned.signatures] == [key.name, "witness.example/w1"]
    assert (
        SignedNote(cosigned.text, cosigned.signatures[:1]).to_bytes()
        == (tmp_path / "checkpoint").read_bytes()
    )


@pytest.mark.parametrize(("name", "size"), INTEROP.items())
def test_interop_tree_reads_back_from_its_tiles(vectors: Path, name: str, size: int) -> None:
    log = vectors / "interop-self" / name
    key = VerifierKey.parse((log / "log.vkey").read_text().strip())
    checkpoint = open_checkpoint((log / "checkpoint").read_bytes(), [key])
    assert checkpoint.size == size
    assert root_at(size, tiles.node_reader(size, lambda path: (log / path).read_bytes())) == checkpoint.root
    tree = CompactRange()
    tree.extend(map(leaf_hash, entries_of(log, size)))
    assert tree.root() == checkpoint.root


@pytest.mark.parametrize(("name", "size"), INTEROP.items())
def test_interop_proof_is_reproduced_and_verifies(vectors: Path, name: str, size: int) -> None:
    log = vectors / "interop-self" / name
    key = VerifierKey.parse((log / "log.vkey").read_text().strip())
    raw, entry = (log / "proof.tlog-proof").read_bytes(), (log / "leaf.bin").read_bytes()
    read = tiles.node_reader(size, lambda path: (log / path).read_bytes())
    index = size // 2
    made = TlogProof(index, tuple(inclusion_proof(index, size, read)), (log / "checkpoint").read_bytes())
    assert made.to_bytes() == raw
    assert TlogProof.parse(raw) == made
    assert made.verify(entry, [key]).size == size
    with pytest.raises(MalformedProof):
        made.verify(entry + b"\n", [key])
    witness = (log / "witness.vkey").read_text().strip()
    with pytest.raises(MalformedKey, match="type 0x04"):
        VerifierKey.parse(witness)
    with pytest.raises(SignatureInvalid):
        made.verify(entry, [VerifierKey("witness.example/w1", INTEROP_SIGNER.public_key)])


@pytest.mark.needs("go")
@pytest.mark.parametrize(("name", "size"), INTEROP.items())
def test_the_go_verifier_accepts_the_interop_logs(
    vectors: Path, tlogverify: TlogVerify, name: str, size: int
) -> None:
    log = vectors / "interop-self" / name
    assert tlogverify.log(log).startswith(f"OK origin=example.com/anvil/ledger-1 size={size} ")
    assert tlogverify.proof(log / "log.vkey", log / "proof.tlog-proof", log / "leaf.bin").startswith("OK")


# --- strings of transparency-dev/formats -------------------------------------------------------------------


def test_tlog_proof_strings_are_reproduced(vectors: Path) -> None:
    cases = load(vectors / "formats-tlog-proof" / "tlog_proof_vectors.json")["marshal"]
    for case in cases:
        hashes = tuple(base64.b64decode(value) for value in case["hashes"])
        extra = case["extra"].encode() if "extra" in case else None
        proof = TlogProof(case["index"], hashes, case["checkpoint"].encode(), extra)
        assert proof.to_bytes().decode() == case["want"]
        assert TlogProof.parse(case["want"].encode()) == proof
    assert len(cases) == 3


def test_malformed_tlog_proof_strings_are_refused(vectors: Path) -> None:
    cases = load(vectors / "formats-tlog-proof" / "tlog_proof_vectors.json")["unmarshal_errors"]
    for case in cases:
        with pytest.raises(MalformedProof):
            TlogProof.parse(case.encode())
    assert len(cases) == 7


def test_the_empty_tree_of_tessera_is_our_empty_tree(
    tessera: tuple[Path, VerifierKey, PrivateKey, list[bytes]],
) -> None:
    log, key, signer, _ = tessera
    empty = Checkpoint(key.name, 0, CompactRange().root())
    assert sign_checkpoint(empty, [signer]) == (log / "checkpoint.0").read_bytes()
