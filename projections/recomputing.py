"""Making a published document again from the events in its folder, and from nothing else.

1. The record is folded from the folder's events, the layout is the folder's. A layout can do nothing but
   print figures (`environment.gate`), so that of a stranger can do no harm.
2. Pages are made with the layouts that come with anvil, and only when the folder's are the same: the
   layouts of pages are not limited like that.
3. What is computed from rows is computed again from the bytes in the folder, each checked against the digest
   that its signed event shows. How many artifacts are private, and so not at hand, is said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from anvil.ledger.errors import MalformedPublication
from anvil.ledger.note import VerifierKey
from anvil.ledger.publication import layout
from anvil.ledger.publication.evidence import decode
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.publication.verifying import Recomputed
from anvil.projections.artifacts import Artifacts, nothing
from anvil.projections.document import find
from anvil.projections.figures import ArtifactName
from anvil.projections.provenance import State
from anvil.projections.publishing import known_of, made, page_layouts, seen
from anvil.projections.record import fold
from anvil.projections.rendering import Template, draft


@dataclass(frozen=True)
class _Named(Artifacts):
    """Artifacts of which those are at hand that went along; what a document rests on is counted (rule 3)."""

    at_hand: set[ArtifactName] = field(default_factory=set)
    not_at_hand: set[ArtifactName] = field(default_factory=set)

    def require(self, names: Iterable[ArtifactName], gone: frozenset[ArtifactName]) -> None:
        """Check what is public, and count.

        Raises:
            PublicationRefused: a public one is not here as it was signed.
        """
        for name in sorted(set(names) - gone):
            if self.public(name) is None:
                self.not_at_hand.add(name)
            elif self.content(name) is not None:
                self.at_hand.add(name)


def recompute(folder: Path, manifest: Manifest) -> Recomputed:
    """Return the files of a document as its events give them.

    Raises:
        PublicationRefused: they give none.
        Malformed: a file is not what its place says.
    """
    about = manifest.about
    events = seen(decode(layout.read(folder, layout.ENTRIES), layout.read(folder, layout.PROOFS)))
    record = fold(events)
    listed = {item.path: item.digest for item in manifest.files}

    def read(digest: str) -> bytes | None:
        path = layout.artifact(digest)
        return layout.read(folder, path) if path in listed else None

    named = Artifacts.of(record, lambda _commitment: None, nothing, read)
    artifacts = _Named(named.entries, named.open, named.measure, named.read, named.disclosures)
    document = find(about.document)
    source = _decoded(layout.read(folder, about.template))
    name = about.template.rpartition("/")[2]
    again = draft(
        record,
        artifacts,
        document,
        campaign=about.campaign,
        candidate=about.candidate,
        template=Template(name, source),
    )
    state = State(about.fold.origin, about.fold.size, about.fold.root)
    key = VerifierKey.parse(_decoded(layout.read(folder, layout.VERIFIER_KEY)).strip())
    files = made(again, state, record, artifacts, known_of(events), key.fingerprint).files
    own = page_layouts(document.name)
    has_pages = any(path in listed for path in layout.PAGES.values())
    is_same = all(listed.get(f"{layout.TEMPLATES}/{n}") == layout.digest(source) for n, source in own.items())
    if has_pages and not is_same:
        left_out = {*layout.PAGES.values(), *(f"{layout.TEMPLATES}/{n}" for n in own)}
        files = {path: content for path, content in files.items() if path not in left_out}
    at_hand, not_at_hand = len(artifacts.at_hand), len(artifacts.not_at_hand)
    return Recomputed(files, at_hand, not_at_hand, has_pages and not is_same)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedPublication(f"a file is no text: {error}") from error
