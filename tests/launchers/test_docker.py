"""A real Docker engine: containers that answer, fail at start, are killed for memory, never stop logging."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.launching import (
    PROVENANCE,
    answers,
    end,
    free_port,
    until,
    until_answers,
    until_ended,
    until_logged,
)

from anvil.collectors.launchers.attach import AttachLauncher
from anvil.collectors.launchers.containers import EngineUnreachable
from anvil.collectors.launchers.docker import DockerLauncher
from anvil.collectors.launchers.interface import (
    AttachTarget,
    ContainerPlan,
    Exit,
    LaunchFailed,
    LaunchPlan,
    NotKept,
    Provenance,
)
from anvil.collectors.launchers.logs import LogLimits
from anvil.collectors.withholding import Secrets
from anvil.ledger.events.launches import LaunchStarted

if TYPE_CHECKING:
    from conftest import Docker

pytestmark = pytest.mark.needs("docker")

Story = Callable[[DockerLauncher], Awaitable[None]]
Plans = Callable[..., LaunchPlan]
Tell = Callable[[Story], None]


@pytest.fixture
def provenance(tmp_path: Path) -> Provenance:
    """Of a ledger of this test's own: other workers use the same engine."""
    return replace(PROVENANCE, ledger=f"example.org/{tmp_path.parent.name}-{tmp_path.name}".lower())


@pytest.fixture
def tell(docker_engine: Docker, provenance: Provenance, tmp_path: Path) -> Iterator[Tell]:
    """Run a story with a launcher, and see that it left no container and no spool behind."""
    client = docker_engine.client()

    def left() -> list[Any]:
        filters = {"label": f"anvil.ledger={provenance.ledger}"}
        return list(client.containers.list(all=True, filters=filters))

    def run(story: Story) -> None:
        async def whole() -> None:
            launcher = DockerLauncher(tmp_path / "spools", base_url=docker_engine.url)
            try:
                await asyncio.wait_for(story(launcher), 60)
            finally:
                launcher.close()

        asyncio.run(whole())
        assert left() == []
        assert not (tmp_path / "spools").is_dir() or list((tmp_path / "spools").iterdir()) == []

    yield run
    for container in left():
        container.remove(force=True)
    client.close()


@pytest.fixture
def plan(docker_engine: Docker, provenance: Provenance) -> Callable[..., LaunchPlan]:
    def make(
        behave: str = "serve", *more: str, container: dict[str, Any] | None = None, **changes: Any
    ) -> LaunchPlan:
        inside = ContainerPlan(**{"image": docker_engine.image, "port": 8000, **(container or {})})
        argv = ("--port", "8000", "--behave", behave, *more)
        return LaunchPlan(
            provenance, changes.pop("port", None) or free_port(), argv, container=inside, **changes
        )

    return make


def test_it_answers_is_kept_stopped_and_removed(
    plan: Plans, tell: Tell, docker_engine: Docker, provenance: Provenance
) -> None:
    async def story(launcher: DockerLauncher) -> None:
        options = {"shm_size": "64m", "ipc": "private", "ulimits": {"nofile": 512, "stack": 4 << 20}}
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
        assert {limit["Name"]: limit["Hard"] for limit in host["Ulimits"]} == options["ulimits"]
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


def test_one_killed_for_memory(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan("eat", container={"memory_bytes": 128 << 20}))
        ended = await until_ended(running)
        assert (ended.code, ended.oom_killed) == (137, True)
        assert b"took 16 MiB\n" in (await running.log()).content()
        await end(running)

    tell(story)


def test_one_whose_log_has_no_end(plan: Plans, tell: Tell, tmp_path: Path) -> None:
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


def test_a_container_that_could_not_start_is_kept_like_others(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
        running = await launcher.start(plan(container={"entrypoint": ("/no/such/program",)}))
        ended = await until_ended(running)
        assert ended.code == 127
        assert "/no/such/program" in ended.message
        assert (await running.log()).content() == b""
        await end(running)

    tell(story)


def test_gpus_are_asked_for_by_their_ids(plan: Plans, tell: Tell) -> None:
    async def story(launcher: DockerLauncher) -> None:
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
