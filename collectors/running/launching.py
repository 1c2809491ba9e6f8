"""The launchers that a run can use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from anvil.collectors.launchers.attach import AttachLauncher
from anvil.collectors.launchers.docker import DockerLauncher
from anvil.collectors.launchers.interface import Launcher
from anvil.collectors.launchers.process import ProcessLauncher


@contextmanager
def launchers(spools: Path, docker_url: str | None) -> Iterator[dict[str, Launcher]]:
    """Give each launcher by name, until the end; none of them reaches out before it is asked to."""
    with (
        closing(DockerLauncher(spools, base_url=docker_url)) as docker,
        closing(AttachLauncher(spools, base_url=docker_url)) as attach,
    ):
        yield {"process": ProcessLauncher(spools), "docker": docker, "attach": attach}
