"""Documents: which there are, and what each of them must offer.

A document is a projection of one campaign, and of one candidate where its layout is about one. It gives
figures for a template to print and the evidence limit that follows from them. Documents do not know one
another; they are found here by name, in a static table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from pydantic import BaseModel

from anvil.ledger.errors import PublicationRefused
from anvil.projections.evidence import Evidence
from anvil.projections.figures import Group
from anvil.projections.limits import EvidenceLimit
from anvil.projections.record import Campaign

DOCUMENTS: dict[str, str] = {
    "candidate-failure.v1": "anvil.projections.documents.candidate_failure:DOCUMENT",
    "sanitized-qualification-summary.v1": "anvil.projections.documents.qualification_summary:DOCUMENT",
    "qwen38-27b-qualification-summary.v1": "anvil.projections.documents.qwen38_27b_summary:DOCUMENT",
}
"""Name to where it is."""

NOTHING_RUN = (
    "`anvil run RECIPE` records a run; `anvil import FILE --campaign NAME` takes in a published document. Of files of"
    " measuring tools alone only sanitized-qualification-summary.v1 is made; `anvil status` shows what they say."
)
"""What to do when a campaign holds nothing that a document could be about."""


@dataclass(frozen=True)
class Prepared:
    """What a template can print, and the limit of it."""

    root: Group
    limit: EvidenceLimit


@dataclass(frozen=True)
class Document:
    """One kind of document. `templates/NAME.json.j2` is its layout, `model` its shape."""

    name: str
    title: str
    schema: str
    model: type[BaseModel]
    prepare: Callable[[Evidence, Campaign, str], Prepared]
    is_of_one_candidate: bool = True
    """Whether a candidate is chosen; else it is about all of them, and `prepare` is given `UNNAMED`."""


def find(name: str) -> Document:
    """Return a document by its name.

    Raises:
        PublicationRefused: there is none of that name.
    """
    if name not in DOCUMENTS:
        raise PublicationRefused(
            f"there is no document {name!r}", advice=f"There are {', '.join(DOCUMENTS)}."
        )
    module, _, attribute = DOCUMENTS[name].partition(":")
    found: Document = getattr(import_module(module), attribute)
    return found
