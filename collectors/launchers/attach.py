"""The launcher `attach`: an endpoint that somebody else runs.

1. It may name a running container or a process of this host. Its inspect output, arguments and log are
   then read, and it is never stopped nor removed.
2. Without one nothing is known of the launch, and the event says so: there is no launch evidence.
3. A process's log is the file that its output goes to, if it is a file. It is read where it lies.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from anvil.collectors.launchers import procfs
from anvil.collectors.launchers.containers import ContainerEngine, NoSuchObject
from anvil.collectors.launchers.docker import exit_of, inspect_container, plan_of, settled_log
from anvil.collectors.launchers.following import Follower
from anvil.collectors.launchers.interface import (
    NOBODY_KNOWS,
    AttachTarget,
    Exit,
    LauncherName,
    LaunchFailed,
    LaunchPlan,
    Stopped,
    started_event,
)
from anvil.collectors.launchers.logs import BoundedLog, LogFile
from anvil.collectors.launchers.process import inspect_process
from anvil.collectors.launchers.spools import Spool
from anvil.collectors.withholding import NO_SECRETS, Secrets
from anvil.ledger.events.launches import LaunchStarted


class AttachLauncher:
    """Attaches to what runs; `spools` is a private folder for the logs of containers."""

    name: LauncherName = "attach"

    def __init__(self, spools: Path, *, base_url: str | None = None, deadline_s: float = 30.0) -> None:
        self._spools = spools
        self._engine = ContainerEngine(base_url, deadline_s=deadline_s)

    def close(self) -> None:
        """Close the connection to the container engine."""
        self._engine.close()

    async def occupied(self, plan: LaunchPlan) -> str | None:  # noqa: ARG002 - part of the interface
        """Return null: what is attached to is where it is."""
        return None

    async def start(self, plan: LaunchPlan) -> AttachedContainer | AttachedProcess | Attached:
        """Find what the plan names.

        Raises:
            LaunchFailed: the container or process that it names does not run.
        """
        target = plan.target
        if target is None:
            raise LaunchFailed("no endpoint was named")
        if target.container is not None:
            return await self._container(plan, target, target.container)
        if target.pid is not None:
            return _process(plan, target, target.pid)
        return Attached(plan, target)

    async def _container(self, plan: LaunchPlan, target: AttachTarget, name: str) -> AttachedContainer:
        try:
            inspected = await self._engine.inspect(name)
        except NoSuchObject as error:
            raise LaunchFailed(f"there is no container {name!r} to attach to", problem="not_found") from error
        if exit_of(inspected, plan.secrets) is not None:
            raise LaunchFailed(f"the container {name!r} does not run", problem="not_found")
        found = plan_of(inspected, plan.provenance, plan.secrets)
        found = replace(found, placement=plan.placement, log_limits=plan.log_limits, target=target)
        found = replace(found, secrets=plan.secrets.joined(Secrets.of(found.env)))
        image = await self._engine.inspect_image(inspected["Image"])
        names = image.get("RepoDigests") or []
        event = started_event(
            "attach", found, identity=inspected["Id"], image_id=image["Id"], image=names[0] if len(names) == 1 else None
        )  # fmt: skip
        spool = Spool.create(self._spools, "attach", found, event.model_dump(mode="json"))
        has_terminal = bool(inspected["Config"].get("Tty"))
        return AttachedContainer(self._engine, found, target, event, spool, has_terminal=has_terminal)

    async def orphans(self, ledger: str, secrets: Secrets = NO_SECRETS) -> Sequence[Attached]:  # noqa: ARG002
        """Return none: what somebody else runs is nobody's orphan."""
        return ()


def _process(plan: LaunchPlan, target: AttachTarget, pid: int) -> AttachedProcess:
    found = procfs.process(pid)
    if found is None:
        raise LaunchFailed(f"there is no process {pid} to attach to", problem="not_found")
    env = procfs.environment(pid) or {}
    secrets = plan.secrets.joined(Secrets.of(env))
    seen = replace(plan, argv=tuple(procfs.argv(pid) or ()), env=env, secrets=secrets)
    return AttachedProcess(seen, target, found)


