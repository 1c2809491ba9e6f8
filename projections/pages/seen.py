"""What people saw, as a page reads it: statements, each with what it is about and how strong it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from anvil.projections.pages.view import Shown


@dataclass(frozen=True)
class Seen:
    """One observation: figures of the document. `said` are the words, and what is said in parts."""

    about: tuple[Shown, ...]
    said: tuple[Shown, ...]
    status: Shown


def seen(document: Mapping[str, Any]) -> list[Seen]:
    """Return the observations of a document; most have none."""
    return [
        Seen(
            tuple(one[key] for key in ("candidate", "attempt") if key in one),
            tuple(one[key] for key in ("statement", "seen") if key in one),
            one["evidence_status"],
        )
        for one in document.get("observations", ())
    ]
