"""A command whose stdin, stdout or stderr was closed before it began does its work all the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Anvil

from anvil.collectors.running.narration import narrator

ANVIL = Path(sys.executable).with_name("anvil")
RECIPE = """format = "anvil.recipe/1"
name = "mine"
campaign = "mine"
about = "Nobody listens there."

[hardware]
gpus = 0

[candidates.tiny]
model = "org/tiny"
quantization = "none"
thinking = "none"

[engines.none]
engine = "none"
launcher = "process"
argv = ["/nowhere/engine", "{model}", "--port", "{port}"]
port = 1

[[attempts]]
key = "a1"
candidate = "tiny"
engine = "none"
served_model = "org/tiny"

[deadlines]
ready_s = 1

[[checks]]
id = "identity"
"""


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_narrates_nowhere_and_runs(ledger: Anvil, closed: str) -> None:
    Path("mine.toml").write_text(RECIPE)
    command = f"{ANVIL} run mine.toml --base-url http://127.0.0.1:1 {closed}"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 0
    (mine,) = ledger("status", "--json").json["campaigns"]
    (attempt,) = mine["attempts"]["a1"]
    assert set(attempt["checks"]) == {"identity"}
    assert ledger("verify").code == 0


def test_without_stderr_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    told = narrator()
    told.say("nothing")
    told.begin("nothing")
    told.close()
