"""Real processes: their output from the first byte, their end, what is left of them, and who finds it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.launching import (
    PROVENANCE,
    answers,
    end,
    process_plan,
    spools,
    until,
    until_answers,
    until_ended,
    until_logged,
)

from anvil.collectors.launchers import procfs
from anvil.collectors.launchers.interface import LaunchFailed, NotKept, Provenance
from anvil.collectors.launchers.logs import LogLimits
from anvil.collectors.launchers.process import ProcessLauncher
from anvil.collectors.withholding import Secrets


def test_it_answers_is_kept_stopped_and_removed(launcher: ProcessLauncher, tmp_path: Path) -> None:
    async def story() -> None:
        plan = process_plan()
        running = await launcher.start(plan)
        await until_answers(running)
        log = await running.log()
        assert log.content().startswith(b"starting as serve\nlistening on ")
        event = running.started()
        assert event.identity == running.identity
        assert event.argv == list(plan.argv)
        assert event.has_launch_evidence
        inspected = json.loads(await running.inspect() or b"")
        assert inspected["argv"] == list(plan.argv)
        assert running.identity == f"{inspected['pid']}@{inspected['start_ticks']}"
        stopped = await running.stop(10)
        assert stopped.how == "asked"
        assert stopped.exit.code == 0
        await running.log()
        assert await running.remove()
        assert not answers(running.base_url)
        assert spools(tmp_path) == []

    asyncio.run(story())


def test_nothing_is_stopped_or_removed_before_it_is_kept(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan())
        with pytest.raises(NotKept):
            await running.stop(1)
        await running.log()
        with pytest.raises(NotKept):
            await running.remove()
        await running.stop(10)
        with pytest.raises(NotKept, match="since it ended"):
            await running.remove()
        await running.log()
        assert await running.remove()

    asyncio.run(story())


def test_one_that_exits_at_start_leaves_its_traceback(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan("traceback"))
        assert (await until_ended(running)).code == 1
        log = await running.log()
        assert log.last_lines()[-1] == "RuntimeError: the weights do not fit"
        assert (await running.stop(1)).how == "exited_before"
        assert await running.remove()

    asyncio.run(story())


def test_one_that_does_not_listen_to_term_is_killed(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan("stubborn"))
        await until_answers(running)
        await running.log()
        stopped = await running.stop(0.5)
        assert stopped.how == "killed"
        assert (stopped.exit.code, stopped.exit.signal) == (None, signal.SIGKILL)
        await end(running)

    asyncio.run(story())


def test_whatever_it_started_ends_with_it(launcher: ProcessLauncher) -> None:
    script = "sleep 300 & setsid sleep 300 & echo started; exec sleep 300"

    async def story() -> None:
        running = await launcher.start(process_plan(argv=("sh", "-c", script)))
        await until_logged(running, b"started")
        assert len(procfs.with_variable("ANVIL_LAUNCH", running.name)) == 3
        await running.stop(5)
        assert procfs.with_variable("ANVIL_LAUNCH", running.name) == []
        await end(running)

    asyncio.run(story())


def test_what_a_dead_leader_left_is_ended_too(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan(argv=("sh", "-c", "sleep 300 & exit 3")))
        assert (await until_ended(running)).code == 3
        await running.log()
        assert not await running.remove(), "something of it still runs"
        stopped = await running.stop(5)
        assert (stopped.how, stopped.exit.code) == ("exited_before", 3)
        assert await running.remove()

    asyncio.run(story())


def test_endless_output_is_bounded(launcher: ProcessLauncher, tmp_path: Path) -> None:
    async def story() -> None:
        plan = process_plan("shout", log_limits=LogLimits(1 << 20, 1 << 20))
        running = await launcher.start(plan)
        file = tmp_path / "spools" / running.name / "log"

        async def is_long() -> bool:
            return file.stat().st_size > 100 << 20

        await until(is_long)
        await running.log()
        await running.stop(10)
        log = await running.log()
        assert log.seen_bytes > 100 << 20
        assert log.kept_bytes <= 2 << 20
        assert not log.is_whole
        assert log.head.startswith(b"starting as shout\n")
        assert file.stat().st_blocks * 512 < 32 << 20
        assert await running.remove()

    asyncio.run(story())


def test_only_what_the_plan_names_is_in_its_environment(
    launcher: ProcessLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hunter2-hunter2")
    monkeypatch.setenv("OPENAI_API_KEY", "hunter3-hunter3")

    async def story() -> None:
        env = {"HF_TOKEN": "hunter2-hunter2", "VLLM_X": "1"}
        plan = process_plan(
            "echo-env", "--api-key", "hunter2-hunter2", env=env, secrets=Secrets.of(env), gpus=("GPU-1",)
        )
        running = await launcher.start(plan)
        log = await until_logged(running, b"listening")
        given = json.loads(log.content().split(b"\n")[1])
        assert given["HF_TOKEN"] == "hunter2-hunter2"
        assert given["CUDA_VISIBLE_DEVICES"] == "GPU-1"
        assert "OPENAI_API_KEY" not in given
        event = running.started()
        assert (event.withheld_env, event.withheld_argv, event.gpus) == (1, 1, 1)
        kept = event.model_dump_json().encode() + (await running.inspect() or b"")
        assert b"hunter" not in kept
        assert "hunter" not in "".join(log.last_lines(secrets=plan.secrets))
        for path in Path(running._spool.directory).iterdir():
            assert path.stat().st_mode & 0o077 == 0
            assert path.name == "log" or b"hunter" not in path.read_bytes()
        await end(running)

    asyncio.run(story())


def test_a_command_that_is_not_there(launcher: ProcessLauncher, tmp_path: Path) -> None:
    async def story() -> None:
        with pytest.raises(LaunchFailed, match="'no-such-program' could not be started: No such file"):
            await launcher.start(process_plan(argv=("no-such-program",)))
        assert spools(tmp_path) == []

    asyncio.run(story())


def test_it_stays_on_its_processors(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan("deaf", cpus="0"))
        assert os.sched_getaffinity(int(running.identity.partition("@")[0])) == {0}
        await end(running)

    asyncio.run(story())


# --- taken ports and GPUs ---------------------------------------------------------------------------------


def test_a_taken_port_names_its_holder(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        plan = process_plan()
        holder = subprocess.Popen(plan.argv, stdout=subprocess.DEVNULL)
        try:

            async def is_up() -> bool:
                return await asyncio.to_thread(answers, f"http://127.0.0.1:{plan.port}")

            assert await launcher.occupied(process_plan()) is None
            await until(is_up)
            why = await launcher.occupied(plan)
            assert why is not None
            assert why.startswith(f"port {plan.port} is held by python")
            assert why.endswith(f"(process {holder.pid})")
        finally:
            holder.kill()
            holder.wait()

    asyncio.run(story())


def test_another_launch_is_named_before_it_listens(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        plan = process_plan("deaf", gpus=("GPU-1",))
        running = await launcher.start(plan)
        whose = f"attempt 'a1' of stream {PROVENANCE.stream}"
        assert await launcher.occupied(plan) == f"port {plan.port} belongs to {whose}"
        assert (
            await launcher.occupied(process_plan(gpus=("GPU-2", "GPU-1"))) == f"GPU GPU-1 belongs to {whose}"
        )
        assert await launcher.occupied(process_plan(gpus=("GPU-2",))) is None
        await end(running)
        assert await launcher.occupied(plan) is None

    asyncio.run(story())


def test_a_gpu_with_memory_on_it_names_its_holder(
    launcher: ProcessLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho 'GPU-1, 4242, /usr/bin/vllm'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    why = asyncio.run(launcher.occupied(process_plan(gpus=("GPU-1",))))
    assert why == "GPU GPU-1 is held by vllm (process 4242)"
    assert asyncio.run(launcher.occupied(process_plan(gpus=("GPU-2",)))) is None


# --- out of memory --------------------------------------------------------------------------------------------

IN_A_SMALL_GROUP = """
import asyncio, sys
from pathlib import Path
from anvil.collectors.launchers.interface import LaunchPlan, Provenance
from anvil.collectors.launchers.process import ProcessLauncher

