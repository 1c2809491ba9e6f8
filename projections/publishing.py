"""The files of a publication, from a draft and the events that go along with it.

1. The same draft and events give the same bytes: releasing and making again use this one function.
2. A layout of a user's own gives JSON only; the pages are those of anvil's own documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files as package_files

from anvil.ledger.entry import read_entry
from anvil.ledger.events.keys import TreeState
from anvil.ledger.publication import layout
from anvil.ledger.publication.evidence import Proved
from anvil.ledger.publication.manifest import About
from anvil.projections.artifacts import Artifacts
from anvil.projections.pages import page
from anvil.projections.provenance import State, provenance, spell
from anvil.projections.record import Record
from anvil.projections.redactions import Known, redactions
from anvil.projections.rendering import Draft, own_template
from anvil.projections.seen import Seen

SHARED_LAYOUTS = ("page.html.j2", "parts.html.j2", "page.md.j2")
"""What the pages of every document are made with."""


OWN_TEMPLATE = "own.json.j2"
"""What a user's own layout is called in a publication; the name of their file may tell too much."""


@dataclass(frozen=True)
class Made:
    """A document as it is published: its own files, without events, proofs and keys."""

    draft: Draft
    files: dict[str, bytes]


def made(
    draft: Draft, state: State, record: Record, artifacts: Artifacts, known: Known, fingerprint: str
) -> Made:
    """Return the files of a document that are made of the record.

    `fingerprint` is that of the ledger's verifier key, which every page shows.
    """
    files = {
        layout.DOCUMENT: draft.rendered.text.encode(),
        layout.PROVENANCE: spell(provenance(draft, state, artifacts)).encode(),
        layout.REDACTIONS: redactions(draft.rendered.leaves, known, record, artifacts).encode(),
        template_path(draft): draft.template.source.encode(),
    }
    if has_pages(draft):
        for form, path in layout.PAGES.items():
            files[path] = page(draft, state, record, form, fingerprint).encode()
        for name, source in page_layouts(draft.document.name).items():
            files[f"{layout.TEMPLATES}/{name}"] = source
    return Made(draft, files)


def has_pages(draft: Draft) -> bool:
    """Say whether the document has pages (rule 2)."""
    return draft.template.source == own_template(draft.document).source


def template_path(draft: Draft) -> str:
    """Return where the document's layout lies."""
    name = f"{draft.document.name}.json.j2" if has_pages(draft) else OWN_TEMPLATE
    return f"{layout.TEMPLATES}/{name}"


def page_layouts(document: str) -> dict[str, bytes]:
    """Return the layouts of a document's pages, by name."""
    names = (*(f"{document}.{form}.j2" for form in layout.PAGES), *SHARED_LAYOUTS)
    return {name: package_files("anvil.templates").joinpath(name).read_bytes() for name in names}


def about(draft: Draft, state: State, policy: str) -> About:
    """Return what a manifest says of a document."""
    return About(
        document=draft.document.name,
        document_schema=str(draft.rendered.document["schema"]),
        campaign=draft.campaign,
        candidate=draft.subject,
        fold=TreeState(origin=state.origin, size=state.size, root=state.root),
        template=template_path(draft),
        template_digest=layout.digest(draft.template.source.encode()),
        policy=policy,
    )


def seen(proved: Iterable[Proved]) -> list[Seen]:
    """Return the events of a folder as projections see them.

    Raises:
        Malformed: one is none.
        UnknownEventType: another anvil wrote one.
    """
    found = []
    for one in proved:
        header, event = read_entry(one.index, one.entry)
        found.append(Seen(one.index, one.leaf.hex(), header, event))
    return found


def known_of(events: Iterable[Seen]) -> Known:
    """Return events by entry hash."""
    return {one.entry_hash: (one.header, one.event) for one in events}
