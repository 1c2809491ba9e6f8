"""The launcher `process`: a local command in a session of its own.

1. Output goes straight into the spool's log file: from the first byte, without us in between, so that
   neither the engine nor its log notices when we die.
2. The engine leads its own session and carries the launch's name in its environment. Whatever it
   starts is found by either, and ended with it.
3. It gets the environment of the plan, the plan's GPUs, and a few names that programs need to run at all; no other
   variable of ours, since any could be a secret.
4. It is ended with TERM, and with KILL when the deadline passes.
5. How the child of a run that is gone has ended, nobody knows: only its parent is told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import orjson

from anvil.collectors.launchers import procfs
from anvil.collectors.launchers.gpus import gpu_holder
from anvil.collectors.launchers.interface import (
    LOOPBACK,
    MARK,
    NOBODY_KNOWS,
    Exit,
    Keeping,
    LauncherName,
    LaunchFailed,
    LaunchPlan,
    Stopped,
    started_event,
)
from anvil.collectors.launchers.logs import BoundedLog
from anvil.collectors.launchers.spools import Spool, abandoned, taken
from anvil.collectors.withholding import NO_SECRETS, Secrets, clean_document
from anvil.ledger.events.launches import LaunchProblem, LaunchStarted

_INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "TZ", "LD_LIBRARY_PATH")
_PAUSE_S = 0.05
_COUNT_EVERY_S = 0.25
_KILL_S = 10.0


class ProcessLauncher:
    """Starts local commands; `spools` is a private folder that outlives this process."""

    name: LauncherName = "process"

    def __init__(self, spools: Path) -> None:
        self._spools = spools

    async def occupied(self, plan: LaunchPlan) -> str | None:
        """Say by what the port or a GPU is taken."""
        if holder := procfs.port_holder(plan.port):
            return f"port {plan.port} is held by {holder}"
        return taken(self._spools, plan) or await gpu_holder(plan.gpus)

    async def start(self, plan: LaunchPlan) -> ProcessRunning:
        """Start the command.

        Raises:
            LaunchFailed: there is no such command, or it may not be run.
        """
        event = started_event("process", plan, identity=None)
        spool = Spool.create(self._spools, "process", plan, event.model_dump(mode="json"))
        plan.let_go()
        try:
            child = _spawn(plan, spool)
        except OSError as error:
            spool.remove()
            message = f"{plan.argv[0] if plan.argv else 'nothing'!r} could not be started: {error.strerror or error}"
            problem: LaunchProblem = "not_found" if isinstance(error, FileNotFoundError) else "refused"
            raise LaunchFailed(message, problem=problem) from error
        found = procfs.process(child.pid)
        spool.identified(pid=child.pid, start_ticks=found.start_ticks if found else 0, boot=procfs.boot_id())
        if plan.cpus:
            _pin(child.pid, plan.cpus)
        return ProcessRunning(spool, plan.secrets, child)

    async def orphans(self, ledger: str, secrets: Secrets = NO_SECRETS) -> Sequence[ProcessRunning]:
        """Take over the processes of `ledger` whose runs are gone, those that have ended too."""
        found = []
        for spool in abandoned(self._spools, "process", ledger):
            if spool.record.pid is None:  # the run went between starting it and writing down its id
                started = procfs.with_variable(MARK, spool.record.name)
                first = min(started, key=lambda process: process.start_ticks, default=None)
                if first:
                    spool.identified(pid=first.pid, start_ticks=first.start_ticks, boot=procfs.boot_id())
            found.append(ProcessRunning(spool, secrets, None))
        return found


def _spawn(plan: LaunchPlan, spool: Spool) -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    if plan.gpus:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(plan.gpus)
    environment |= plan.env
    environment[MARK] = spool.record.name
    descriptor = os.open(spool.log.path, os.O_WRONLY | os.O_APPEND)
    try:
        return subprocess.Popen(
            list(plan.argv),
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            env=environment,
            start_new_session=True,
        )
    except IndexError as error:
        raise OSError("no command was given") from error
    finally:
        os.close(descriptor)


def _pin(pid: int, cpus: str) -> None:
    chosen: set[int] = set()
    for part in cpus.split(","):
        first, _, last = part.partition("-")
        chosen.update(range(int(first), int(last or first) + 1))
    with suppress(ProcessLookupError):  # it may have ended already, and its state says so
        os.sched_setaffinity(pid, chosen)


class ProcessRunning:
    """A local command that was started by us, or by a run that is gone."""

    is_ours = True

    def __init__(self, spool: Spool, secrets: Secrets, child: subprocess.Popen[bytes] | None) -> None:
        record = spool.record
        self.name = record.name
        self.identity = f"{record.pid}@{record.start_ticks}" if record.pid else record.name
        self.provenance = record.provenance
        self.base_url = f"http://{LOOPBACK}:{record.port}"
        self._spool = spool
        self._secrets = secrets
        self._child = child
        self._keeping = Keeping()
        self._oom_kills = self._oom_kills_now()
        self._exit: Exit | None = None
        self._counting = asyncio.create_task(self._count())

    def started(self) -> LaunchStarted:
        """Return the event that says how it was launched."""
        return LaunchStarted.model_validate({**self._spool.record.started, "identity": self.identity})

    async def inspect(self) -> bytes | None:
        """Return the kernel's view of it as JSON; null when it is gone."""
        pid = self._spool.record.pid
        return inspect_process(pid, self._secrets) if pid and self._is_alive() else None

    async def state(self) -> Exit | None:
        """Return null while it runs, else how it ended."""
        if self._exit is None:
            self._exit = self._ended()
        return self._exit

    def _ended(self) -> Exit | None:
        if self._child is None:
            return None if self._is_alive() else NOBODY_KNOWS
        code = self._child.poll()
        if code is None:
            self._oom_kills = self._oom_kills if self._oom_kills is not None else self._oom_kills_now()
            return None
        sent = -code if code < 0 else None
        was_killed = signal.SIGKILL in (sent, code - 128)  # the shell passes its child's signal on
        return Exit(code if code >= 0 else None, sent, self._oom_killed(was_killed))

    def _oom_killed(self, was_killed: bool) -> bool | None:
        """Say whether it was the kernel that killed it. We share a cgroup, so ours is the count to look at."""
        now = procfs.oom_kills(os.getpid())
        if now is None or self._oom_kills is None:
            return None
        return was_killed and now > self._oom_kills

    def _oom_kills_now(self) -> int | None:
        return procfs.oom_kills(os.getpid())

    def _is_alive(self) -> bool:
        record = self._spool.record
        if record.pid is None or record.start_ticks is None:
            return False
        return procfs.is_alive(record.pid, record.start_ticks, record.boot)

    async def log(self) -> BoundedLog:
        """Return what it has written so far."""
        has_ended = await self.state() is not None
        found = await asyncio.to_thread(self._spool.log.read)
        self._keeping.log_was_read(after_end=has_ended)
        return found

    async def stop(self, deadline_s: float) -> Stopped:
        """Send TERM to all that belongs to it, and KILL to what is left after `deadline_s` seconds.

        Raises:
            NotKept: its log was not read.
        """
        self._keeping.require_read(self.name)
        had_ended = await self.state()
        if had_ended is not None and not self._members():
            return Stopped("exited_before", had_ended)
        how = await self._end_all(deadline_s)
        ended = await self.state() or NOBODY_KNOWS
        # What was left of it when it had ended already does not make its end ours.
        return Stopped("exited_before" if had_ended else how, ended)

    async def give_up(self, deadline_s: float) -> str:
        """Send TERM to all that belongs to it, and KILL to what is left; nothing of it is kept."""
        if await self.state() is None or self._members():
            await self._end_all(deadline_s)
        return "the engine was stopped"

    async def _end_all(self, deadline_s: float) -> Literal["asked", "killed"]:
        if await self._end(signal.SIGTERM, deadline_s):
            return "asked"
        await self._end(signal.SIGKILL, _KILL_S)
        return "killed"

    async def _end(self, number: signal.Signals, deadline_s: float) -> bool:
        """Send a signal to every member and say whether all have ended in time."""
        for member in self._members():
            try:
                os.kill(member, number)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + deadline_s
        while await self.state() is None or self._members():
            if time.monotonic() >= deadline:
                return False
            await asyncio.sleep(_PAUSE_S)
        return True

    def _members(self) -> set[int]:
        """Return the ids of all that lives of it: its process group, and whoever carries its name."""
        found = {process.pid for process in procfs.with_variable(MARK, self.name)}
        record = self._spool.record
        leader = procfs.process(record.pid) if record.pid else None
        is_another = leader is not None and leader.start_ticks != record.start_ticks
        # While a group has members the kernel gives its number to nobody else.
        if record.pid and record.boot == procfs.boot_id() and not is_another:
            found |= {process.pid for process in procfs.group_members(record.pid)}
        return found - {os.getpid()}

    async def remove(self) -> bool:
        """Delete the spool, once the process has ended.

        Raises:
            NotKept: its log was not read since it ended.
        """
        self._keeping.require_read_after_end(self.name)
        if self._members():
            return False
        await self._stop_counting()
        self._spool.remove()
        return True

    async def aclose(self) -> None:
        """Stop watching; the process and its spool stay."""
        await self._stop_counting()
        self._spool.close()
        if self._child is not None and self._child.returncode is None:
            self._child.returncode = 0  # silences "subprocess is still running": that is what is wanted

    async def _count(self) -> None:
        """Keep the log's file small while it grows."""
        while True:
            await asyncio.to_thread(self._spool.log.count)
            await asyncio.sleep(_COUNT_EVERY_S)

    async def _stop_counting(self) -> None:
        self._counting.cancel()
        await asyncio.gather(self._counting, return_exceptions=True)


def inspect_process(pid: int, secrets: Secrets) -> bytes | None:
    """Return what the kernel says of a process as JSON, without what must not leave."""
    found = procfs.process(pid)
    if found is None:
        return None
    facts: dict[str, Any] = {
        "pid": pid,
        "name": found.name,
        "state": found.state,
        "start_ticks": found.start_ticks,
        "argv": procfs.argv(pid),
        "env": procfs.environment(pid),
    }
    return orjson.dumps(clean_document(facts, secrets)[0], option=orjson.OPT_INDENT_2)
