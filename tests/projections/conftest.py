"""A browser without a window or a network."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def chromium(tmp_path: Path) -> Callable[..., str]:
    """Open a file, take a picture, and return what the browser logged."""

    def look(page: Path, picture: Path, *, width: int, dark: bool) -> str:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        assert program is not None
        argv = [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
        ]
        argv += [
            f"--user-data-dir={tmp_path / 'profile'}",
            "--proxy-server=127.0.0.1:9",
            f"--window-size={width},1400",
        ]
        argv += ["--blink-settings=preferredColorScheme=0"] if dark else []
        argv += [f"--screenshot={picture}", page.as_uri()]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
        return done.stderr

    return look
