"""An exported file is left out, cut, lengthened, or put in another one's place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.ledgers import SIZE, Small, refused

from anvil.ledger.errors import NotALedger
from anvil.ledger.exporting import export
from anvil.ledger.sources import OPENINGS_FILE, TilesLocation
from anvil.ledger.verify import Expectations, Report, verify

FILES = (f"tile/0/000.p/{SIZE}", f"tile/entries/000.p/{SIZE}", OPENINGS_FILE)
DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"more"),
    "empty": lambda path: path.write_bytes(b""),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "without an end": lambda path: os.truncate(path, 1 << 40),
}


def judged(small: Small, directory: Path) -> Report:
    return verify(TilesLocation(directory), Expectations((small.vkey,)), workers=1)


CASES = [
    (name, damage)
    for name in FILES
    for damage in DAMAGES
    if name != OPENINGS_FILE or damage not in {"missing", "empty"}  # an export may have no openings
]


@pytest.mark.parametrize(("name", "damage"), CASES)
def test_an_exported_file_that_is_not_what_its_place_says_is_named(
    small: Small, tmp_path: Path, name: str, damage: str
) -> None:
    export(small.place, tmp_path / "out", audit=True)
    DAMAGES[damage](tmp_path / "out" / name)
    finding = refused(judged(small, tmp_path / "out"), "file-damaged")
    assert name in finding.message


@pytest.mark.parametrize("damage", ["a folder", "a pipe", "without an end"])
def test_a_checkpoint_that_is_no_file_of_its_size_is_not_waited_for(
    small: Small, tmp_path: Path, damage: str
) -> None:
    export(small.place, tmp_path / "out")
    DAMAGES[damage](tmp_path / "out" / "checkpoint")
    with pytest.raises(NotALedger, match="checkpoint"):
        judged(small, tmp_path / "out")


def test_an_export_whose_checkpoint_is_no_checkpoint_says_nothing_of_files(
    small: Small, tmp_path: Path
) -> None:
    export(small.place, tmp_path / "out")
    (tmp_path / "out" / "checkpoint").write_bytes(b"nothing\n")
    refused(judged(small, tmp_path / "out"), "checkpoint-invalid")
