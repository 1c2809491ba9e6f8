"""A folder with a ledger, in which `anvil` is run in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.command import Ran, run_here
from support.running import Bench

from anvil.ledger.creation import create_ledger


@pytest.fixture
def benches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[[str], Bench]:
    """Make a bench of a name, and go there; health is asked for more often than usual."""
    monkeypatch.setattr("anvil.collectors.health._PAUSE_S", 0.05)
    monkeypatch.setattr("anvil.collectors.running.measuring.CALIBRATION_S", 0)
    # Nobody's container engine; where its socket is absent, the SDK leaves one of ours unclosed.
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    run: Callable[..., Ran] = partial(run_here, capfdbinary)

    def make(name: str) -> Bench:
        directory = tmp_path / name
        directory.mkdir()
        create_ledger(directory / "anvil-ledger", "runs.test.invalid")
        monkeypatch.chdir(directory)
        return Bench(directory, run)

    return make


@pytest.fixture
def bench(benches: Callable[[str], Bench]) -> Bench:
    """A bench."""
    return benches("bench")