class Attached:
    """An endpoint of which only the address is known."""

    is_ours = False

    def __init__(
        self,
        plan: LaunchPlan,
        target: AttachTarget,
        *,
        identity: str = "",
        event: LaunchStarted | None = None,
    ) -> None:
        self.name = plan.provenance.launch_name()
        self.identity = identity
        self.provenance = plan.provenance
        self.base_url = target.base_url
        self._secrets = plan.secrets
        self._event = event or started_event("attach", plan, identity=None, has_launch_evidence=False)

    def started(self) -> LaunchStarted:
        """Return the event that says what is known of its launch."""
        return self._event

    async def inspect(self) -> bytes | None:
        """Return null: there is nothing to look at."""
        return None

    async def state(self) -> Exit | None:
        """Return null: only its answers tell whether it runs."""
        return None

    async def log(self) -> BoundedLog:
        """Return an empty log that says why."""
        return BoundedLog(problem="the endpoint names no container and no process")

    async def stop(self, deadline_s: float) -> Stopped:  # noqa: ARG002 - part of the interface
        """Leave it running."""
        return Stopped("left_running", await self.state() or NOBODY_KNOWS)

    async def give_up(self, deadline_s: float) -> str:  # noqa: ARG002 - part of the interface
        """Leave it running."""
        return "the engine, which is not ours, was left running"

    async def remove(self) -> bool:
        """Remove nothing of it."""
        await self.aclose()
        return False

    async def aclose(self) -> None:
        """Stop watching."""


class AttachedContainer(Attached):
    """Somebody else's container."""

    def __init__(
        self,
        engine: ContainerEngine,
        plan: LaunchPlan,
        target: AttachTarget,
        event: LaunchStarted,
        spool: Spool,
        *,
        has_terminal: bool,
    ) -> None:
        identity = str(event.identity)
        super().__init__(plan, target, identity=identity, event=event)
        self._engine = engine
        self._spool = spool
        self._follower = Follower(engine.connect, identity, spool.log, has_terminal=has_terminal)
        self._follower.start()

    async def inspect(self) -> bytes | None:
        """Return what the engine says of it as JSON; null when it is gone."""
        return await inspect_container(self._engine, self.identity, self._secrets)

    async def state(self) -> Exit | None:
        """Return null while it runs, else how it ended."""
        try:
            return exit_of(await self._engine.inspect(self.identity), self._secrets)
        except NoSuchObject:
            return NOBODY_KNOWS

    async def log(self) -> BoundedLog:
        """Return what it has written so far."""
        has_ended = await self.state() is not None
        return await settled_log(self._follower, self._spool, has_ended=has_ended)

    async def aclose(self) -> None:
        """Stop watching, and delete our copy of its log; the container stays."""
        await asyncio.to_thread(self._follower.stop)
        self._spool.remove()


class AttachedProcess(Attached):
    """Somebody else's process on this host."""

    def __init__(self, plan: LaunchPlan, target: AttachTarget, process: procfs.Process) -> None:
        event = started_event("attach", plan, identity=process.identity)
        super().__init__(plan, target, identity=process.identity, event=event)
        self._process = process
        self._boot = procfs.boot_id()
        path = procfs.output_file(process.pid)
        self._log = LogFile(path, plan.log_limits, is_ours=False) if path else None

    async def inspect(self) -> bytes | None:
        """Return the kernel's view of it as JSON; null when it is gone."""
        return inspect_process(self._process.pid, self._secrets) if await self.state() is None else None

    async def state(self) -> Exit | None:
        """Return null while it runs; how it ended only its parent knows."""
        is_alive = procfs.is_alive(self._process.pid, self._process.start_ticks, self._boot)
        return None if is_alive else NOBODY_KNOWS

    async def log(self) -> BoundedLog:
        """Return what it has written so far, when that goes to a file."""
        if self._log is None:
            return BoundedLog(problem="the process does not write to a file")
        if not os.access(self._log.path, os.R_OK):
            return BoundedLog(problem="the process's log may not be read")
        return await asyncio.to_thread(self._log.read)
