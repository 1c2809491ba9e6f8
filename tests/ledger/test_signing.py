"""Keys: unsafe ones are refused at the door, files of another kind are refused, secrets are never shown."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa, x25519
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from anvil.ledger.errors import Malformed, MalformedKey, SignatureInvalid
from anvil.ledger.signing import PrivateKey, PublicKey

P = 2**255 - 19
KEY = PrivateKey.from_seed(bytes(range(32)))
PEM = KEY.to_pem()

# --- public keys that are refused -----------------------------------------------------------------

SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
]
"""All eight points whose order divides 8 (the torsion subgroup), in their canonical encoding."""


@pytest.mark.parametrize("text", SMALL_ORDER)
def test_a_point_of_small_order_is_refused(text: str) -> None:
    with pytest.raises(MalformedKey, match="small order"):
        PublicKey.vetted(bytes.fromhex(text))


@pytest.mark.parametrize("y", [P, P + 1, P + 18, 2**255 - 1])
@pytest.mark.parametrize("sign", [0, 1])
def test_an_encoding_that_is_not_canonical_is_refused(y: int, sign: int) -> None:
    with pytest.raises(MalformedKey, match="canonical"):
        PublicKey.vetted((y | sign << 255).to_bytes(32, "little"))


@pytest.mark.parametrize("y", [1, P - 1])
def test_minus_zero_is_refused(y: int) -> None:
    with pytest.raises(MalformedKey, match="canonical"):
        PublicKey.vetted((y | 1 << 255).to_bytes(32, "little"))


def test_bytes_that_are_no_point_are_refused() -> None:
    with pytest.raises(MalformedKey, match="curve point"):
        PublicKey.vetted(b"\x02" + bytes(31))


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_another_length_is_refused(size: int) -> None:
    with pytest.raises(MalformedKey, match="32 bytes"):
        PublicKey.vetted(KEY.public_key.raw.ljust(64, b"\0")[:size])


@given(st.binary(min_size=32, max_size=32))
def test_no_vetted_key_accepts_a_signature_of_zeros(raw: bytes) -> None:
    try:
        key = PublicKey.vetted(raw)
    except MalformedKey:
        return
    with pytest.raises(SignatureInvalid):
        key.verify(bytes(64), b"")


@given(st.binary(min_size=32, max_size=32))
def test_every_key_of_a_seed_is_accepted(seed: bytes) -> None:
    key = PrivateKey.from_seed(seed)
    assert PublicKey.vetted(key.public_key.raw) == key.public_key


# --- signatures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 63, 65, 128])
def test_a_signature_of_another_length_is_invalid(size: int) -> None:
    with pytest.raises(SignatureInvalid):
        KEY.public_key.verify(KEY.sign(b"m").ljust(128, b"\0")[:size], b"m")


def test_a_signature_with_s_above_the_order_is_invalid() -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    good = KEY.sign(b"m")
    s = int.from_bytes(good[32:], "little") + order
    with pytest.raises(SignatureInvalid):
        KEY.public_key.verify(good[:32] + s.to_bytes(32, "little"), b"m")


@given(st.binary(max_size=100), st.binary(max_size=100))
def test_a_signature_covers_its_message_and_no_other(message: bytes, other: bytes) -> None:
    signature = KEY.sign(message)
    KEY.public_key.verify(signature, message)
    if message != other:
        with pytest.raises(SignatureInvalid):
            KEY.public_key.verify(signature, other)


def test_the_key_id_is_the_sha256_of_the_raw_key() -> None:
    assert KEY.public_key.key_id == hashlib.sha256(KEY.public_key.raw).hexdigest()


# --- private key files ----------------------------------------------------------------------------------


def pkcs8(key: object) -> bytes:
    return key.private_bytes(  # type: ignore[attr-defined, no-any-return]
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


BAD_PEMS = {
    "empty": b"",
    "text": b"not a key",
    "public_half": Ed25519PrivateKey.from_private_bytes(bytes(32))
    .public_key()
    .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    "cut": PEM[:60],
    "other_label": PEM.replace(b"PRIVATE KEY", b"CERTIFICATE"),
    "not_base64": PEM.replace(b"MC4CAQ", b"####AQ"),
    "ecdsa": pkcs8(ec.generate_private_key(ec.SECP256R1())),
    "x25519": pkcs8(x25519.X25519PrivateKey.generate()),
    "ed448": pkcs8(ed448.Ed448PrivateKey.generate()),
    "rsa": pkcs8(rsa.generate_private_key(65537, 1024)),
    "nul": b"\0" * 1000,
}


@pytest.mark.parametrize("name", BAD_PEMS)
def test_refused_key_file(name: str) -> None:
    with pytest.raises(MalformedKey):
        PrivateKey.from_pem(BAD_PEMS[name])


def test_a_passphrase_that_is_missing_wrong_or_not_needed_is_refused() -> None:
    locked = KEY.to_pem("open sesame")
    with pytest.raises(MalformedKey, match="a passphrase is needed"):
        PrivateKey.from_pem(locked)
    with pytest.raises(MalformedKey, match="a passphrase is needed"):
        PrivateKey.from_pem(locked, "")
    with pytest.raises(MalformedKey, match="passphrase is wrong"):
        PrivateKey.from_pem(locked, "close sesame")
    with pytest.raises(MalformedKey, match="has no passphrase"):
        PrivateKey.from_pem(PEM, "open sesame")


@pytest.mark.parametrize("passphrase", ["x" * 1024, "\ud800", "é" * 600])
def test_a_passphrase_that_cannot_be_used_is_refused(passphrase: str) -> None:
    with pytest.raises(MalformedKey):
        KEY.to_pem(passphrase)
    with pytest.raises(MalformedKey):
        PrivateKey.from_pem(KEY.to_pem("a"), passphrase)


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_seed_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(Malformed, match="32 bytes"):
        PrivateKey.from_seed(bytes(size))


@pytest.mark.parametrize("passphrase", [None, "open sesame", "öffne dich", "caf\udce9", "x" * 1023])
def test_a_key_is_read_as_it_is_written(passphrase: str | None) -> None:
    pem = KEY.to_pem(passphrase)
    assert (b"ENCRYPTED" in pem) == (passphrase is not None)
    assert PrivateKey.from_pem(pem, passphrase).sign(b"m") == KEY.sign(b"m")


def test_a_key_never_shows_its_secret() -> None:
    for text in (repr(KEY), str(KEY), f"{KEY}", repr({"key": KEY})):
        assert bytes(range(32)).hex() not in text
        assert KEY.public_key.key_id[:16] in text


def test_new_keys_differ() -> None:
    assert PrivateKey.generate().public_key != PrivateKey.generate().public_key
