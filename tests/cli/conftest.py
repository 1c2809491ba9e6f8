"""The command line, run in this process: what it printed and how it exited."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Anvil, Ran

from anvil.ledger.cli import main


@pytest.fixture
def anvil(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Anvil:
    """Run `anvil` with arguments, in an empty working directory."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def run(*arguments: object) -> Ran:
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        assert b"Traceback" not in err
        code = stop.value.code
        assert isinstance(code, int)
        return Ran(code, out.decode(), err.decode())

    return run


@pytest.fixture
def ledger(anvil: Anvil) -> Anvil:
    """The same, after `anvil init` in the default place."""
    assert anvil("init", "--origin", "cli.test.invalid").code == 0
    return anvil
