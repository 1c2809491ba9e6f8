"""Rendering: from the record to one document, checked, with its provenance."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from pydantic import ValidationError

from anvil.ledger.errors import PublicationRefused
from anvil.ledger.events import RecipeDeclared
from anvil.ledger.events.base import explain
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import NOTHING_RUN, Document
from anvil.projections.environment import Rendered, render
from anvil.projections.evidence import Evidence
from anvil.projections.figures import ArtifactName
from anvil.projections.imported import candidates as imported_candidates
from anvil.projections.imported import has_imports
from anvil.projections.limits import EvidenceLimit
from anvil.projections.record import UNNAMED, Campaign, Record

MAX_DOCUMENT = 8 << 20
"""Bytes in a document at most."""


@dataclass(frozen=True)
class Template:
    """A JSON template: what it is called in messages, and its text."""

    name: str
    source: str

    @property
    def digest(self) -> str:
        """The SHA-256 of its text."""
        return f"sha256:{hashlib.sha256(self.source.encode()).hexdigest()}"


@dataclass(frozen=True)
class Draft:
    """One document as it would be published, and what it rests on."""

    document: Document
    campaign: str
    candidate: str | None
    """Null for a document about all candidates."""
    template: Template
    rendered: Rendered
    limit: EvidenceLimit
    is_synthetic: bool
    read: frozenset[ArtifactName] = frozenset()
    """The artifacts whose bytes were read to make it, also those that no leaf rests on."""

    @property
    def subject(self) -> str | None:
        """The candidate that it is about; None where it is about all of them."""
        return self.candidate if self.document.is_of_one_candidate else None

    @property
    def digest(self) -> str:
        """The SHA-256 of the document's text."""
        return f"sha256:{hashlib.sha256(self.rendered.text.encode()).hexdigest()}"


def own_template(document: Document) -> Template:
    """Return the layout that comes with anvil."""
    name = f"{document.name}.json.j2"
    return Template(name, files("anvil.templates").joinpath(name).read_text(encoding="utf-8"))


def draft(
    record: Record,
    artifacts: Artifacts,
    document: Document,
    *,
    campaign: str | None = None,
    candidate: str | None = None,
    template: Template | None = None,
) -> Draft:
    """Return the document of one campaign and candidate.

    Neither has to be named where there is only one.

    Raises:
        PublicationRefused: there is no such campaign or candidate, a template or its result is refused,
            or bytes that the document rests on are gone and no event says so.
    """
    chosen = _campaign(record, campaign)
    model = _candidate(record, chosen, candidate) if document.is_of_one_candidate else _all(candidate)
    layout = template or own_template(document)
    read: set[ArtifactName] = set()

    def content(name: ArtifactName) -> bytes | None:
        read.add(name)
        return artifacts.content(name)

    prepared = document.prepare(Evidence(record, content), chosen, model)
    rendered = render(layout.name, layout.source, prepared.root)
    _require_shape(document, rendered)
    artifacts.require((name for leaf in rendered.leaves for name in leaf.support.artifacts), record.gone)
    cited = frozenset(event for leaf in rendered.leaves for event in leaf.support.events)
    about = model if document.is_of_one_candidate else None
    is_synthetic = _is_synthetic(chosen, cited)
    return Draft(
        document, chosen.name, about, layout, rendered, prepared.limit, is_synthetic, frozenset(read)
    )


def _campaign(record: Record, name: str | None) -> Campaign:
    names = [one.name for one in record.campaigns.values() if one.recipes or has_imports(one)]
    wanted = name or (names[0] if len(names) == 1 else None)
    if wanted is None or wanted not in record.campaigns:
        what = f"there is no campaign {name!r}" if name else "which campaign is to be chosen"
        raise PublicationRefused(
            what, advice=f"--campaign takes one of: {', '.join(names) or 'none is declared yet'}."
        )
    return record.campaigns[wanted]


def _candidate(record: Record, campaign: Campaign, key: str | None) -> str:
    keys = dict.fromkeys(
        candidate.key
        for source in Evidence(record).sources(campaign.recipes)
        if isinstance(source.event, RecipeDeclared)
        for candidate in source.event.candidates
    ) | dict.fromkeys(imported_candidates(Evidence(record), campaign))
    if key is None and len(keys) == 1:
        return next(iter(keys))
    if not keys:
        raise PublicationRefused(
            f"no candidate is declared in campaign {campaign.name!r}: nothing was run in it, and no document of one"
            " was imported",
            advice=NOTHING_RUN,
        )
    if key is None or key not in keys:
        what = f"there is no candidate {key!r}" if key else "which candidate is to be chosen"
        raise PublicationRefused(
            f"{what} in campaign {campaign.name!r}",
            advice=f"--candidate takes one of: {', '.join(keys)}.",
        )
    return key


def _all(candidate: str | None) -> str:
    """Return what stands for all candidates."""
    if candidate is not None:
        raise PublicationRefused(
            "the document is about all candidates of a campaign", advice="Leave out --candidate."
        )
    return UNNAMED


def _require_shape(document: Document, rendered: Rendered) -> None:
    """Check a document that calls itself by our schema's name; a user's own layout has a name of its own."""
    if len(rendered.text) > MAX_DOCUMENT:
        raise PublicationRefused(f"a document has at most {MAX_DOCUMENT} bytes")
    if "schema" not in rendered.document:
        raise PublicationRefused(
            "the template gives the document no schema", advice='Add "schema": "name/1".'
        )
    if rendered.document["schema"] != document.schema:
        return
    try:
        document.model.model_validate_json(rendered.text)
    except ValidationError as error:
        raise PublicationRefused(
            f"the document is no {document.schema}: {explain(error)}",
            advice="A layout of another shape needs a schema of another name.",
        ) from error


def _is_synthetic(campaign: Campaign, cited: frozenset[str]) -> bool:
    return any(kept.is_synthetic for kept in campaign.every() if kept.entry_hash in cited)
