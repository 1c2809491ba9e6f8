"""Podman under Docker's interface: the same container stories, in `make soak`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

LIMITS = """\
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
"""
"""Podman's own defaults are more than an ordinary shell may raise."""


@pytest.mark.soak
@pytest.mark.needs("podman")
def test_the_container_stories() -> None:
    with TemporaryDirectory(prefix="pod-") as place:  # podman takes no path of more than 50 characters
        told = tell_with_podman(Path(place))
    assert told.returncode == 0, told.stdout
    assert " passed" in told.stdout


def tell_with_podman(place: Path) -> subprocess.CompletedProcess[str]:
    configuration = place / "containers.conf"
    configuration.write_text(LIMITS)
    socket = place / "podman.sock"
    places = ["--root", str(place / "root"), "--runroot", str(place / "run")]
    service = subprocess.Popen(
        ["podman", *places, "system", "service", "--time=0", f"unix://{socket}"],
        env={**os.environ, "CONTAINERS_CONF": str(configuration)},
        cwd=place,  # it leaves a file where it runs when a container was killed for memory
    )
    try:
        for _ in range(100):
            if socket.exists():
                break
            time.sleep(0.1)
        stories = [str(path) for path in sorted(Path(__file__).parent.glob("test_docker*.py"))]
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *stories],
            env={**os.environ, "DOCKER_HOST": f"unix://{socket}"},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    finally:
        service.terminate()
        service.wait(30)
        subprocess.run(["podman", *places, "system", "reset", "--force"], check=False, capture_output=True)
