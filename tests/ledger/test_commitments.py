"""Commitments: what stands in a header for what stays outside it."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.commitments import SALT_SIZE, Opening, commitment
from anvil.ledger.errors import Malformed, MalformedSalt

salts = st.binary(min_size=SALT_SIZE, max_size=SALT_SIZE)


@pytest.mark.parametrize("size", [0, 1, 31, 33, 64])
def test_a_salt_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(MalformedSalt):
        commitment(bytes(size), b"value")
    with pytest.raises(Malformed):
        Opening(bytes(size), b"value").commitment()


@given(salts, salts, st.binary(max_size=80), st.binary(max_size=80))
def test_another_salt_or_value_is_another_commitment(a: bytes, b: bytes, x: bytes, y: bytes) -> None:
    assert (commitment(a, x) == commitment(b, y)) == ((a, x) == (b, y))


def test_equal_values_do_not_look_equal() -> None:
    assert len({Opening.of(b"yes").commitment() for _ in range(100)}) == 100


def test_it_is_the_formula_of_the_format() -> None:
    expected = hashlib.sha256(b"anvil/sealed/1\x00" + bytes(32) + b'"yes"').hexdigest()
    assert Opening(bytes(32), b'"yes"').commitment() == expected == commitment(bytes(32), b'"yes"').hex()


def test_it_is_not_the_hash_of_a_leaf_a_node_or_plain_bytes() -> None:
    value = b"\x00" * 40
    found = commitment(bytes(32), value)
    for other in (value, bytes(32) + value, b"\x00" + bytes(32) + value, b"\x01" + bytes(32) + value):
        assert hashlib.sha256(other).digest() != found
