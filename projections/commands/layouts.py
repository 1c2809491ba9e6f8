"""A layout of one's own, read from a file that the command line names."""

from __future__ import annotations

from pathlib import Path

from anvil.ledger.errors import PublicationRefused
from anvil.projections.environment import MAX_TEMPLATE
from anvil.projections.rendering import Template


def read_template(path: Path) -> Template:
    """Return the template in a file. Of one that is too large only enough is read to refuse it.

    Raises:
        PublicationRefused: it cannot be read, or is no text.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return Template(path.name, file.read(MAX_TEMPLATE + 1))
    except (OSError, UnicodeDecodeError) as error:
        raise PublicationRefused(f"{path} cannot be read as a template: {error}") from error
