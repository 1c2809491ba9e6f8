"""Where a ledger can be made."""

from __future__ import annotations

from pathlib import Path

import pytest

from anvil.ledger.creation import create_ledger
from anvil.ledger.errors import LedgerError
from anvil.ledger.recording import Ledger

NAME = "creation.test.invalid/log"


def test_the_current_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no name to put the unfinished ledger beside, and would be pulled away under the shell."""
    monkeypatch.chdir(tmp_path)
    for directory in (Path(), tmp_path, tmp_path / "x" / ".."):
        with pytest.raises(LedgerError, match="current directory"):
            create_ledger(directory, NAME)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_directory_and_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    create_ledger(tmp_path / "link", NAME)
    Ledger.open(tmp_path / "empty").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link"]


def test_a_relative_directory_with_missing_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create_ledger(Path("a/b/ledger"), NAME)
    Ledger.open(tmp_path / "a" / "b" / "ledger").close()


@pytest.mark.parametrize("content", [None, "a file in it"])
def test_a_directory_in_use(tmp_path: Path, content: str | None) -> None:
    place = tmp_path / "used"
    if content is None:
        place.write_text("not a directory")
    else:
        place.mkdir()
        (place / "file").write_text(content)
    with pytest.raises(LedgerError, match="in use"):
        create_ledger(place, NAME)
