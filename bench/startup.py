"""Measure 6: how long a person waits for a short command."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from ledgers import STREAMS, Site, built
from measure import Row, Setting, interleaved, seconds

ROUNDS = 15


def measure(setting: Setting) -> list[Row]:
    site = built(setting.folder, 100 - STREAMS, STREAMS)
    anvil = str(Path(sysconfig.get_path("scripts")) / "anvil")
    bare = [sys.executable, "-c", "import click"]
    help_, click_ = interleaved(
        ROUNDS, lambda: _seconds([anvil, "--help"], site), lambda: _seconds(bare, site)
    )
    verify, _ = interleaved(ROUNDS, lambda: _seconds([anvil, "verify"], site), lambda: _seconds(bare, site))
    return [
        Row("anvil --help", help_ * 1e3, "ms", 2.5, click_ * 1e3, 'python -c "import click"'),
        Row("anvil verify of 100 events", verify * 1e3, "ms", 500.0),
    ]


def _seconds(command: list[str], site: Site) -> float:
    environment = {**os.environ, **site.environment()}
    return seconds(lambda: subprocess.run(command, check=True, capture_output=True, env=environment))
