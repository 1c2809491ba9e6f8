"""What a folder is, by the names of the files in it: for whoever gave it as something else.

Nothing is read or believed here. What is in a folder is for verification to say.
"""

from __future__ import annotations

import shlex
from pathlib import Path

DATABASE = "ledger.db"
"""The file that a ledger's directory has."""

MANIFEST = "manifest.json"
"""The file that a publication has."""

CHECKPOINT, TILES = "checkpoint", "tile"
"""The file and the folder that an export has."""


def how_to_verify(folder: Path) -> str | None:
    """Return what a folder is and which command checks it, as a sentence; None when it is none of ours."""
    name = shlex.quote(str(folder))
    if (folder / DATABASE).is_file():
        return f"{folder} is a ledger, which `anvil --ledger {name} verify` checks."
    if (folder / MANIFEST).is_file():
        return f"{folder} is a publication, which `anvil verify --publication {name} --key VKEY` checks."
    if (folder / CHECKPOINT).is_file() and (folder / TILES).is_dir():
        return f"{folder} holds exported files, which `anvil verify --tiles {name} --key VKEY` checks."
    return None


def instead_of(folder: Path | None, expected: str) -> str | None:
    """Return `how_to_verify` of a folder that lacks the file which was expected there; else None."""
    return None if folder is None or (folder / expected).exists() else how_to_verify(folder)
