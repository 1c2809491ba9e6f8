"""The ledger's folder is deleted while a run goes on: that is what is said, and no engine is left running."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.running import Bench, processes_with

ANVIL = Path(sys.executable).with_name("anvil")


def delete(bench: Bench, when: str, **recipe: object) -> tuple[int, str]:
    """Run in a process of its own, delete the ledger when the narration says `when`; return how it ended."""
    argv = [str(ANVIL), "run", str(bench.recipe(**recipe))]  # type: ignore[arg-type]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        said = []
        for line in child.stderr:
            said.append(line)
            if when in line:
                time.sleep(0.2)
                shutil.rmtree(bench.ledger)
                break
        said.append(child.communicate(timeout=120)[1])
    return child.returncode, "".join(said)


@pytest.mark.parametrize(
    ("when", "behave"), [("structured-json", "hangs"), ("waiting for the first token", "hangs")]
)
def test_what_happened_is_said_and_the_engine_is_stopped(bench: Bench, when: str, behave: str) -> None:
    code, said = delete(bench, when, behave=behave, checks=("structured-json",), ready_s=3)
    assert code == 1
    error = said[said.index("Error: ") :]
    assert "the ledger's folder anvil-ledger was deleted, moved or replaced while it was in use" in error
    assert "ANVIL_KEYS" not in said
    assert "fault of anvil" not in said
    assert "the engine's log, and what had arrived and was not recorded yet, could not be kept" in said
    assert "the engine was stopped" in said
    assert not processes_with(f"--port {bench.ports['a1']}")
    assert not bench.ledger.exists()
