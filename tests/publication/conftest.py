"""One publication, made once, of which each test gets a copy; and a ledger to release from, with its commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Anvil, Ran, run_here
from support.laguna import Laguna, laguna
from support.published_folders import ORIGIN, Folder, copied, made_once


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return made_once(tmp_path_factory.mktemp("publication"))


@pytest.fixture
def folder(original: Folder, tmp_path: Path) -> Folder:
    return copied(original, tmp_path / "published")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laguna:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return laguna(tmp_path / "work" / "anvil-ledger", ORIGIN)


@pytest.fixture
def anvil(made: Laguna, capfdbinary: pytest.CaptureFixture[bytes]) -> Anvil:
    def run(*arguments: object) -> Ran:
        return run_here(capfdbinary, *arguments)

    return run
