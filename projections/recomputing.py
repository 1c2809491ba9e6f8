"""Making a published document again from the events in its folder, and from nothing else.

1. The record is folded from the folder's events, the layout is the folder's. A layout can do nothing but
   print figures (`environment.gate`), so that of a stranger can do no harm.
2. Pages are made with the layouts that come with anvil, and only when the folder's are the same: the
   layouts of pages are not limited like that.
3. Bytes of artifacts are not needed for what stands in events. How many are not at hand is said.
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
from anvil.projections.artifacts import Artifacts
from anvil.projections.document import find
from anvil.projections.figures import ArtifactName
from anvil.projections.provenance import State
from anvil.projections.publishing import known_of, made, page_layouts, seen
from anvil.projections.record import fold
from anvil.projections.rendering import Template, draft


@dataclass(frozen=True)
class _Named(Artifacts):
    """Artifacts of which only the names are at hand; what a document rests on is counted."""

    not_at_hand: set[ArtifactName] = field(default_factory=set)

    def require(self, names: Iterable[ArtifactName], gone: frozenset[ArtifactName]) -> None:
        """Count what is neither at hand nor redacted (rule 3)."""
        self.not_at_hand.update(set(names) - gone)


def recompute(folder: Path, manifest: Manifest) -> Recomputed:
    """Return the files of a document as its events give them.

    Raises:
        PublicationRefused: they give none.
        Malformed: a file is not what its place says.
    """
    about = manifest.about
    events = seen(decode(layout.read(folder, layout.ENTRIES), layout.read(folder, layout.PROOFS)))
    record = fold(events)
    named = Artifacts.of(record, lambda _commitment: None, lambda _digest: None)
    artifacts = _Named(named.entries, named.open, named.measure)
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
    listed = {item.path: item.digest for item in manifest.files}
    has_pages = any(path in listed for path in layout.PAGES.values())
    is_same = all(listed.get(f"{layout.TEMPLATES}/{n}") == layout.digest(source) for n, source in own.items())
    if has_pages and not is_same:
        left_out = {*layout.PAGES.values(), *(f"{layout.TEMPLATES}/{n}" for n in own)}
        files = {path: content for path, content in files.items() if path not in left_out}
    return Recomputed(files, len(artifacts.not_at_hand), has_pages and not is_same)


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedPublication(f"a file is no text: {error}") from error
