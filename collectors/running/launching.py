"""The launchers that a run can use."""

from __future__ import annotations

from pathlib import Path

from anvil.collectors.launchers.attach import AttachLauncher
from anvil.collectors.launchers.docker import DockerLauncher
from anvil.collectors.launchers.interface import Launcher
from anvil.collectors.launchers.process import ProcessLauncher


def launchers(spools: Path, docker_url: str | None) -> dict[str, Launcher]:
    """Return each launcher by name; none of them reaches out before it is asked to."""
    return {
        "process": ProcessLauncher(spools),
        "docker": DockerLauncher(spools, base_url=docker_url),
        "attach": AttachLauncher(spools, base_url=docker_url),
    }
