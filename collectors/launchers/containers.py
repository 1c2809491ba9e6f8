"""Containers, as the Docker SDK lets them be seen and changed: the one place that imports it.

1. The SDK blocks. Every call runs in a thread of this engine's own, under a deadline, and what it
   raises becomes one of two errors here.
2. Which engine: `base_url`, else the environment's ``DOCKER_HOST`` and its companions, else the
   SDK's default.
3. What the engine answers is its own JSON, untyped; whoever keeps it cleans it first.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import docker  # type: ignore[import-untyped]
from docker.errors import APIError, DockerException, NotFound  # type: ignore[import-untyped]
from docker.types import DeviceRequest, LogConfig, Mount, Ulimit  # type: ignore[import-untyped]
from requests.exceptions import RequestException

from anvil.collectors.launchers.interface import LOOPBACK, MARK, ContainerPlan, LaunchPlan
from anvil.collectors.withholding import clean_url
from anvil.ledger.errors import CollectorError

T = TypeVar("T")

_STOP_MARGIN_S = 30


class EngineUnreachable(CollectorError):
    """The container engine does not answer."""


class EngineRefused(CollectorError):
    """The container engine answered that it would not."""


class NoSuchObject(EngineRefused):
    """The container engine knows no such container or image."""


class ContainerEngine:
    """A container engine, spoken to from one event loop."""

    def __init__(self, base_url: str | None = None, *, deadline_s: float = 30.0) -> None:
        self._base_url = base_url
        self._deadline_s = deadline_s
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="anvil-docker")
        self._client: Any = None

    def connect(self) -> Any:
        """Return a new client; blocking. Its owner closes it.

        Raises:
            DockerException, RequestException, OSError: nothing listens there.
        """
        named = self._base_url or os.environ.get("DOCKER_HOST") or ""
        if named.startswith("unix://"):
            Path(named.removeprefix("unix://")).stat()  # the SDK leaks a socket when there is nothing
        if self._base_url:
            return docker.DockerClient(base_url=self._base_url, timeout=int(self._deadline_s))
        return docker.from_env(timeout=int(self._deadline_s))

    def close(self) -> None:
        """Close the connection and let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._client is not None:
            self._client.close()

    async def version(self) -> str:
        """Return the engine's version as it says it; raises like `inspect`."""
        return str((await self._ask(lambda client: client.api.version()))["Version"])

    async def inspect(self, container: str) -> dict[str, Any]:
        """Return what the engine says of a container.

        Raises:
            NoSuchObject: there is none.
            EngineUnreachable: no answer in time.
            EngineRefused: another answer than expected.
        """
        found: dict[str, Any] = await self._ask(lambda client: client.api.inspect_container(container))
        return found

    async def inspect_image(self, image: str) -> dict[str, Any]:
        """Return what the engine says of an image; raises like `inspect`."""
        found: dict[str, Any] = await self._ask(lambda client: client.api.inspect_image(image))
        return found

    async def containers(self, *, labels: Mapping[str, str] | None = None, also_ended: bool) -> list[str]:
        """Return the ids of the containers with these labels; raises like `inspect`."""
        filters = {"label": [f"{name}={value}" for name, value in (labels or {}).items()]}
        rows = await self._ask(lambda client: client.api.containers(all=also_ended, filters=filters))
        return [row["Id"] for row in rows]

    async def create(self, plan: LaunchPlan, container: ContainerPlan, name: str) -> str:
        """Create a container that does not run yet, and return its id; raises like `inspect`."""
        made = await self._ask(lambda client: client.containers.create(**_creation(plan, container, name)))
        return str(made.id)

    async def start(self, container: str) -> None:
        """Start a container; raises like `inspect`."""
        await self._ask(lambda client: client.api.start(container))

    async def stop(self, container: str, deadline_s: float) -> None:
        """Send TERM, and KILL after `deadline_s` seconds; raises like `inspect`."""
        await self._ask(
            lambda client: client.api.stop(container, timeout=max(1, round(deadline_s))),
            deadline_s=deadline_s + _STOP_MARGIN_S,
        )

    async def remove(self, container: str) -> None:
        """Remove a container that has ended, and its anonymous volumes; raises like `inspect`."""
        await self._ask(lambda client: client.api.remove_container(container, v=True))

    async def _ask(self, question: Callable[[Any], T], *, deadline_s: float | None = None) -> T:
        limit = deadline_s or self._deadline_s
        asked = asyncio.get_running_loop().run_in_executor(
            self._threads, partial(self._blocking, question, limit)
        )
        try:
            return await asyncio.wait_for(asked, limit + 5)
        except TimeoutError as error:
            raise EngineUnreachable(f"{self._where()} gave no answer in {limit:.0f} s") from error

    def _blocking(self, question: Callable[[Any], T], limit: float) -> T:
        try:
            if self._client is None:
                self._client = self.connect()
            self._client.api.timeout = limit
            return question(self._client)
        except NotFound as error:
            raise NoSuchObject(_explained(error)) from error
        except APIError as error:
            raise EngineRefused(_explained(error)) from error
        except (DockerException, RequestException, OSError) as error:
            advice = "Start it, or name another in DOCKER_HOST or the site's `docker.base_url`."
            raise EngineUnreachable(f"{self._where()} cannot be reached: {error}", advice=advice) from error

    def _where(self) -> str:
        named = self._base_url or os.environ.get("DOCKER_HOST") or "its default socket"
        return f"the container engine at {clean_url(named)}"


def _explained(error: APIError) -> str:
    return f"the container engine refused: {error.explanation or error}"


def _creation(plan: LaunchPlan, container: ContainerPlan, name: str) -> dict[str, Any]:
    """Return what the SDK wants to be told. Nothing here removes or restarts a container."""
    options: dict[str, Any] = {
        "image": container.image,
        "command": list(plan.argv),
        "name": name,
        "environment": {**plan.env, MARK: name},
        "labels": {**plan.provenance.labels(), "anvil.launch": name},
        "ports": {f"{container.port}/tcp": (LOOPBACK, plan.port)},
        "mounts": [Mount(inside, outside, type="bind") for outside, inside in container.mounts.items()],
        "ulimits": [Ulimit(name=limit, soft=n, hard=n) for limit, n in container.ulimits.items()],
        "log_config": LogConfig(
            type=LogConfig.types.JSON,
            config={"max-size": str(container.log_bytes // 2), "max-file": "2"},
        ),
        "auto_remove": False,
        "detach": True,
    }
    if container.entrypoint is not None:
        options["entrypoint"] = list(container.entrypoint)
    if plan.gpus:
        options["device_requests"] = [DeviceRequest(device_ids=list(plan.gpus), capabilities=[["gpu"]])]
    chosen = {
        "shm_size": container.shm_size,
        "ipc_mode": container.ipc,
        "cpuset_cpus": plan.cpus,
        "network": container.network,
        "mem_limit": container.memory_bytes,
        "memswap_limit": container.memory_bytes,
    }
    return options | {option: value for option, value in chosen.items() if value is not None}


def log_messages(client: Any, container: str, *, since: int | None, has_terminal: bool) -> Any:
    """Return an iterator over a container's log, message by message, to its end; it can be closed.

    With a terminal the log is one run of bytes without borders, and has no times.
    """
    return client.api.logs(
        container,
        stdout=True,
        stderr=True,
        stream=True,
        follow=True,
        timestamps=not has_terminal,
        since=since,
    )


def stream_errors() -> tuple[type[Exception], ...]:
    """Return what following a log can raise."""
    return (DockerException, RequestException, OSError, ValueError)
