"""Ledgers to be hurt."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import faults


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A new ledger's directory."""
    return faults.make(tmp_path / "ledger")
