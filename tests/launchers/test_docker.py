"""A real Docker engine: containers that answer, fail at start, are killed for memory, never stop logging."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.launching import (
    answers,
    end,
    until,
    until_answers,
    until_ended,
    until_logged,
)

from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.collectors.launchers.docker import DockerLauncher
from anvil.collectors.launchers.interface import (
    LaunchFailed,
    NotKept,
    Provenance,
)
from anvil.collectors.launchers.logs import LogLimits
from anvil.collectors.withholding import Secrets

if TYPE_CHECKING:
    from conftest import Docker, Plans, Tell

pytestmark = pytest.mark.needs("docker")


def test_it_answers_is_kept_stopped_and_removed(
    plan: Plans, tell: Tell, docker_engine: Docker, provenance: Provenance
) -> None:
    async def story(launcher: DockerLauncher) -> None:
        limits = {} if docker_engine.is_podman else {"nofile": 512, "stack": 4 << 20}
        options = {"shm_size": "64m", "ipc": "private", "ulimits": limits}
        wanted = plan(container=options, cpus="0", env={"VLLM_X": "1"})
        assert await launcher.occupied(wanted) is None
        running = await launcher.start(wanted)
        await until_answers(running)
        await until_logged(running, b"listening on 8000\n")
        event = running.started()
        assert (event.image_id, event.image) == (docker_engine.image, None)
        assert event.argv == list(wanted.argv)
        assert event.identity == running.identity
        before = json.loads(await running.inspect() or b"")
        host = before["HostConfig"]
        assert before["State"]["Status"] == "running"
        assert host["ShmSize"] == 64 << 20
        assert host["CpusetCpus"] == "0"
        assert host["AutoRemove"] is False
        assert host["RestartPolicy"]["Name"] in ("", "no")
        assert host["PortBindings"] == {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(wanted.port)}]}
        given = {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]}
        assert limits.items() <= given.items()
        assert before["Config"]["Labels"].items() >= provenance.labels().items()
        with pytest.raises(NotKept):
            await running.remove()
        stopped = await running.stop(10)
        assert (stopped.how, stopped.exit.code, stopped.exit.oom_killed) == ("asked", 0, False)
        after = json.loads(await running.inspect() or b"")
        assert after["State"]["Status"] == "exited"
        log = await running.log()
        assert log.content() == b"starting as serve\nlistening on 8000\n"
        assert log.is_whole
        assert await running.remove()
        assert await running.inspect() is None

    tell(story)


def test_one_that_never_becomes_healthy(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan("deaf"))
        log = await until_logged(running, b"starting as deaf\n")
        assert log.lines == 1
        assert await running.state() is None
        assert not answers(running.base_url)
        assert (await running.stop(10)).how == "asked"
        await end(running)

    tell(story)


def test_one_that_exits_at_start_leaves_its_traceback(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan("traceback"))
        ended = await until_ended(running)
        assert (ended.code, ended.oom_killed) == (1, False)
        log = await running.log()
        assert log.last_lines()[-1] == "RuntimeError: the weights do not fit"
        assert json.loads(await running.inspect() or b"")["State"]["ExitCode"] == 1
        assert (await running.stop(5)).how == "exited_before"
        await end(running)

    tell(story)


def test_one_killed_for_memory(plan: Plans, tell: Tell, docker_engine: Docker) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan("eat", container={"memory_bytes": 128 << 20}))
        ended = await until_ended(running)
        # Podman 4 does not tell that it was for memory, and says no.
        assert (ended.code, ended.oom_killed) == (137, not docker_engine.is_podman)
        assert b"took 16 MiB\n" in (await running.log()).content()
        await end(running)

    tell(story)


def test_one_whose_log_has_no_end(plan: Plans, tell: Tell, tmp_path: Path, docker_engine: Docker) -> None:
    if docker_engine.is_podman:
        pytest.skip("podman 4 drops the beginning of a log that reaches its limit while it is followed")

    async def story(launcher: DockerLauncher) -> None:
        container = {"log_bytes": 16 << 20}
        running = await launcher.start(
            plan("shout", container=container, log_limits=LogLimits(1 << 20, 1 << 20))
        )
        file = tmp_path / "spools" / running.name / "log"

        async def is_long() -> bool:
            return file.exists() and file.stat().st_size > 24 << 20

        await until(is_long, 40)
        await running.log()
        await running.stop(10)
        log = await running.log()
        assert log.seen_bytes > 24 << 20
        assert log.kept_bytes <= 2 << 20
        assert log.head.startswith(b"starting as shout\n")
        assert not log.is_whole
        assert file.stat().st_blocks * 512 < 32 << 20
        await end(running)

    tell(story)


def test_a_container_that_does_not_end_when_asked(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan("stubborn"))
        await until_answers(running)
        await running.log()
        stopped = await running.stop(1)
        assert (stopped.how, stopped.exit.code) == ("killed", 137)
        await end(running)

    tell(story)


def test_no_secret_is_in_what_is_kept(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        env = {"HF_TOKEN": "hunter2-hunter2", "VLLM_X": "with hunter2-hunter2 inside", "NCCL_DEBUG": "INFO"}
        wanted = plan("echo-env", "--api-key", "hunter3-hunter3", env=env, secrets=Secrets.of(env))
        running = await launcher.start(wanted)
        log = await until_logged(running, b"listening")
        assert b"hunter2-hunter2" in log.content()
        event = running.started()
        kept = (await running.inspect() or b"") + event.model_dump_json().encode()
        assert b"hunter" not in kept
        assert b"NCCL_DEBUG=INFO" in kept
        assert (event.withheld_env, event.withheld_argv) == (2, 1)
        assert "hunter" not in " ".join(log.last_lines(secrets=wanted.secrets))
        await end(running)

    tell(story)


def test_an_image_that_can_move_is_refused(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        for image in ("vllm/vllm-openai:latest", "vllm/vllm-openai", "vllm"):
            with pytest.raises(LaunchFailed, match="can name another image tomorrow"):
                await launcher.start(plan(container={"image": image}))

    tell(story)


def test_an_absent_image_is_named(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        image = "example.org/none@sha256:" + "0" * 64
        with pytest.raises(LaunchFailed, match="is not on this host") as caught:
            await launcher.start(plan(container={"image": image}))
        assert caught.value.advice == f"docker pull {image}"

    tell(story)


def test_a_container_that_could_not_start_is_kept_like_others(
    plan: Plans, tell: Tell, docker_engine: Docker
) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan(container={"entrypoint": ("/no/such/program",)}))
        ended = await until_ended(running)
        assert ended.code == (None if docker_engine.is_podman else 127)
        assert "/no/such/program" in ended.message
        assert (await running.log()).content() == b""
        await end(running)

    tell(story)


def test_gpus_are_asked_for_by_their_ids(plan: Plans, tell: Tell, docker_engine: Docker) -> None:
    async def story(launcher: DockerLauncher) -> None:
        if docker_engine.is_podman:
            with pytest.raises(LaunchFailed, match="with 0 of the 2 GPUs asked for"):
                await launcher.start(plan(gpus=("GPU-12345678", "GPU-9")))
            return
        # Without NVIDIA's runtime such a container is made, and cannot start.
        running = await launcher.start(plan(gpus=("GPU-12345678", "GPU-9")))
        request = json.loads(await running.inspect() or b"")["HostConfig"]["DeviceRequests"][0]
        assert request["DeviceIDs"] == ["GPU-12345678", "GPU-9"]
        assert request["Capabilities"] == [["gpu"]]
        assert running.started().gpus == 2
        ended = await until_ended(running)
        assert "could not select device driver" in ended.message
        await end(running)

    tell(story)


def test_a_published_port_names_its_container(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        wanted = plan("deaf")
        running = await launcher.start(wanted)
        await until_logged(running, b"starting")
        why = await launcher.occupied(wanted)
        assert why == f"port {wanted.port} is published by container {running.name} ({running.identity[:12]})"
        assert await launcher.occupied(plan()) is None
        await end(running)
        assert await launcher.occupied(wanted) is None

    tell(story)


def test_an_engine_that_is_not_there(plan: Plans, tmp_path: Path) -> None:
    async def story() -> None:
        launcher = DockerLauncher(tmp_path / "spools", base_url=f"unix://{tmp_path}/none.sock")
        with pytest.raises(EngineUnreachable, match="cannot be reached"):
            await launcher.start(plan())
        launcher.close()

    asyncio.run(story())


def test_a_container_that_somebody_removes_meanwhile(plan: Plans, tell: Tell, docker_engine: Docker) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan())
        await until_logged(running, b"listening")
        client = docker_engine.client()
        client.containers.get(running.identity).remove(force=True)
        client.close()
        ended = await until_ended(running)
        assert (ended.code, ended.oom_killed) == (None, None)
        assert (await running.log()).content() == b"starting as serve\nlistening on 8000\n"
        assert await running.inspect() is None
        await end(running)

    tell(story)
