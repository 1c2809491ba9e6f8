"""A real Docker engine: containers that a killed run left, and those that are somebody else's."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.launching import (
    end,
    free_port,
    until_answers,
    until_logged,
)

from anvil.collectors.launchers.attach import AttachLauncher
from anvil.collectors.launchers.docker import DockerLauncher
from anvil.collectors.launchers.interface import (
    AttachTarget,
    Exit,
    Provenance,
)
from anvil.ledger.events.launches import LaunchStarted

if TYPE_CHECKING:
    from conftest import Docker, Plans, Tell

pytestmark = pytest.mark.needs("docker")

# --- a run that is gone ------------------------------------------------------------------------------------

CRASHING = """
import asyncio, os, sys
from pathlib import Path
from anvil.collectors.launchers.docker import DockerLauncher
from anvil.collectors.launchers.interface import ContainerPlan, LaunchPlan, Provenance
from anvil.collectors.launchers.spools import Spool

async def main():
    when, ledger, spools, url, image, port, *argv = sys.argv[1:]
    if when == "before-identity":
        Spool.identified = lambda *_, **__: os.kill(os.getpid(), 9)
    provenance = Provenance(ledger, "20261130T102700Z-0123456789abcdef", "a1")
    plan = LaunchPlan(provenance, int(port), tuple(argv), container=ContainerPlan(image, 8000))
    running = await DockerLauncher(Path(spools), base_url=url or None).start(plan)
    while b"listening" not in (await running.log()).content():
        await asyncio.sleep(0.05)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


@pytest.mark.parametrize("when", ["after", "before-identity", "spool-gone"])
def test_the_next_run_finds_what_a_killed_one_left(
    when: str, plan: Plans, tell: Tell, docker_engine: Docker, provenance: Provenance, tmp_path: Path
) -> None:
    wanted, folder = plan(), tmp_path / "spools"
    argv = [
        sys.executable,
        "-c",
        CRASHING,
        when,
        provenance.ledger,
        str(folder),
        docker_engine.url or "",
        docker_engine.image,
    ]
    assert subprocess.run([*argv, str(wanted.port), *wanted.argv], timeout=60).returncode == -signal.SIGKILL
    if when == "spool-gone":
        folder.rename(tmp_path / "elsewhere")

    async def story(launcher: DockerLauncher) -> None:
        assert await launcher.orphans("another.example/log") == []
        (found,) = await launcher.orphans(provenance.ledger)
        assert found.provenance == provenance
        assert isinstance(found.started(), LaunchStarted)
        assert await launcher.orphans(provenance.ledger) == [], "it is taken"
        if when == "before-identity":
            assert await found.state() == Exit(oom_killed=False), "made, and never started"
        else:
            await until_answers(found)
            log = await until_logged(found, b"listening on 8000\n")
            assert log.content() == b"starting as serve\nlistening on 8000\n", "nothing is there twice"
        await end(found)

    tell(story)


# --- somebody else's container ---------------------------------------------------------------------------


def test_somebody_elses_container_is_read_and_left_alone(
    plan: Plans, tell: Tell, docker_engine: Docker, tmp_path: Path
) -> None:
    client = docker_engine.client()
    port = free_port()
    theirs = client.containers.run(
        docker_engine.image,
        ["--port", "8000", "--behave", "echo-env", "--api-key", "hunter2-hunter2"],
        name="somebodys",
        detach=True,
        environment={"HF_TOKEN": "hunter3-hunter3"},
        ports={"8000/tcp": ("127.0.0.1", port)},
    )

    async def story(_: DockerLauncher) -> None:
        launcher = AttachLauncher(tmp_path / "spools", base_url=docker_engine.url)
        target = AttachTarget(f"http://127.0.0.1:{port}", container="somebodys")
        running = await launcher.start(replace(plan(), container=None, target=target))
        await until_answers(running)
        await until_logged(running, b"listening on 8000\n")
        event = running.started()
        assert event.has_launch_evidence
        assert event.image_id == docker_engine.image
        assert event.identity == theirs.id
        assert b"hunter" not in event.model_dump_json().encode() + (await running.inspect() or b"")
        assert (await running.stop(1)).how == "left_running"
        assert await running.state() is None
        assert not await running.remove()
        theirs.reload()
        assert theirs.status == "running"
        launcher.close()

    try:
        tell(story)
    finally:
        theirs.remove(force=True)
        client.close()
