"""tlog-proofs: round trips, verification from the entry up to the signature, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.logs import ORIGIN, SIGNER, key_of, synthetic_entries, tree_reader
from support.mangle import assert_every_flip_refused, mangled

from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.errors import Malformed, MalformedProof, SignatureInvalid
from anvil.ledger.merkle import inclusion_proof, leaf_hash, root_at
from anvil.ledger.signing import PrivateKey
from anvil.ledger.tlogproof import TlogProof

ENTRIES = synthetic_entries(40)
KEY = key_of(SIGNER)


def proof_of(index: int, size: int, extra: bytes | None = None) -> TlogProof:
    read = tree_reader([leaf_hash(entry) for entry in ENTRIES[:size]])
    note = sign_checkpoint(Checkpoint(ORIGIN, size, root_at(size, read)), [SIGNER])
    return TlogProof(index, tuple(inclusion_proof(index, size, read)), note, extra)


PROOF = proof_of(5, 11)
RAW = PROOF.to_bytes()
WITH_EXTRA = proof_of(5, 11, b"context").to_bytes()


@given(st.data(), st.integers(1, len(ENTRIES)), st.none() | st.binary(min_size=1))
def test_a_proof_of_any_entry_verifies_after_a_round_trip(
    data: st.DataObject, size: int, extra: bytes | None
) -> None:
    index = data.draw(st.integers(0, size - 1))
    proof = proof_of(index, size, extra)
    parsed = TlogProof.parse(proof.to_bytes())
    assert parsed == proof
    assert parsed.verify(ENTRIES[index], [KEY]).size == size


@given(
    st.integers(0, 2**63 - 1),
    st.lists(st.binary(min_size=32, max_size=32), max_size=63),
    st.binary(min_size=1),
    st.none() | st.binary(min_size=1),
)
def test_a_proof_is_read_as_it_is_written(
    index: int, hashes: list[bytes], note: bytes, extra: bytes | None
) -> None:
    proof = TlogProof(index, tuple(hashes), note, extra)
    assert TlogProof.parse(proof.to_bytes()) == proof


def test_another_entry_is_refused() -> None:
    with pytest.raises(MalformedProof, match="leads to root"):
        PROOF.verify(ENTRIES[6], [KEY])
    with pytest.raises(MalformedProof, match="leads to root"):
        PROOF.verify(ENTRIES[5] + b"\n", [KEY])


def test_another_index_is_refused() -> None:
    with pytest.raises(MalformedProof):
        TlogProof(4, PROOF.hashes, PROOF.checkpoint).verify(ENTRIES[5], [KEY])
    with pytest.raises(MalformedProof, match="no leaf 11"):
        TlogProof(11, PROOF.hashes, PROOF.checkpoint).verify(ENTRIES[5], [KEY])


def test_a_key_that_did_not_sign_is_refused() -> None:
    with pytest.raises(SignatureInvalid):
        PROOF.verify(ENTRIES[5], [key_of(PrivateKey.from_seed(bytes(32)))])
    with pytest.raises(SignatureInvalid):
        PROOF.verify(ENTRIES[5], [])


def test_every_changed_byte_of_a_proof_is_refused() -> None:
    assert_every_flip_refused(
        RAW, lambda raw: TlogProof.parse(raw).verify(ENTRIES[5], [KEY]), (Malformed, SignatureInvalid)
    )


HASH = "A" * 43 + "="
BAD_PROOFS = {
    "empty": "",
    "no_checkpoint": "c2sp.org/tlog-proof@v1\nindex 0\n",
    "empty_checkpoint": "c2sp.org/tlog-proof@v1\nindex 0\n\n",
    "other_version": "c2sp.org/tlog-proof@v2\nindex 0\n\ncheckpoint\n",
    "carriage_return": "c2sp.org/tlog-proof@v1\r\nindex 0\n\ncheckpoint\n",
    "no_index": f"c2sp.org/tlog-proof@v1\n{HASH}\n\ncheckpoint\n",
    "only_header": "c2sp.org/tlog-proof@v1\n\ncheckpoint\n",
    "leading_zero": "c2sp.org/tlog-proof@v1\nindex 00\n\ncheckpoint\n",
    "negative": "c2sp.org/tlog-proof@v1\nindex -1\n\ncheckpoint\n",
    "too_large": f"c2sp.org/tlog-proof@v1\nindex {2**63}\n\ncheckpoint\n",
    "short_hash": "c2sp.org/tlog-proof@v1\nindex 0\nAAAA\n\ncheckpoint\n",
    "long_hash": f"c2sp.org/tlog-proof@v1\nindex 0\n{'A' * 44}\n\ncheckpoint\n",
    "loose_bits": f"c2sp.org/tlog-proof@v1\nindex 0\n{HASH.replace('A=', 'B=')}\n\ncheckpoint\n",
    "hash_not_ascii": f"c2sp.org/tlog-proof@v1\nindex 0\né{HASH}\n\ncheckpoint\n",
    "too_many_hashes": f"c2sp.org/tlog-proof@v1\nindex 0\n{(HASH + chr(10)) * 64}\ncheckpoint\n",
    "two_extras": "c2sp.org/tlog-proof@v1\nextra AAAA\nextra AAAA\nindex 0\n\ncheckpoint\n",
    "empty_extra": "c2sp.org/tlog-proof@v1\nextra \nindex 0\n\ncheckpoint\n",
    "extra_after_index": "c2sp.org/tlog-proof@v1\nindex 0\nextra AAAA\n\ncheckpoint\n",
}


@pytest.mark.parametrize("name", BAD_PROOFS)
def test_malformed_proof(name: str) -> None:
    with pytest.raises(MalformedProof):
        TlogProof.parse(BAD_PROOFS[name].encode())


@pytest.mark.parametrize(
    ("index", "hashes", "note", "extra"),
    [
        (-1, (), b"c", None),
        (2**63, (), b"c", None),
        (0, (b"",), b"c", None),
        (0, (bytes(32),) * 64, b"c", None),
        (0, (), b"", None),
        (0, (), b"c", b""),
    ],
)
def test_a_proof_that_no_file_can_carry_is_not_made(
    index: int, hashes: tuple[bytes, ...], note: bytes, extra: bytes | None
) -> None:
    with pytest.raises(MalformedProof):
        TlogProof(index, hashes, note, extra)


@given(st.binary() | mangled(RAW) | mangled(WITH_EXTRA))
def test_arbitrary_bytes_raise_malformed_or_signature_invalid(raw: bytes) -> None:
    try:
        proof = TlogProof.parse(raw)
        assert proof.to_bytes() == raw
        proof.verify(ENTRIES[5], [KEY])
    except (Malformed, SignatureInvalid):
        pass