async def main():
    spools, *argv = sys.argv[1:]
    running = await ProcessLauncher(Path(spools)).start(LaunchPlan(Provenance("o", "s", "a"), 1, tuple(argv)))
    while (ended := await running.state()) is None:
        await asyncio.sleep(0.05)
    print(ended)
    await running.log()
    await running.stop(1)
    await running.remove()

asyncio.run(main())
"""


@contextmanager
def memory_group(limit: int) -> Iterator[Path]:
    """A cgroup with a memory limit; skips where this process may not make one."""
    root = Path("/sys/fs/cgroup")
    own = next(
        (line for line in Path("/proc/self/cgroup").read_text().splitlines() if ":memory:" in line), None
    )
    path = (root / "memory" / own.split(":", 2)[2].lstrip("/") if own else root) / f"anvil-test-{os.getpid()}"
    names = (
        ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes") if own else ("memory.max", "memory.swap.max")
    )
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"needs cgroup: none can be made here: {error}")
    try:
        try:
            (path / names[0]).write_text(str(limit))
        except OSError as error:
            pytest.skip(f"needs cgroup: it has no memory limit: {error}")
        if (path / names[1]).exists():
            (path / names[1]).write_text(str(limit if own else 0))
        yield path
    finally:
        path.rmdir()


@pytest.mark.needs("root")
def test_one_that_the_kernel_killed_for_memory(tmp_path: Path) -> None:
    plan = process_plan("eat")
    with memory_group(256 << 20) as group:
        into = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        argv = [
            "sh",
            "-c",
            into,
            "sh",
            sys.executable,
            "-c",
            IN_A_SMALL_GROUP,
            str(tmp_path / "spools"),
            *plan.argv,
        ]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert "code=None, signal=9, oom_killed=True" in done.stdout, done.stdout + done.stderr


def test_a_kill_by_hand_is_no_want_of_memory(launcher: ProcessLauncher) -> None:
    async def story() -> None:
        running = await launcher.start(process_plan("deaf"))
        os.kill(int(running.identity.partition("@")[0]), signal.SIGKILL)
        ended = await until_ended(running)
        assert ended.signal == signal.SIGKILL
        assert ended.oom_killed is not True
        await end(running)

    asyncio.run(story())


def test_an_odd_name_does_not_confuse_the_reader(tmp_path: Path) -> None:
    program = tmp_path / "a) R (b"
    program.write_text(textwrap.dedent("#!/bin/sh\nsleep 300\n"))
    program.chmod(0o755)
    child = subprocess.Popen([program])
    try:
        found = procfs.process(child.pid)
        assert found is not None
        assert found.state in "RSD"
        assert found.group == os.getpgid(child.pid)
    finally:
        child.kill()
        child.wait()
    assert procfs.process(child.pid) is None


def test_provenance_names_each_launch_anew() -> None:
    assert PROVENANCE.launch_name() != PROVENANCE.launch_name()
    assert replace(PROVENANCE, attempt="b").labels() == {
        "anvil.ledger": "example.org/log",
        "anvil.stream": PROVENANCE.stream,
        "anvil.attempt": "b",
    }
    assert isinstance(PROVENANCE, Provenance)
