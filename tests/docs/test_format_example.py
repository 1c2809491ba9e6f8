"""The worked example of docs/format.md, computed by a reader who has nothing of anvil.

Only a hash function, base64, JSON and an Ed25519 library are used here, after the text of the format;
every value that is computed must stand in the document.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

ROOT = Path(__file__).parents[2]
ERA = ROOT / "tests" / "eras" / "0.1"
ENTRIES = (ERA / "entries").read_bytes().splitlines()
EXAMPLE = 7


def sha256(raw: bytes) -> bytes:
    return hashlib.sha256(raw).digest()


def header_of(entry: bytes) -> bytes:
    return base64.b64decode(json.loads(entry)["payload"], validate=True)


def root(leaves: list[bytes]) -> bytes:
    """RFC 9162, section 2.1.1, as it is written there."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + root(leaves[:split]) + root(leaves[split:]))


@pytest.fixture(scope="module")
def example() -> str:
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    return page.partition("<!-- begin generated: example -->")[2]


@pytest.fixture(scope="module")
def public_keys() -> dict[str, bytes]:
    """Key id to public key, of every key that any event introduces."""
    keys = []
    for entry in ENTRIES:
        facts = json.loads(header_of(entry))["facts"]
        keys += [key["public_key"] for key in facts.get("keys", [])]
        keys += [facts[name] for name in ("public_key", "new_public_key") if name in facts]
    return {sha256(bytes.fromhex(key)).hex(): bytes.fromhex(key) for key in keys}


def test_the_header_and_its_hash_stand_in_the_example(example: str) -> None:
    header = header_of(ENTRIES[EXAMPLE])
    assert header.decode() in example
    assert sha256(header).hex() in example
    assert f"{len(header)} bytes" in example
    assert json.loads(header_of(ENTRIES[EXAMPLE + 1]))["stream_prev"] == sha256(header).hex()


def test_every_signature_of_the_log_verifies_over_the_encoding_described(
    example: str, public_keys: dict[str, bytes]
) -> None:
    for entry in ENTRIES:
        header, kind = header_of(entry), b"application/vnd.anvil.event.v1+json"
        message = b"DSSEv1 35 " + kind + b" " + str(len(header)).encode() + b" " + header
        for signature in json.loads(entry)["signatures"]:
            key = Ed25519PublicKey.from_public_bytes(public_keys[signature["keyid"]])
            key.verify(base64.b64decode(signature["sig"]), message)
    first = json.loads(ENTRIES[EXAMPLE])["signatures"][0]
    assert first["sig"] in example
    assert first["keyid"] == json.loads(header_of(ENTRIES[EXAMPLE]))["key"]
    assert public_keys[first["keyid"]].hex() in example


def test_an_entry_has_the_one_spelling_described() -> None:
    for entry in ENTRIES:
        members = json.loads(entry)
        signatures = ",".join(f'{{"keyid":"{s["keyid"]}","sig":"{s["sig"]}"}}' for s in members["signatures"])
        assert entry.decode() == (
            f'{{"payload":"{members["payload"]}","payloadType":"application/vnd.anvil.event.v1+json",'
            f'"signatures":[{signatures}]}}'
        )


def test_a_header_is_the_sorted_json_described() -> None:
    for entry in ENTRIES:
        header = header_of(entry)
        again = json.dumps(json.loads(header), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert again.encode() == header


def test_the_openings_give_the_commitments(example: str) -> None:
    shown = 0
    for line in (ERA / "openings").read_bytes().splitlines():
        stated, salt, value = line.split(b" ", 2)
        given = sha256(b"anvil/sealed/1\0" + bytes.fromhex(salt.decode()) + value).hex()
        assert given == stated.decode()
        shown += given in header_of(ENTRIES[EXAMPLE]).decode() and f"commitment  {given}" in example
    assert shown == 2


def test_the_entry_hashes_lead_to_the_root_that_the_checkpoint_signs(example: str) -> None:
    leaves = [sha256(b"\x00" + entry) for entry in ENTRIES]
    for index, leaf in enumerate(leaves):
        assert f"| {index} | " in example
        assert leaf.hex() in example
    origin, size, signed_root, *_ = (ERA / "checkpoint").read_text(encoding="utf-8").split("\n")
    assert (int(size), base64.b64decode(signed_root)) == (len(leaves), root(leaves))
    assert root(leaves).hex() in example
    assert origin == json.loads(header_of(ENTRIES[0]))["ledger"]


def test_the_checkpoint_is_signed_by_the_verifier_key(example: str) -> None:
    vkey = (ERA / "vkey").read_text(encoding="utf-8").strip()
    name, key_hash, encoded = vkey.split("+", 2)
    typed = base64.b64decode(encoded)
    assert sha256(name.encode() + b"\n" + typed)[:4].hex() == key_hash
    assert "SHA256:" + base64.b64encode(sha256(vkey.encode())).decode().rstrip("=") in example
    text, _, lines = (ERA / "checkpoint").read_text(encoding="utf-8").rpartition("\n\n")
    signature = base64.b64decode(lines.removeprefix(f"\u2014 {name} ").strip())
    assert signature[:4].hex() == key_hash
    Ed25519PublicKey.from_public_bytes(typed[1:]).verify(signature[4:], f"{text}\n".encode())
    assert lines.strip() in example
