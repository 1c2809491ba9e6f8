"""Files beside what was released: whoever opens the folder takes them for a part of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.command import Anvil
from support.laguna import Laguna
from support.published_folders import DOCUMENT, Folder, prepared

from anvil.ledger.publication import layout
from anvil.ledger.publication.manifest import Manifest
from anvil.ledger.publication.releasing import release
from anvil.ledger.recording import Ledger

FALSE = b'{"schema": "anvil-serving.candidate-failure.v1"}\n'


@pytest.mark.parametrize("place", ["release/document.json", "release/index.html", "withdrawn/document.json"])
def test_a_file_beside_the_proofs_is_named(folder: Folder, place: str) -> None:
    (folder.path / place).parent.mkdir(exist_ok=True)
    (folder.path / place).write_bytes(FALSE)
    folder.refused("file-damaged", says=place)


def test_a_document_that_hides_behind_its_copy_in_a_withdrawal_is_refused(anvil: Anvil) -> None:
    """The copy is the true one; what a reader opens is not."""
    index = anvil("release", DOCUMENT, "--out", "published", "--json").json["index"]
    assert anvil("withdraw", index, "--reason", "It was wrong.", "--folder", "published").code == 0
    folder = Path("published")
    for name in (layout.DOCUMENT, layout.PROVENANCE):
        shutil.copy(folder / name, folder / layout.WITHDRAWN / name)
        (folder / name).write_bytes(FALSE)
    ran = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
    assert ran.code == 1
    assert "document.json is not the one that was released" in ran.out


@pytest.mark.parametrize("kind", ["link", "pipe", "sparse"])
def test_what_is_no_plain_file_of_its_size_is_refused(folder: Folder, tmp_path: Path, kind: str) -> None:
    place = folder.path / layout.DOCUMENT
    kept = tmp_path / "kept.json"
    place.rename(kept)
    if kind == "link":
        place.symlink_to(kept)
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        with place.open("wb") as file:
            file.truncate(10 << 30)
    folder.refused("file-damaged", says=layout.DOCUMENT, again=True)


def test_a_page_by_a_layout_of_ones_own_is_not_called_recomputed(anvil: Anvil, made: Laguna) -> None:
    """An operator who signs for another layout can make the page say anything; the document is still the true one."""
    false = b"<!doctype html><title>48.0</title>"
    with Ledger.open(made.place.directory) as ledger:
        what = prepared(ledger)
        files = {**what.files, "document.html": false, "templates/page.html.j2": false}
        known = Manifest.parse(files.pop(layout.MANIFEST))
        manifest = Manifest.of(known.about, files, known.artifacts)
        files[layout.MANIFEST] = manifest.to_bytes()
        event = what.event.model_copy(update={"manifest": manifest.digest})
        release(ledger, ledger.signer("operator"), event, what.subject, files, Path("published"))
    told = anvil("verify", "--publication", "published", "--key", "anvil-ledger/log.vkey")
    assert "document.md and document.html were not made again" in told.out
    assert "yes, but NOT the pages" in told.out
    assert told.out.rstrip().splitlines()[-1].startswith("Verified, but for its pages: read document.json")


def test_a_manifest_of_more_than_can_be_held_is_not_read(folder: Folder) -> None:
    """Sparse files cost whoever makes them nothing."""

    def large(members: Any) -> None:
        for item in members["files"]:
            item["size"] = layout.MOST_TOGETHER

    folder.edit(layout.MANIFEST, large, listed=False)
    folder.refused("file-damaged", says="bytes; more than", again=True)
