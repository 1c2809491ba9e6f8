"""`anvil verify --proof`: what `anvil prove` wrote is checked with the public key alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil, Ran

from anvil.ledger.commands.proofs import judge
from anvil.ledger.merkle import leaf_hash
from anvil.ledger.note import VerifierKey
from anvil.ledger.signing import PrivateKey
from anvil.ledger.tlogproof import TlogProof

INDEX, SIZE = 3, 8
STRANGER = PrivateKey.from_seed(b"stranger" * 4).public_key


class Handed:
    """The two files and the key, somewhere without a ledger."""

    def __init__(self, anvil: Anvil, folder: Path) -> None:
        self._anvil = anvil
        self.proof, self.entry = folder / f"{INDEX}.tlog-proof", folder / f"{INDEX}.entry"
        self.key = folder / "log.vkey"

    @property
    def vkey(self) -> VerifierKey:
        return VerifierKey.parse(self.key.read_text().strip())

    def verify(self, *more: object, key: object = None) -> Ran:
        arguments = ("--proof", self.proof, "--entry", self.entry, "--key", key or self.key)
        return self._anvil("--ledger", "nowhere", "verify", *arguments, *more)

    def refused(self, code: str, key: object = None) -> dict[str, Any]:
        ran = self.verify("--json", key=key)
        assert (ran.code, ran.json["exit_code"], ran.json["verified"]) == (1, 1, False)
        assert code in [f["code"] for f in ran.json["findings"]]
        text = self.verify(key=key)
        assert (text.code, f"FOUND: {code}" in text.out, "Not verified." in text.out) == (1, True, True)
        answer: dict[str, Any] = ran.json
        return answer


@pytest.fixture
def handed(ledger: Anvil, tmp_path: Path) -> Handed:
    for text in ("one", "two"):
        assert ledger("observe", text, "--public", "--status", "declared").code == 0
    folder = tmp_path / "handed"
    assert ledger("prove", INDEX, "--out", folder).code == 0
    (folder / "log.vkey").write_bytes(Path("anvil-ledger/log.vkey").read_bytes())
    return Handed(ledger, folder)


def test_a_proof_shows_which_entry_is_where_in_which_log_by_which_key(handed: Handed) -> None:
    ran = handed.verify()
    assert (ran.code, ran.err) == (0, "")
    for shown in (handed.vkey.name, handed.vkey.fingerprint, "observation.noted/2", "note: not-checked"):
        assert shown in ran.out
    assert ran.out.endswith(f"Verified: the entry is at index {INDEX} of {SIZE}.\n")
    answer = handed.verify("--json").json
    assert answer["schema"] == "anvil.verify.proof/1"
    assert (answer["index"], answer["size"], answer["origin"]) == (INDEX, SIZE, handed.vkey.name)
    assert (answer["verifier_key"], answer["fingerprint"]) == (str(handed.vkey), handed.vkey.fingerprint)
    assert answer["entry_hash"] == leaf_hash(handed.entry.read_bytes()).hex()
    assert [f["code"] for f in answer["findings"]] == ["not-checked"]
    assert handed.verify(key=str(handed.vkey)).code == 0


def test_another_entry_is_not_the_one_in_the_log(handed: Handed) -> None:
    handed.entry.write_bytes(handed.entry.read_bytes() + b" ")
    assert handed.refused("tampered")["event"] is None


def test_another_index_is_not_where_it_is(handed: Handed) -> None:
    parsed = TlogProof.parse(handed.proof.read_bytes())
    handed.proof.write_bytes(TlogProof(INDEX + 1, parsed.hashes, parsed.checkpoint).to_bytes())
    handed.refused("tampered")


def test_a_key_of_another_name_is_of_another_ledger(handed: Handed) -> None:
    handed.refused("other-ledger", key=VerifierKey("other.test.invalid", STRANGER))


def test_another_key_of_the_same_name_signed_nothing(handed: Handed) -> None:
    assert handed.refused("checkpoint-invalid", key=VerifierKey(handed.vkey.name, STRANGER))["size"] is None


@pytest.mark.parametrize("content", [b"", b"junk", b"c2sp.org/tlog-proof@v1\nindex 3\n\n"])
def test_what_is_no_proof(handed: Handed, content: bytes) -> None:
    handed.proof.write_bytes(content)
    assert handed.refused("file-damaged")["index"] is None


def test_no_byte_of_proof_or_entry_can_be_changed(handed: Handed) -> None:
    proof, entry, key = handed.proof.read_bytes(), handed.entry.read_bytes(), handed.vkey
    assert judge(proof, entry, key).holds
    for position in range(len(proof)):
        flipped = bytearray(proof)
        flipped[position] ^= 1
        assert not judge(bytes(flipped), entry, key).holds, position
    for position in range(len(entry)):
        flipped = bytearray(entry)
        flipped[position] ^= 1
        assert not judge(proof, bytes(flipped), key).holds, position
    assert not judge(proof[:-1], entry, key).holds
    assert not judge(proof + b"\n", entry, key).holds


def test_a_log_may_hold_an_entry_that_is_no_event(handed: Handed) -> None:
    from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint

    signer = PrivateKey.from_seed(b"a log of" * 4)
    key = VerifierKey("log.test.invalid", signer.public_key)
    note = sign_checkpoint(Checkpoint(key.name, 1, leaf_hash(b"free text")), [signer])
    judged = judge(TlogProof(0, (), note).to_bytes(), b"free text", key)
    assert [f.code for f in judged.findings] == ["non-canonical", "not-checked"]
    assert not judged.holds


@pytest.mark.parametrize("name", ["proof", "entry"])
def test_a_file_that_cannot_be_read_was_not_checked(handed: Handed, name: str) -> None:
    getattr(handed, name).unlink()
    ran = handed.verify()
    assert (ran.code, ran.out) == (3, "")
    assert "cannot be read" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--proof", "p"),
        ("--entry", "e"),
        ("--proof", "p", "--entry", "e"),
        ("--proof", "p", "--entry", "e", "--structure"),
        ("--proof", "p", "--entry", "e", "--tiles", "."),
        ("--proof", "p", "--entry", "e", "--since", "s"),
    ],
)
def test_what_goes_together(anvil: Anvil, arguments: tuple[str, ...]) -> None:
    key = () if len(arguments) < 5 else ("--key", str(VerifierKey("x.test.invalid", STRANGER)))
    ran = anvil("verify", *arguments, *key)
    assert (ran.code, ran.out) == (2, "")
    assert "--proof, --entry and --key go together" in ran.err


def test_after_a_rotation_either_key_checks_the_proof(handed: Handed, ledger: Anvil) -> None:
    assert ledger("key", "rotate", "ledger").code == 0
    assert ledger("prove", INDEX, "--out", handed.proof.parent).code == 0
    keys = [k["verifier_key"] for k in ledger("key", "list", "--json").json["keys"] if k["verifier_key"]]
    assert len(keys) == 2
    assert [handed.verify(key=key).code for key in keys] == [0, 0]
