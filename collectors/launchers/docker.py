"""The launcher `docker`: a container made from an image that cannot move.

1. The image is named by repository digest or by image id, and must be there: nothing is pulled, and a
   tag is refused, since it can name another image tomorrow.
2. A container is published on the loopback address alone, is never restarted nor removed by the
   engine, and carries the ledger, stream, attempt and launch in its labels.
3. Its log is followed into the spool from the first message on. How it ended, and what the engine
   says of it at any moment, is read from the engine.
4. A container that the engine could not start is one that ended: it is kept and removed like others.
5. Orphans are found by their labels, whichever run of the same ledger left them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import orjson

from anvil.collectors.launchers import procfs
from anvil.collectors.launchers.containers import (
    ContainerEngine,
    EngineRefused,
    NoSuchObject,
)
from anvil.collectors.launchers.following import Follower
from anvil.collectors.launchers.gpus import gpu_holder, gpu_numbers
from anvil.collectors.launchers.interface import (
    LOOPBACK,
    NOBODY_KNOWS,
    ContainerPlan,
    Exit,
    Keeping,
    LauncherName,
    LaunchFailed,
    LaunchPlan,
    Provenance,
    Stopped,
    started_event,
)
from anvil.collectors.launchers.logs import BoundedLog
from anvil.collectors.launchers.spools import Spool, abandoned, taken
from anvil.collectors.withholding import NO_SECRETS, Secrets, clean_inspect, clean_text
from anvil.ledger.errors import CollectorError
from anvil.ledger.events.launches import LaunchStarted

_PINNED = re.compile(r"(?:[a-z0-9][a-z0-9._:/-]*@)?sha256:[0-9a-f]{64}")
_RUNNING = frozenset({"running", "paused", "restarting", "removing"})
_LOG_SETTLES_S = 60.0


class DockerLauncher:
    """Starts containers; `spools` is a private folder that outlives this process."""

    name: LauncherName = "docker"

    def __init__(self, spools: Path, *, base_url: str | None = None, deadline_s: float = 30.0) -> None:
        self._spools = spools
        self._engine = ContainerEngine(base_url, deadline_s=deadline_s)

    def close(self) -> None:
        """Close the connection to the container engine."""
        self._engine.close()

    async def occupied(self, plan: LaunchPlan) -> str | None:
        """Say by what the port or a GPU is taken: a container, another launch, or any process."""
        numbers = await gpu_numbers() if plan.gpus else {}
        for container in await self._engine.containers(also_ended=False):
            try:
                found = await self._engine.inspect(container)
            except NoSuchObject:
                continue  # it went in between
            if why := _taken_by(found, plan, numbers):
                return why
        if holder := procfs.port_holder(plan.port):
            return f"port {plan.port} is held by {holder}"
        return taken(self._spools, plan) or await gpu_holder(plan.gpus)

    async def start(self, plan: LaunchPlan) -> DockerRunning:
        """Create and start the container.

        Raises:
            LaunchFailed: the image is absent or not pinned, or the engine made no container of it.
            EngineUnreachable: there is no container engine.
        """
        container = plan.container
        if container is None:
            raise LaunchFailed("no image was named")
        image = await self._image(container)
        event = started_event(
            "docker", plan, identity=None, image=_reference(image, container.image), image_id=image["Id"]
        )
        spool = Spool.create(self._spools, "docker", plan, event.model_dump(mode="json"))
        try:
            identity = await self._engine.create(plan, container, spool.record.name)
        except EngineRefused as error:
            spool.remove()
            raise LaunchFailed(clean_text(str(error), plan.secrets)) from error
        spool.identified(container=identity)
        await self._require_gpus(plan, identity, spool)
        refusal = ""
        plan.let_go()
        try:
            await self._engine.start(identity)
        except EngineRefused as error:
            refusal = clean_text(str(error), plan.secrets)
        return DockerRunning(self._engine, spool, plan.secrets, refusal=refusal)

    async def _require_gpus(self, plan: LaunchPlan, container: str, spool: Spool) -> None:
        """Look whether the engine took the GPUs that it was asked for: podman 4 leaves them out without a word."""
        if not plan.gpus:
            return
        requests = (await self._engine.inspect(container))["HostConfig"].get("DeviceRequests") or ()
        given = {gpu for request in requests for gpu in request.get("DeviceIDs") or ()}
        if given >= set(plan.gpus):
            return
        await self._engine.remove(container)
        spool.remove()
        raise LaunchFailed(
            f"the container engine made a container with {len(given)} of the {len(plan.gpus)} GPUs asked for",
            advice="Use Docker, or an engine whose Docker interface knows GPU requests.",
        )

    async def _image(self, container: ContainerPlan) -> dict[str, Any]:
        if not _PINNED.fullmatch(container.image):
            raise LaunchFailed(
                f"the image {container.image!r} can name another image tomorrow",
                advice="Name it by repository digest, `name@sha256:…`, or by image id, `sha256:…`.",
            )
        try:
            return await self._engine.inspect_image(container.image)
        except NoSuchObject as error:
            raise LaunchFailed(
                f"the image {container.image} is not on this host",
                advice=f"docker pull {container.image}",
                problem="not_found",
            ) from error

    async def orphans(self, ledger: str, secrets: Secrets = NO_SECRETS) -> Sequence[DockerRunning]:
        """Take over the containers of `ledger` whose runs are gone, those that have ended too."""
        spools = {spool.record.name: spool for spool in abandoned(self._spools, "docker", ledger)}
        found = []
        for container in await self._engine.containers(labels={"anvil.ledger": ledger}, also_ended=True):
            inspected = await self._engine.inspect(container)
            labels = inspected["Config"]["Labels"]
            spool = spools.pop(labels["anvil.launch"], None)
            if spool is None and (self._spools / labels["anvil.launch"]).exists():
                continue  # whoever launched it lives
            spool = spool or self._spool_for(inspected, secrets)
            if spool.record.container is None:
                spool.identified(container=container)
            found.append(DockerRunning(self._engine, spool, secrets))
        for spool in spools.values():
            if spool.record.container is None:
                spool.remove()  # the run went before there was a container
            else:
                found.append(DockerRunning(self._engine, spool, secrets))
        return found

    def _spool_for(self, inspected: Mapping[str, Any], secrets: Secrets) -> Spool:
        """Make a spool for a container whose own is gone; what was launched is read from the container."""
        labels = inspected["Config"]["Labels"]
        provenance = Provenance(labels["anvil.ledger"], labels["anvil.stream"], labels["anvil.attempt"])
        plan = plan_of(inspected, provenance, secrets)
        event = started_event("docker", plan, identity=None, image_id=inspected["Image"])
        name = labels["anvil.launch"]
        return Spool.create(self._spools, "docker", plan, event.model_dump(mode="json"), name=name)


def plan_of(inspected: Mapping[str, Any], provenance: Provenance, secrets: Secrets) -> LaunchPlan:
    """Return what can be read of a container's launch from the container itself."""
    config, host = inspected["Config"], inspected["HostConfig"]
    published = [int(item["HostPort"]) for item in _published(inspected)]
    gpus = [gpu for request in host.get("DeviceRequests") or () for gpu in request.get("DeviceIDs") or ()]
    pairs = (line.partition("=") for line in config.get("Env") or ())
    return LaunchPlan(
        provenance=provenance,
        port=min(published, default=0),
        argv=(inspected["Path"], *inspected["Args"]),
        env={name: value for name, _, value in pairs},
        secrets=secrets,
        gpus=tuple(gpus),
    )


