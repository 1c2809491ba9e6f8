"""What tests of projections share."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import Browser


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    """A browser for one test."""
    return Browser(tmp_path)
