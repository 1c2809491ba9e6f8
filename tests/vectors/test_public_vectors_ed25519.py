"""Ed25519: Wycheproof's cases, and the edge cases of C2SP CCTV with what is honestly true of them.

CCTV says that implementations differ on its 914 vectors, so "passes" means nothing there. What we assert:

1. every key that is flagged as of small order or not canonically encoded is refused at registration, and no
   other (526 vectors, 14 keys; the 226 non-canonical ones are all of small order as well);
2. on the other 388 (8 keys) a signature verifies exactly when its R is canonical and leaves no low-order
   residue: the rule of ref10, Go and OpenSSL. That is 86 of them;
3. in 43 of those 86, R has small order. libsodium refuses these: only whoever holds such a private key can
   make them, and they let nobody else sign, but two verifiers may then disagree on one of our notes.
   7 of the 8 keys have a low-order *component*, which no check of an encoding finds.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anvil.ledger.errors import MalformedKey, SignatureInvalid
from anvil.ledger.signing import PublicKey

pytestmark = pytest.mark.needs("vectors")


def verifies(key: PublicKey, signature: str, message: bytes) -> bool:
    try:
        key.verify(bytes.fromhex(signature), message)
    except SignatureInvalid:
        return False
    return True


def test_wycheproof(vectors: Path) -> None:
    suite = json.loads((vectors / "wycheproof" / "ed25519_test.json").read_bytes())
    seen = valid = 0
    for group in suite["testGroups"]:
        key = PublicKey.vetted(bytes.fromhex(group["publicKey"]["pk"]))
        for case in group["tests"]:
            seen += 1
            accepted = verifies(key, case["sig"], bytes.fromhex(case["msg"]))
            assert accepted == (case["result"] == "valid"), f"tcId {case['tcId']}: {case['comment']}"
            valid += accepted
    assert (seen, valid) == (suite["numberOfTests"], 88) == (151, 88)


@pytest.fixture
def cctv(vectors: Path) -> list[dict[str, Any]]:
    """The vectors, with `flags` as a set."""
    cases = json.loads((vectors / "cctv-ed25519" / "ed25519vectors.json").read_bytes())
    assert len(cases) == 914
    return [{**case, "flags": set(case["flags"] or ())} for case in cases]


def may_be_registered(case: dict[str, Any]) -> bool:
    try:
        PublicKey.vetted(bytes.fromhex(case["key"]))
    except MalformedKey:
        return False
    return True


def test_cctv_unsafe_keys_are_refused_at_registration_and_no_others(cctv: list[dict[str, Any]]) -> None:
    refused = [case for case in cctv if not may_be_registered(case)]
    assert refused == [case for case in cctv if case["flags"] & {"low_order_A", "non_canonical_A"}]
    assert (len(refused), len({case["key"] for case in refused})) == (526, 14)
    assert sum("non_canonical_A" in case["flags"] for case in refused) == 226


def test_cctv_signatures_of_registered_keys_verify_by_the_rule_of_ref10(cctv: list[dict[str, Any]]) -> None:
    registered = [case for case in cctv if may_be_registered(case)]
    accepted = [
        case
        for case in registered
        if verifies(PublicKey.vetted(bytes.fromhex(case["key"])), case["sig"], case["msg"].encode())
    ]
    assert accepted == [
        case for case in registered if not case["flags"] & {"non_canonical_R", "low_order_residue"}
    ]
    assert (len(registered), len({case["key"] for case in registered})) == (388, 8)
    assert (len(accepted), sum("low_order_R" in case["flags"] for case in accepted)) == (86, 43)
    mixed = {case["key"] for case in registered if "low_order_component_A" in case["flags"]}
    assert len(mixed) == 7
