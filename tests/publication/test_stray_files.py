"""Files beside what was released: whoever opens the folder takes them for a part of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.command import Anvil
from support.published_folders import DOCUMENT, Folder

from anvil.ledger.publication import layout

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
