"""The user's private keys: one file for each, in a directory for each ledger.

1. A key file is PKCS#8 PEM, mode 0600, named by role and key id. A file that others can read is
   refused, not silently used.
2. A key that stays in an ssh-agent has a file too; it holds the public half only.
3. A passphrase comes from ``ANVIL_PASSPHRASE`` or from whoever opened the key store.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from anvil.ledger.agent import AgentKey
from anvil.ledger.errors import MalformedKey, NotPermitted
from anvil.ledger.files import make_private_directory, write_whole
from anvil.ledger.public import Role
from anvil.ledger.signing import PrivateKey, PublicKey, Signer

Passphrase = Callable[[], str | None]
"""Returns the passphrase of the key files, or None when there is none."""


def passphrase_from_environment() -> str | None:
    """Return ``ANVIL_PASSPHRASE``; None when it is not set."""
    return os.environ.get("ANVIL_PASSPHRASE") or None


class KeyStore:
    """The private keys for one ledger that this user holds."""

    def __init__(self, directory: Path, passphrase: Passphrase = passphrase_from_environment) -> None:
        self.directory = directory
        self._passphrase = passphrase

    def add(self, role: Role, key: PrivateKey, *, encrypt: bool = False) -> Path:
        """Keep a private key; with `encrypt`, under the passphrase. Return its file.

        Raises:
            MalformedKey: `encrypt` was asked for and there is no passphrase.
        """
        secret = self._passphrase() if encrypt else None
        if encrypt and not secret:
            raise MalformedKey("no passphrase was given for the new key", advice="Set ANVIL_PASSPHRASE.")
        return self._write(f"{role}-{key.public_key.key_id[:16]}.pem", key.to_pem(secret))

    def add_agent(self, role: Role, public_key: PublicKey) -> Path:
        """Remember that the ssh-agent holds the private half of `public_key`."""
        return self._write(f"{role}-{public_key.key_id[:16]}.agent", public_key.raw.hex().encode() + b"\n")

    def holds(self, key_id: str) -> bool:
        """Say whether there is a file for the key."""
        return self._file(key_id) is not None

    def path(self, key_id: str) -> Path | None:
        """Return the file of the key, or None."""
        return self._file(key_id)

    def signer(self, key_id: str) -> Signer:
        """Return what signs for the key.

        Raises:
            NotPermitted: this user does not hold the key.
            MalformedKey: the file is not the key, is open to others, or needs another passphrase.
        """
        path = self._file(key_id)
        if path is None:
            raise NotPermitted(
                f"the private key {key_id[:16]} is not in {self.directory}",
                advice="Point ANVIL_KEYS to where it is kept, or name a key that you hold (`anvil key list`).",
            )
        key = _agent_key(path) if path.suffix == ".agent" else self._private_key(path)
        if key.public_key.key_id != key_id:
            raise MalformedKey(f"{path} holds key {key.public_key.key_id[:16]}, expected {key_id[:16]}")
        return key

    def _private_key(self, path: Path) -> PrivateKey:
        content, mode = _read(path)
        if mode & 0o077:
            raise MalformedKey(
                f"{path} can be read by others (mode {mode:03o}, expected 600)",
                advice=f"Run `chmod 600 {path}`, and rotate the key if somebody may have read it.",
            )
        secret = self._passphrase() if b"ENCRYPTED" in content else None
        try:
            return PrivateKey.from_pem(content, secret)
        except MalformedKey as error:
            raise MalformedKey(f"{path}: {error}", advice="Set ANVIL_PASSPHRASE if it has one.") from error

    def _file(self, key_id: str) -> Path | None:
        names = (f"{role}-{key_id[:16]}{suffix}" for role in get_args(Role) for suffix in (".pem", ".agent"))
        try:
            return next((path for name in names if (path := self.directory / name).exists()), None)
        except OSError as error:
            raise MalformedKey(
                f"the keys in {self.directory} cannot be looked at: {error.strerror}",
                advice="The folder belongs to whoever signs, with mode 700; ANVIL_KEYS names another.",
            ) from error

    def _write(self, name: str, content: bytes) -> Path:
        make_private_directory(self.directory)
        path = self.directory / name
        write_whole(path, content, mode=0o600)
        return path


def _read(path: Path) -> tuple[bytes, int]:
    """Return content and permission bits of one and the same file.

    Raises:
        MalformedKey: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mode & 0o777
    except OSError as error:
        raise MalformedKey(f"{path} cannot be read: {error.strerror}") from error


def _agent_key(path: Path) -> AgentKey:
    try:
        return AgentKey(PublicKey.vetted(bytes.fromhex(_read(path)[0].decode("ascii"))))
    except ValueError as error:
        raise MalformedKey(f"{path} does not hold a public key in hex") from error
