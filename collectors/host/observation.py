"""One look at the host, as an event and as the bytes of what was read."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from anvil.collectors.cleaning import fitting
from anvil.collectors.host.nvidia import read_driver
from anvil.collectors.host.system import public_version, read_system
from anvil.ledger.events import HostObserved
from anvil.ledger.events.surroundings import Absence

_MAX_TEXT = 200


@dataclass(frozen=True)
class ContainerEngineSeen:
    """The container engine: its version as it says it, or why there is none to say."""

    version: str | None = None
    reason: str = "not-asked"


NOT_ASKED = ContainerEngineSeen()


@dataclass(frozen=True)
class HostSeen:
    """What was seen: the event, and what was read as JSON."""

    event: HostObserved
    raw: dict[str, Any]

    def content(self) -> bytes:
        """Return what was read as bytes to keep."""
        return json.dumps({"schema": "anvil.host/1", **self.raw}, ensure_ascii=True, indent=1).encode()


def observe_host(
    moment: Literal["before", "after"],
    *,
    placed: Collection[str] = (),
    engine: ContainerEngineSeen = NOT_ASKED,
    nvml: Any = None,
    proc: Path = Path("/proc"),
) -> HostSeen:
    """Return what the host is now. `placed` are the UUIDs of the GPUs that the attempt gets."""
    system, driver = read_system(proc), read_driver(placed, nvml, proc)
    container = public_version(engine.version) if engine.version else None
    absent = {**system.absent, **driver.absent}
    if container is None:
        absent["container_engine"] = engine.reason if engine.version is None else "no-version"
    names = [*system.names, *driver.names]
    if engine.version and container != engine.version:
        names.append(["container-engine", engine.version])
    event = HostObserved(
        moment=moment,
        cpu_product=system.cpu_product,
        cpu_cores=system.cpu_cores,
        memory_bytes=system.memory_bytes,
        available_memory_bytes=system.available_memory_bytes,
        kernel=system.kernel,
        driver=driver.driver,
        cuda=driver.cuda,
        container_engine=container,
        is_wsl=system.is_wsl,
        gpus=tuple(driver.gpus),
        absent=tuple(Absence(field=name, reason=reason) for name, reason in absent.items()),
        names=fitting(names, longest=_MAX_TEXT),
    )
    return HostSeen(event, {"system": system.raw, "nvidia": driver.raw, "container_engine": engine.version})
