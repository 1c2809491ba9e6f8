"""The verifier key that a command line gives, and where it came from.

A key says who signed only when it came another way than what it is to check: whoever makes a folder can put any key,
and any checkpoint, into it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import click

from anvil.ledger.commands.output import say
from anvil.ledger.errors import MalformedKey
from anvil.ledger.note import VerifierKey


class GivenKey(NamedTuple):
    """A verifier key, and the file that it was read from; None where its text was given."""

    key: VerifierKey
    file: Path | None


class VerifierKeyParam(click.ParamType[GivenKey]):
    """A verifier key, given as its text or as a file that holds it."""

    name = "vkey"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> GivenKey:
        """Return the key.

        Raises:
            BadParameter: it is neither a key nor a file with one.
        """
        if isinstance(value, GivenKey):
            return value
        text = str(value)
        path = Path(text)
        file = None
        try:
            if "+" not in text or path.is_file():
                text, file = path.read_text(encoding="utf-8").strip(), path
        except OSError as error:
            self.fail(f"{value!r} is neither a verifier key nor a file: {error.strerror}", param, ctx)
        except UnicodeDecodeError:
            self.fail(f"{value!r} is not a text file", param, ctx)
        try:
            return GivenKey(VerifierKey.parse(text), file)
        except MalformedKey as error:
            self.fail(f"{value!r} is no verifier key (name+hash+base64): {error}", param, ctx)


def key_comes_along(given: GivenKey | None, folder: Path | None) -> bool:
    """Say whether a key was read from the folder that it is to check, and warn that it proves nothing then."""
    if given is None or not _is_within(given.file, folder):
        return False
    say(
        f"Warning: the key was read from {folder}, the folder that it checks, and proves nothing about who made it: "
        "whoever made the folder chose the key. Get the key, or its fingerprint, from the publisher by another way."
    )
    return True


def checkpoint_comes_along(pinned: Path | None, folder: Path | None) -> bool:
    """Say whether a checkpoint was read from the folder that it is to anchor, and warn that it does not then."""
    if not _is_within(pinned, folder):
        return False
    say(
        f"Warning: the checkpoint was read from {folder}, the folder that it is to anchor, and shows nothing of what "
        "was cut off: give one that was kept elsewhere."
    )
    return True


def _is_within(file: Path | None, folder: Path | None) -> bool:
    return file is not None and folder is not None and file.resolve().is_relative_to(folder.resolve())
