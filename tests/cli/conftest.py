"""The command line, run in this process: what it printed and how it exited."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Anvil, Ran, run_here


@pytest.fixture
def anvil(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Anvil:
    """Run `anvil` with arguments, in an empty working directory."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def run(*arguments: object) -> Ran:
        return run_here(capfdbinary, *arguments)

    return run


@pytest.fixture
def ledger(anvil: Anvil) -> Anvil:
    """The same, after `anvil init` in the default place."""
    assert anvil("init", "--origin", "cli.test.invalid").code == 0
    return anvil