def _published(inspected: Mapping[str, Any]) -> list[Mapping[str, str]]:
    bindings = inspected["HostConfig"].get("PortBindings") or {}
    return [item for group in bindings.values() for item in group or () if item.get("HostPort")]


def _taken_by(inspected: Mapping[str, Any], plan: LaunchPlan, numbers: Mapping[str, str]) -> str | None:
    """Say whether a running container has the plan's port or one of its GPUs."""
    who = f"container {inspected['Name'].lstrip('/')} ({inspected['Id'][:12]})"
    if any(item["HostPort"] == str(plan.port) for item in _published(inspected)):
        return f"port {plan.port} is published by {who}"
    for request in inspected["HostConfig"].get("DeviceRequests") or ():
        if not any("gpu" in group for group in request.get("Capabilities") or ()):
            continue
        named = {numbers.get(gpu, gpu) for gpu in request.get("DeviceIDs") or ()}
        shared = set(plan.gpus) & named if named else set(plan.gpus)
        if shared:
            return f"GPU {min(shared)} was given to {who}"
    return None


def _reference(image: Mapping[str, Any], wanted: str) -> str | None:
    """Return the repository digest that was asked for, or the only one that the image has."""
    names = image.get("RepoDigests") or []
    if "@" in wanted:
        return wanted
    return names[0] if len(names) == 1 else None


