"""Measure 6: how long a person waits for a short command.

Modules are compiled beforehand, as pip leaves them: a checkout in which Python may write no bytecode would compile
them anew for each command. The compiled ones lie in the measure's own folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from ledgers import STREAMS, built
from measure import BY_CPU, Row, Setting, spent_in_turns

ROUNDS = 15


def measure(setting: Setting) -> list[Row]:
    site = built(setting.folder, 100 - STREAMS, STREAMS)
    compiled = setting.folder / "compiled"
    anvil = str(Path(sysconfig.get_path("scripts")) / "anvil")

    def run(*command: str) -> None:
        environment = {**os.environ, **site.environment(), "PYTHONPYCACHEPREFIX": str(compiled)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run(command, check=True, capture_output=True, env=environment)

    run(anvil, "verify")  # compiles
    bare = (sys.executable, "-c", "import click")
    help_, click_ = spent_in_turns(ROUNDS, lambda: run(anvil, "--help"), lambda: run(*bare))
    verify, _ = spent_in_turns(ROUNDS, lambda: run(anvil, "verify"), lambda: run(*bare))
    ms = 1e3
    return [
        Row(
            "anvil --help",
            help_.cpu * ms,
            "ms",
            2.5,
            click_.cpu * ms,
            'python -c "import click"',
            wall=help_.wall * ms,
            note=BY_CPU,
        ),
        Row("anvil verify of 100 events", verify.cpu * ms, "ms", 500.0, wall=verify.wall * ms, note=BY_CPU),
    ]
