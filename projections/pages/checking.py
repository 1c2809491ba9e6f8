"""How a reader checks what a page says: whole commands, for this document and a figure of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from anvil.projections.pages.view import Shown
from anvil.projections.rendering import Draft

FILE = "document.json"
"""What a document is called in a publication, and here."""


def commands(draft: Draft, as_of: int, shown: Iterable[Shown]) -> dict[str, str]:
    """Return the commands that print the document and show what is behind one figure of it.

    The figure is a measured one, else the first that has a value.
    """
    every = list(shown)
    known = [one for one in every if not one.is_null] or every
    chosen = next((one for one in known if one.sure), known[0])
    words = ["--campaign", draft.campaign, *_of(draft), "--as-of", str(as_of)]
    return {
        "render": f"{shlex.join(['anvil', 'render', draft.document.name, *words])} > {FILE}",
        "why": shlex.join(["anvil", "why", FILE, chosen.pointer, *words]),
        "verify": "anvil verify --publication FOLDER --key KEY",
    }


def _of(draft: Draft) -> list[str]:
    return [] if draft.subject is None else ["--candidate", draft.subject]
