"""The files of a publication folder, and how they are read: bounded, and never out of the folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from anvil.ledger.errors import MalformedPublication
from anvil.ledger.files import read_plain

MANIFEST = "manifest.json"
DOCUMENT = "document.json"
PAGES = {"md": "document.md", "html": "document.html"}
PROVENANCE = "provenance.json"
REDACTIONS = "redactions.json"
TEMPLATES = "templates"
ARTIFACTS = "artifacts"
ENTRIES = "events/entries"
PROOFS = "events/proofs"
FOLD = "fold.checkpoint"
KEYRING = "keyring.json"
VERIFIER_KEY = "log.vkey"
RELEASE = "release"
WITHDRAWN = "withdrawn"

PROOF_FILES = ("entries", "proofs", "checkpoint", "consistency")
"""The files about an event that came after the manifest."""

NOT_LISTED = frozenset(
    {
        *(f"{place}/{name}" for place in (RELEASE, WITHDRAWN) for name in PROOF_FILES),
        *(f"{WITHDRAWN}/{page}" for page in PAGES.values()),
    }
)
"""Files that are not in the manifest: they are about the event that names it. Of what was withdrawn only pages move."""

MOST_BYTES = 256 << 20
"""Bytes in one file at most."""

MOST_TOGETHER = 2 << 30
"""Bytes in all files of a manifest at most: they are held while they are compared."""

MOST_FILES = 10_000

_PATH = re.compile(r"[a-z0-9][A-Za-z0-9._-]*(?:/[a-z0-9][A-Za-z0-9._-]*){0,3}")


def digest(content: bytes) -> str:
    """Return the digest that a manifest names bytes by."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def artifact(digest: str) -> str:
    """Return where the bytes of a public artifact lie."""
    return f"{ARTIFACTS}/{digest.removeprefix('sha256:')}"


def is_path(path: str) -> bool:
    """Say whether a name can be that of a file in a folder; it then leads nowhere else."""
    return bool(_PATH.fullmatch(path)) and len(path) <= 200


def read(folder: Path, path: str, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file, of which there may be `most`.

    Raises:
        MalformedPublication: it is not there, is no plain file, leads elsewhere, or is too long.
    """
    if not is_path(path):
        raise MalformedPublication(f"{path[:200]!r} is no file of a publication")
    place = folder
    for part in path.split("/"):
        place = place / part
        if place.is_symlink():
            raise MalformedPublication(f"{path} is a link")
    try:
        return read_plain(place, min(most, MOST_BYTES))
    except OSError as error:
        raise MalformedPublication(f"{path} cannot be read: {error.strerror}") from error


def present(folder: Path) -> Iterator[str]:
    """Yield every file and link below a folder, by its name in it.

    Raises:
        MalformedPublication: there are too many, or the folder cannot be read.
    """
    waiting, count = [folder], 0
    try:
        while waiting:
            for place in sorted(waiting.pop().iterdir()):
                count += 1
                if count > MOST_FILES:
                    raise MalformedPublication(f"there are more than {MOST_FILES} files")
                if place.is_dir() and not place.is_symlink():
                    waiting.append(place)
                else:
                    yield place.relative_to(folder).as_posix()
    except OSError as error:
        raise MalformedPublication(f"{folder} cannot be read: {error.strerror}") from error
