"""Commitments: how a header holds the place of something that stays outside it.

1. A commitment is ``SHA-256("anvil/sealed/1\\0" || salt || value)``.
2. Each value has a salt of its own, 32 bytes from the operating system, so that one value can be
   opened or redacted without the others, and short answers cannot be found by trying.
3. A sealed field commits to the canonical JSON of its value; a private artifact commits to the
   canonical JSON of ``{"digest":"sha256:…","size":n}``.
4. Salt and value lie beside the log (an *opening*); the log itself holds the commitment alone.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Annotated

from pydantic import StringConstraints

from anvil.ledger.errors import MalformedSalt

ALGORITHM = "sha256-salted/1"
SALT_SIZE = 32

_DOMAIN = b"anvil/sealed/1\0"


@dataclass(frozen=True)
class Commitment:
    """What stands in the clear for a value that is sealed; 64 lower-case hex digits."""

    hex: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Opening:
    """A salt and the bytes that, with it, give a commitment."""

    salt: bytes
    value: bytes

    @classmethod
    def of(cls, value: bytes) -> Opening:
        """Return an opening of `value` under a fresh salt."""
        return cls(secrets.token_bytes(SALT_SIZE), value)

    def commitment(self) -> str:
        """Return the commitment that this opens, in hex."""
        return commitment(self.salt, self.value).hex()


def commitment(salt: bytes, value: bytes) -> bytes:
    """Return the 32-byte digest that stands in a header for `value`.

    Raises:
        MalformedSalt: `salt` is not 32 bytes long.
    """
    if len(salt) != SALT_SIZE:
        raise MalformedSalt(f"a salt has {SALT_SIZE} bytes, this one has {len(salt)}")
    return hashlib.sha256(_DOMAIN + salt + value).digest()
