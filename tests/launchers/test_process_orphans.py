"""Processes that a killed run left: found, and whose they are."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.launching import (
    PROVENANCE,
    answers,
    end,
    process_plan,
    spools,
    until_answers,
    until_ended,
)

from anvil.collectors.launchers.interface import Exit
from anvil.collectors.launchers.process import ProcessLauncher

# --- a run that is gone -------------------------------------------------------------------------------------

CRASHING = """
import asyncio, os, sys
from pathlib import Path
from anvil.collectors.launchers import process
from anvil.collectors.launchers.interface import LaunchPlan, Provenance
from anvil.collectors.launchers.spools import Spool

async def main():
    when, spools, port, *argv = sys.argv[1:]
    if when == "before-identity":
        Spool.identified = lambda *_, **__: os.kill(os.getpid(), 9)
    plan = LaunchPlan(Provenance("example.org/log", "20261130T102700Z-0123456789abcdef", "a1"), int(port), tuple(argv))
    await process.ProcessLauncher(Path(spools)).start(plan)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


@pytest.mark.parametrize("when", ["after", "before-identity"])
def test_the_next_run_finds_what_a_killed_one_left(
    when: str, launcher: ProcessLauncher, tmp_path: Path
) -> None:
    plan = process_plan()
    crash = [sys.executable, "-c", CRASHING, when, str(tmp_path / "spools"), str(plan.port), *plan.argv]
    assert subprocess.run(crash).returncode == -signal.SIGKILL

    async def story() -> None:
        assert await launcher.orphans("another.example/log") == []
        (found,) = await launcher.orphans("example.org/log")
        assert found.provenance == PROVENANCE
        assert found.started().argv == list(plan.argv)
        await until_answers(found)
        assert (await found.log()).content().startswith(b"starting as serve\n")
        assert await launcher.orphans("example.org/log") == [], "it is taken"
        stopped = await found.stop(10)
        assert (stopped.how, stopped.exit) == ("asked", Exit())
        await end(found)
        assert spools(tmp_path) == []
        assert not answers(found.base_url)

    asyncio.run(story())


def test_the_next_run_finds_one_that_ended_meanwhile(launcher: ProcessLauncher, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", CRASHING, "after", str(tmp_path / "spools"), "1", "echo", "last words"]
    subprocess.run(argv)

    async def story() -> None:
        (found,) = await launcher.orphans("example.org/log")
        assert await until_ended(found) == Exit()
        assert (await found.log()).content() == b"last words\n"
        assert (await found.stop(1)).how == "exited_before"
        assert await found.remove()

    asyncio.run(story())


def test_a_living_run_keeps_its_engine(launcher: ProcessLauncher, tmp_path: Path) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan("deaf"))
        assert await ProcessLauncher(tmp_path / "spools").orphans("example.org/log") == []
        await running.aclose()
        (found,) = await launcher.orphans("example.org/log")
        assert found.identity == running.identity
        await end(found)

    asyncio.run(story())


def test_a_reused_process_id_is_nobodys_orphan(launcher: ProcessLauncher, tmp_path: Path) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan("traceback"))
        await until_ended(running)
        bystander = subprocess.Popen(["sleep", "300"], start_new_session=True)
        try:
            running._spool.identified(pid=bystander.pid)  # as if the kernel had given its id again
            await running.aclose()
            (found,) = await launcher.orphans("example.org/log")
            assert await found.state() == Exit()
            await end(found)
            assert bystander.poll() is None
        finally:
            bystander.kill()
            bystander.wait()

    asyncio.run(story())
