"""Ed25519 keys: who signs, and how a signature is checked (RFC 8032).

1. A public key is 32 bytes. Its key id is the lower-case hex SHA-256 of those bytes.
2. A key is vetted once, when it becomes known: an encoding that is not canonical (y >= p) and
   a point of small order are refused. With such a key one signature can fit many messages, and
   implementations disagree on whether it verifies (the C2SP CCTV vectors).
3. A signature is 64 bytes and verifies under RFC 8032 or not at all.
4. A private key is a PKCS#8 PEM file with mode 0600, or stays in an ssh-agent
   (`anvil.ledger.agent`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from anvil.ledger.errors import MalformedKey, SignatureInvalid

PUBLIC_KEY_SIZE = 32
SIGNATURE_SIZE = 64
MAX_PASSPHRASE = 1023  # OpenSSL's limit

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 public key as its 32 raw bytes.

    Use `PublicKey.vetted` for a key from outside; the bare constructor is for keys that were
    vetted before.
    """

    raw: bytes

    @classmethod
    def vetted(cls, raw: bytes) -> PublicKey:
        """Return the key after checking that it is safe to register (RFC 8032, 5.1.3).

        Raises:
            MalformedKey: wrong length, non-canonical encoding, not on the curve, small order.
        """
        if len(raw) != PUBLIC_KEY_SIZE:
            raise MalformedKey(f"an Ed25519 public key has {PUBLIC_KEY_SIZE} bytes, this one has {len(raw)}")
        point = _decompress(raw)
        if point is None:
            raise MalformedKey(f"not the canonical encoding of a curve point: {raw.hex()}")
        if _has_small_order(point):
            raise MalformedKey(f"a point of small order is no public key: {raw.hex()}")
        return cls(raw)

    @cached_property
    def key_id(self) -> str:
        """The name of this key in headers and envelopes: hex SHA-256 of the raw bytes."""
        return hashlib.sha256(self.raw).hexdigest()

    def verify(self, signature: bytes, message: bytes) -> None:
        """Check `signature` over `message`.

        Raises:
            SignatureInvalid: it is not a signature of this key over these bytes.
        """
        try:
            _loaded(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError) as error:
            raise SignatureInvalid(f"signature does not verify under key {self.key_id[:16]}") from error


class Signer(Protocol):
    """What can sign: a private key in memory, or one that stays in an agent."""

    @property
    def public_key(self) -> PublicKey:
        """The public half."""

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature over `message`."""


@dataclass(frozen=True)
class PrivateKey:
    """An Ed25519 private key held in memory. Its `repr` never shows the secret."""

    _key: Ed25519PrivateKey

    @classmethod
    def generate(cls) -> PrivateKey:
        """Return a new key from the operating system's randomness."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> PrivateKey:
        """Return the key of a 32-byte seed (RFC 8032, 5.1.5).

        Raises:
            MalformedKey: the seed is not 32 bytes long.
        """
        try:
            return cls(Ed25519PrivateKey.from_private_bytes(seed))
        except ValueError as error:
            raise MalformedKey(f"an Ed25519 seed has 32 bytes, this one has {len(seed)}") from error

    @classmethod
    def from_pem(cls, pem: bytes, passphrase: str | None = None) -> PrivateKey:
        """Return the key in a PKCS#8 PEM file, decrypted with `passphrase` when it has one.

        Raises:
            MalformedKey: not PKCS#8, not Ed25519, or the passphrase is missing or wrong.
        """
        from cryptography.hazmat.primitives import serialization  # loads much that a verifier never needs

        secret = _secret(passphrase)
        try:
            key = serialization.load_pem_private_key(pem, secret)
        except TypeError as error:
            wanted = "a passphrase is needed" if secret is None else "it has no passphrase, one was given"
            raise MalformedKey(f"private key: {wanted}") from error
        except (ValueError, UnsupportedAlgorithm) as error:
            raise MalformedKey("private key: not PKCS#8 PEM, or the passphrase is wrong") from error
        if not isinstance(key, Ed25519PrivateKey):
            raise MalformedKey(f"private key: expected Ed25519, found {type(key).__name__}")
        return cls(key)

    def to_pem(self, passphrase: str | None = None) -> bytes:
        """Return the key as PKCS#8 PEM, encrypted when `passphrase` is given.

        Raises:
            MalformedKey: the passphrase is longer than 1,023 bytes or no text.
        """
        from cryptography.hazmat.primitives import serialization

        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if secret := _secret(passphrase):
            encryption = serialization.BestAvailableEncryption(secret)
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )

    @cached_property
    def public_key(self) -> PublicKey:
        """The public half."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature over `message`."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        return f"PrivateKey({self.public_key.key_id[:16]})"


def _secret(passphrase: str | None) -> bytes | None:
    """Return a passphrase as bytes: those of the environment when it is not UTF-8 there."""
    if not passphrase:
        return None
    try:
        secret = passphrase.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise MalformedKey("private key: the passphrase is no text") from error
    if len(secret) > MAX_PASSPHRASE:
        raise MalformedKey(f"private key: a passphrase has at most {MAX_PASSPHRASE} bytes")
    return secret


@lru_cache(maxsize=1024)
def _loaded(raw: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(raw)


_Point = tuple[int, int]  # affine x, y


def _decompress(raw: bytes) -> _Point | None:
    """Return the affine point that `raw` encodes canonically, or None (RFC 8032, 5.1.3)."""
    encoded = int.from_bytes(raw, "little")
    sign, y = encoded >> 255, encoded & (2**255 - 1)
    if y >= _P:
        return None
    x_squared = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(x_squared, (_P + 3) // 8, _P)
    if x * x % _P != x_squared:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    if x * x % _P != x_squared or (x == 0 and sign):
        return None
    return (x, y) if x % 2 == sign else (_P - x, y)


def _has_small_order(point: _Point) -> bool:
    """Say whether eight times the point is the neutral element (0, 1)."""
    for _ in range(3):
        point = _double(point)
    return point == (0, 1)


def _double(point: _Point) -> _Point:
    x, y = point
    product = _D * x * x * y * y % _P
    doubled_x = 2 * x * y * pow(1 + product, -1, _P) % _P
    doubled_y = (y * y + x * x) * pow(1 - product, -1, _P) % _P
    return doubled_x, doubled_y
