"""Where things lie: a ledger's directory, and the user's own keys and state beside it.

1. The ledger directory can be handed to anybody: it holds no private key. Private keys lie in the
   user's configuration directory (``ANVIL_KEYS``).
2. The anchor lies in the user's state directory (``ANVIL_STATE``), apart from the database, so that
   whoever replaces one has not replaced the other.
3. Both are kept apart by origin.
4. The blob store lies in the ledger directory, or ``blobs`` there is a link to it (docs/adr/0019). One
   that leads nowhere is a disk that is away: nothing is read from it, written or deleted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from anvil.ledger.errors import BlobStoreAway
from anvil.ledger.folders import DATABASE

DEFAULT_DIRECTORY = Path("anvil-ledger")


@dataclass(frozen=True)
class LedgerPlace:
    """The files of a ledger directory."""

    directory: Path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.directory / DATABASE

    @property
    def blobs(self) -> Path:
        """The blob store.

        Raises:
            BlobStoreAway: it lies elsewhere, and nothing is there.
        """
        path = self.directory / "blobs"
        if path.is_symlink() and not path.is_dir():
            raise BlobStoreAway(
                f"the artifacts of {self.directory} cannot be reached: they lie at {path.readlink()}, where there "
                "is no folder",
                advice="Mount that disk or put the folder back. If it is lost, an empty folder there lets "
                "`anvil verify` say which artifacts are missing.",
            )
        return path

    @property
    def verifier_key(self) -> Path:
        """The public key, for whoever gets the directory; verification never trusts it."""
        return self.directory / "log.vkey"


def state_directory() -> Path:
    """Return the user's state directory for anvil."""
    return Path(os.environ.get("ANVIL_STATE") or platformdirs.user_state_path("anvil"))


def keys_directory() -> Path:
    """Return the directory under which the user's private keys lie."""
    return Path(os.environ.get("ANVIL_KEYS") or platformdirs.user_config_path("anvil") / "keys")


def by_origin(parent: Path, origin: str) -> Path:
    """Return the folder for one ledger under `parent`; an origin never holds a ``+``."""
    return parent / origin.replace("/", "+")
