"""A publication of the six attempts, from a ledger that is no test's by its name, in a place of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from anvil.ledger.note import VerifierKey
from anvil.ledger.places import LedgerPlace
from anvil.ledger.publication import layout
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.publication.releasing import release
from anvil.ledger.publication.verifying import PublicationReport, verify_publication
from anvil.ledger.recording import Ledger
from anvil.ledger.store import Store
from anvil.projections.recomputing import recompute
from anvil.projections.releasing import Guard, Prepared, Wanted, prepare
from support.laguna import Laguna, laguna, noon

ORIGIN = "laguna.tests.example"
DOCUMENT = "candidate-failure.v1"


@contextmanager
def at_home(directory: Path) -> Iterator[None]:
    """Keep keys and state in a directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANVIL_STATE", str(directory / "state"))
        patch.setenv("ANVIL_KEYS", str(directory / "keys"))
        yield


def prepared(ledger: Ledger, guard: Guard | None = None) -> Prepared:
    """Return what would be released now."""
    note = ledger.checkpoint()
    return prepare(ledger.place, Wanted(DOCUMENT), note, guard or Guard())


def publish(made: Laguna, target: Path) -> int:
    """Release the document; return the index of its event."""
    with Ledger.open(made.place.directory, clock=noon) as ledger:
        what = prepared(ledger)
        signer = ledger.signer("operator")
        return release(ledger, signer, what.event, what.subject, what.files, target).recorded.index


@dataclass(frozen=True)
class Folder:
    """A publication that a test may change."""

    path: Path
    key: VerifierKey

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes, *, listed: bool) -> None:
        """Change a file; when `listed`, like a careful forger, in the manifest too."""
        (self.path / name).write_bytes(content)
        if listed:
            self.relist()

    def change(self, name: str, old: bytes, new: bytes, *, listed: bool = False) -> None:
        """Replace the first `old` in a file."""
        content = self.read(name)
        assert old in content, (name, old)
        self.write(name, content.replace(old, new, 1), listed=listed)

    def edit(self, name: str, change: Callable[[Any], None], *, listed: bool = True) -> None:
        """Change a JSON file, spelled as anvil spells it."""
        members = json.loads(self.read(name))
        change(members)
        indent = 2 if name == layout.DOCUMENT else 1
        text = json.dumps(members, indent=indent, ensure_ascii=False)
        self.write(name, f"{text}\n".encode(), listed=listed)

    def relist(self) -> None:
        """Make the manifest fit what is there."""
        known = Manifest.parse(self.read(layout.MANIFEST))
        names = [n for n in layout.present(self.path) if not n.startswith((layout.RELEASE, layout.WITHDRAWN))]
        files = {name: self.read(name) for name in names if name != layout.MANIFEST}
        (self.path / layout.MANIFEST).write_bytes(Manifest.of(known.about, files, known.artifacts).to_bytes())

    def verify(self, *, again: bool = False, key: VerifierKey | None = None) -> PublicationReport:
        return verify_publication(self.path, key or self.key, recompute if again else None)

    def refused(self, *codes: str, says: str = "", again: bool = False) -> PublicationReport:
        """Require that it is refused with these codes, and that one of the findings says what."""
        report = self.verify(again=again)
        assert report.exit_code == 1, report.every_finding
        found = {finding.code for finding in report.every_finding if finding.severity != "note"}
        assert set(codes) <= found, report.every_finding
        assert any(says in finding.message for finding in report.every_finding), report.every_finding
        return report


def made_once(directory: Path) -> Folder:
    """Make the ledger and its publication."""
    with at_home(directory):
        made = laguna(directory / "ledger", ORIGIN)
        publish(made, directory / "published")
        return Folder(directory / "published", vkey(made.place))


def copied(folder: Folder, target: Path) -> Folder:
    """Return a copy to change."""
    shutil.copytree(folder.path, target)
    return Folder(target, folder.key)


def vkey(place: LedgerPlace) -> VerifierKey:
    """Return a ledger's public key."""
    return VerifierKey.parse(place.verifier_key.read_text().strip())


def size(made: Laguna) -> int:
    """Return how many entries the ledger has."""
    store = Store.open_readonly(made.place.database)
    try:
        return store.size()
    finally:
        store.close()
