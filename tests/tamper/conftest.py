"""A small ledger for each attack, and the command line in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import Small, small_ledger

from anvil.ledger.cli import main
from anvil.ledger.creation import Created
from anvil.ledger.places import LedgerPlace

Verified = tuple[int, dict[str, Any]]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Small]:
    """One ledger that verifies, with its anchor and its keys, to be copied for each test."""
    path = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANVIL_STATE", str(path / "state"))
        patch.setenv("ANVIL_KEYS", str(path / "keys"))
        ledger = small_ledger(path / "ledger")
        assert ledger.verify().exit_code == 0
    return path, ledger


@pytest.fixture
def small(template: tuple[Path, Small], tmp_path: Path, home: Path) -> Small:
    """A ledger that verifies, with its anchor."""
    path, ledger = template
    shutil.copytree(path / "ledger", tmp_path / "ledger")
    for name in ("state", "keys"):
        shutil.copytree(path / name, home / name)
    created = ledger.created
    files = {role: home / file.relative_to(path) for role, file in created.key_files.items()}
    return Small(Created(LedgerPlace(tmp_path / "ledger"), created.origin, created.verifier_key, files))


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Verified]:
    """Run `anvil … verify --json …`; return the exit code and what it printed."""

    def run(ledger: Path | None, *arguments: object) -> Verified:
        capsys.readouterr()
        where = () if ledger is None else ("--ledger", str(ledger))
        with pytest.raises(SystemExit) as stop:
            main([*where, "verify", "--json", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "fault of anvil" not in err
        code = stop.value.code
        assert isinstance(code, int)
        return code, json.loads(out) if out else {"error": err}

    return run
