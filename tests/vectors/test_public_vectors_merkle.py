"""transparency-dev/merkle: 98 inclusion and 98 consistency cases.

Every case of the two sets runs. We agree with all of them but one, and that one by policy: a hash has 32
bytes here, so two equal 12-byte "roots" of size 1 are refused where the reference compares any bytes. The
same policy, and that of refusing a consistency proof from size 0, gives the verdict "error" on the cases
about empty leaves, empty roots and size 0, as the reference has it. The folder's other two sets are about
proofs of subtrees, which anvil neither makes nor reads.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anvil.ledger.errors import MalformedProof
from anvil.ledger.merkle import leaf_hash, verify_consistency, verify_inclusion

pytestmark = pytest.mark.needs("vectors")

STRICTER_THAN_THE_REFERENCE = {"consistency/additional/sizes-are-equal-one-and-proof-is-empty.json"}


def decode(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def inclusion(case: dict[str, Any]) -> None:
    proof = [decode(value) for value in case["proof"] or []]
    verify_inclusion(decode(case["leafHash"]), case["leafIdx"], case["treeSize"], proof, decode(case["root"]))


def consistency(case: dict[str, Any]) -> None:
    proof = [decode(value) for value in case["proof"] or []]
    verify_consistency(case["size1"], decode(case["root1"]), case["size2"], decode(case["root2"]), proof)


def accepts(check: Callable[[dict[str, Any]], None], case: dict[str, Any]) -> bool:
    try:
        check(case)
    except MalformedProof:
        return False
    return True


@pytest.mark.parametrize(("kind", "check"), [("inclusion", inclusion), ("consistency", consistency)])
def test_every_case(vectors: Path, kind: str, check: Callable[[dict[str, Any]], None]) -> None:
    folder = vectors / "merkle" / "testdata"
    files = sorted((folder / kind).rglob("*.json"))
    disagreements, wanted = set(), 0
    for path in files:
        case = json.loads(path.read_bytes())
        wanted += not case["wantErr"]
        if accepts(check, case) == case["wantErr"]:
            disagreements.add(path.relative_to(folder).as_posix())
    assert len(files) == 98
    assert wanted == 6
    assert disagreements == {name for name in STRICTER_THAN_THE_REFERENCE if name.startswith(kind)}


def test_the_stricter_case_is_about_a_root_that_is_no_hash(vectors: Path) -> None:
    (name,) = STRICTER_THAN_THE_REFERENCE
    case = json.loads((vectors / "merkle" / "testdata" / name).read_bytes())
    assert case["root1"] == case["root2"]
    with pytest.raises(MalformedProof, match="old root has 12 bytes"):
        consistency(case)


def test_cases_from_size_zero_are_refused_for_that_reason(vectors: Path) -> None:
    refused = 0
    for path in (vectors / "merkle" / "testdata" / "consistency").rglob("*.json"):
        case = json.loads(path.read_bytes())
        if case["size1"] == 0:
            refused += 1
            assert case["wantErr"]
            with pytest.raises(MalformedProof, match="would prove nothing"):
                consistency(case)
    assert refused == 9


def test_rekor_v2_inclusion_proof_of_a_log_of_four_million(vectors: Path) -> None:
    bundle = json.loads(
        (vectors / "rekor-v2-bundle" / "a.dsse.staging-rekor-v2.txt.sigstore.json").read_bytes()
    )
    (entry,) = bundle["verificationMaterial"]["tlogEntries"]
    proof = entry["inclusionProof"]
    index, size = int(proof["logIndex"]), int(proof["treeSize"])
    hashes = [decode(value) for value in proof["hashes"]]
    leaf = leaf_hash(decode(entry["canonicalizedBody"]))
    assert size == 4_026_479
    verify_inclusion(leaf, index, size, hashes, decode(proof["rootHash"]))
    with pytest.raises(MalformedProof):
        verify_inclusion(leaf, index - 1, size, hashes, decode(proof["rootHash"]))
