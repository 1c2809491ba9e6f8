"""One publication, made once; each test gets a copy of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.published_folders import Folder, copied, made_once


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return made_once(tmp_path_factory.mktemp("publication"))


@pytest.fixture
def folder(original: Folder, tmp_path: Path) -> Folder:
    return copied(original, tmp_path / "published")