def exit_of(inspected: Mapping[str, Any], secrets: Secrets) -> Exit | None:
    """Return how a container ended, by what the engine says; null while it runs.

    One that was made and does not run was refused, or its run went before it was started.
    """
    state = inspected["State"]
    if state["Status"] in _RUNNING:
        return None
    never_ran = state["Status"] == "created" and not state.get("ExitCode")
    return Exit(
        code=None if never_ran else state.get("ExitCode"),
        oom_killed=state.get("OOMKilled"),
        health=(state.get("Health") or {}).get("Status") or None,
        message=clean_text(state.get("Error") or "", secrets),
    )


class DockerRunning:
    """A container that was started by us, or by a run that is gone."""

    is_ours = True

    def __init__(self, engine: ContainerEngine, spool: Spool, secrets: Secrets, *, refusal: str = "") -> None:
        record = spool.record
        self.name = record.name
        self.identity = record.container or ""
        self.provenance = record.provenance
        self.base_url = f"http://{LOOPBACK}:{record.port}"
        self._engine = engine
        self._spool = spool
        self._secrets = secrets
        self._refusal = refusal
        self._keeping = Keeping()
        self._exit: Exit | None = None
        self._follower = Follower(engine.connect, self.identity, spool.log)
        self._follower.start()

    def started(self) -> LaunchStarted:
        """Return the event that says how it was launched."""
        return LaunchStarted.model_validate({**self._spool.record.started, "identity": self.identity})

    async def inspect(self) -> bytes | None:
        """Return what the engine says of it as JSON; null when it is gone."""
        return await inspect_container(self._engine, self.identity, self._secrets)

    async def state(self) -> Exit | None:
        """Return null while it runs, else how it ended."""
        if self._exit is None:
            try:
                inspected = await self._engine.inspect(self.identity)
            except NoSuchObject:
                self._exit = NOBODY_KNOWS  # somebody else removed it
            else:
                self._exit = exit_of(inspected, self._secrets)
            if self._refusal and (self._exit is None or not self._exit.message):
                self._exit = replace(self._exit or Exit(), message=self._refusal)  # podman keeps no reason
        return self._exit

    async def log(self) -> BoundedLog:
        """Return what it has written so far; all of it once it has ended."""
        has_ended = await self.state() is not None
        found = await settled_log(self._follower, self._spool, has_ended=has_ended)
        self._keeping.log_was_read(after_end=has_ended)
        return found

    async def stop(self, deadline_s: float) -> Stopped:
        """Send TERM, and KILL after `deadline_s` seconds.

        Raises:
            NotKept: its log was not read.
        """
        self._keeping.require_read(self.name)
        ended = await self.state()
        if ended is not None:
            return Stopped("exited_before", ended)
        began = asyncio.get_running_loop().time()
        await self._engine.stop(self.identity, deadline_s)
        took = asyncio.get_running_loop().time() - began
        how: Literal["asked", "killed"] = "killed" if took >= max(1.0, round(deadline_s)) else "asked"
        return Stopped(how, await self.state() or NOBODY_KNOWS)

    async def give_up(self, deadline_s: float) -> str:
        """Stop the container and leave it there: its log is still in it."""
        await self._engine.stop(self.identity, deadline_s)
        return f"the container {self.name} was stopped and not removed: `docker logs` has its log"

    async def remove(self) -> bool:
        """Remove the container and the spool.

        Raises:
            NotKept: its log was not read since it ended.
        """
        self._keeping.require_read_after_end(self.name)
        try:
            await self._engine.remove(self.identity)
        except NoSuchObject:
            pass  # somebody else was faster
        except CollectorError:
            return False
        await self.aclose()
        self._spool.remove()
        return True

    async def aclose(self) -> None:
        """Stop watching; the container and the spool stay."""
        await asyncio.to_thread(self._follower.stop)
        self._spool.close()


async def inspect_container(engine: ContainerEngine, container: str, secrets: Secrets) -> bytes | None:
    """Return what the engine says of a container as JSON, without what must not leave; null for none."""
    try:
        inspected = await engine.inspect(container)
    except NoSuchObject:
        return None
    return orjson.dumps(clean_inspect(inspected, secrets)[0], option=orjson.OPT_INDENT_2)


async def settled_log(follower: Follower, spool: Spool, *, has_ended: bool) -> BoundedLog:
    """Return a followed log; when its container has ended, wait until the last of it is here."""
    problem = ""
    if has_ended and not await asyncio.to_thread(follower.is_over.wait, _LOG_SETTLES_S):
        problem = f"the container engine had more to give after {_LOG_SETTLES_S:.0f} s"
    return await asyncio.to_thread(lambda: spool.log.read(problem=problem or follower.problem))
