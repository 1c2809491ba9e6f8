"""An endpoint that somebody else runs: read as far as it lets itself be read, never stopped."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from support.launching import PROVENANCE, answers, process_plan, until

from anvil.collectors.launchers.attach import AttachLauncher
from anvil.collectors.launchers.interface import AttachTarget, LaunchFailed, LaunchPlan


def attach_plan(base_url: str = "http://127.0.0.1:1", pid: int | None = None) -> LaunchPlan:
    return LaunchPlan(PROVENANCE, 1, target=AttachTarget(base_url, pid=pid))


@pytest.fixture
def launcher(tmp_path: Path) -> AttachLauncher:
    return AttachLauncher(tmp_path / "spools")


def test_without_a_name_there_is_no_launch_evidence(launcher: AttachLauncher) -> None:
    async def story() -> None:
        plan = attach_plan("http://127.0.0.1:9")
        assert await launcher.occupied(plan) is None
        running = await launcher.start(plan)
        event = running.started()
        assert not event.has_launch_evidence
        assert (event.argv, event.env, event.identity, event.image_id) == (None, None, None, None)
        assert running.base_url == "http://127.0.0.1:9"
        assert await running.inspect() is None
        assert await running.state() is None
        log = await running.log()
        assert log.content() == b""
        assert log.problem == "the endpoint names no container and no process"
        assert (await running.stop(1)).how == "left_running"
        assert not await running.remove()
        assert await launcher.orphans("example.org/log") == ()

    asyncio.run(story())


def test_a_process_is_read_and_left_alone(launcher: AttachLauncher, tmp_path: Path) -> None:
    theirs = process_plan("serve", "--api-key", "hunter2-hunter2")
    path = tmp_path / "theirs.log"
    with path.open("wb") as log:
        child = subprocess.Popen(
            theirs.argv,
            stdout=log,
            stderr=log,
            env={**os.environ, "HF_TOKEN": "hunter3-hunter3", "VLLM_X": "1"},
        )
    base_url = f"http://127.0.0.1:{theirs.port}"

    async def story() -> None:
        async def is_up() -> bool:
            return await asyncio.to_thread(answers, base_url)

        await until(is_up)
        running = await launcher.start(attach_plan(base_url, child.pid))
        event = running.started()
        assert event.has_launch_evidence
        assert event.withheld_argv == 1
        assert ["VLLM_X", "1"] in (event.env or [])
        inspected = await running.inspect() or b""
        assert json.loads(inspected)["pid"] == child.pid
        assert b"hunter" not in inspected + event.model_dump_json().encode()
        assert (await running.log()).content().startswith(b"starting as serve\n")
        assert (await running.stop(1)).how == "left_running"
        assert not await running.remove()
        assert child.poll() is None
        assert path.exists()
        child.kill()
        child.wait()
        ended = await running.state()
        assert ended is not None
        assert ended.code is None, "only its parent is told"
        assert await running.inspect() is None

    try:
        asyncio.run(story())
    finally:
        child.kill()
        child.wait()


def test_a_process_that_writes_to_no_file(launcher: AttachLauncher) -> None:
    child = subprocess.Popen(["sleep", "300"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        running = asyncio.run(launcher.start(attach_plan(pid=child.pid)))
        assert asyncio.run(running.log()).problem == "the process does not write to a file"
    finally:
        child.kill()
        child.communicate()


def test_a_process_that_is_not_there(launcher: AttachLauncher) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    with pytest.raises(LaunchFailed, match=f"there is no process {child.pid}"):
        asyncio.run(launcher.start(attach_plan(pid=child.pid)))
