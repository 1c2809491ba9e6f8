"""The host, looked at before an attempt is launched and after it was stopped.

1. Before, the container engine is asked too, for a moment. After, it is not: an interrupt waits for nothing.
2. The look afterwards is recorded however the attempt went; where that fails too, the attempt's own error is told.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from anvil.collectors.cleaning import clean_event
from anvil.collectors.host.observation import ContainerEngineSeen, HostSeen, observe_host
from anvil.collectors.interface import Recorder
from anvil.collectors.launchers.containers import ContainerEngine
from anvil.collectors.running.planning import Planned
from anvil.collectors.withholding import clean_text
from anvil.ledger.drafts import Attachment
from anvil.ledger.errors import AnvilError, CollectorError

_DEADLINE_S = 5.0
_DEFAULT_SOCKET = Path("/var/run/docker.sock")
_AFTER = ContainerEngineSeen(reason="asked-before-only")


@dataclass(frozen=True)
class HostStep:
    """An async context manager around an attempt."""

    recorder: Recorder
    planned: Planned

    async def __aenter__(self) -> Self:
        engine = await container_engine(self.planned.site.docker.base_url)
        gpus = self.planned.plan.gpus
        self._record(await asyncio.to_thread(observe_host, "before", placed=gpus, engine=engine))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(*(() if kind is None else (AnvilError,))):
            self._record(observe_host("after", placed=self.planned.plan.gpus, engine=_AFTER))

    def _record(self, seen: HostSeen) -> None:
        content = clean_text(seen.content().decode(), self.planned.secrets).encode()
        attachment = Attachment("host", "application/json", self.recorder.keep(content, name="host"))
        event = clean_event(seen.event, self.planned.secrets)
        self.recorder.append(event, subject=self.planned.subject, attachments=(attachment,))


async def container_engine(base_url: str | None) -> ContainerEngineSeen:
    """Return the version of the container engine that the site names, or else the default one's."""
    if not (base_url or os.environ.get("DOCKER_HOST") or _DEFAULT_SOCKET.exists()):
        return ContainerEngineSeen(reason="no-container-engine")
    engine = ContainerEngine(base_url, deadline_s=_DEADLINE_S)
    try:
        return ContainerEngineSeen(await engine.version())
    except CollectorError:
        return ContainerEngineSeen(reason="container-engine-unreachable")
    finally:
        engine.close()
