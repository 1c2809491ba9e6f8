"""The load client's process, from the side of who wants a load: begun, followed, stopped in order, waited for."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from anvil.collectors.interface import Deadlines, Endpoint
from anvil.collectors.load.loop import Progress
from anvil.collectors.load.requests import PlannedRequest
from anvil.collectors.load.spool import Spool
from anvil.ledger.errors import CollectorError

WORKER = (sys.executable, "-P", "-m", "anvil.collectors.load.worker")
"""How it is started."""

_LONGEST_LINE = 1 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class Load:
    """What is to be sent, to whom, and where what comes is written down.

    With a `schedule` each request is sent at its moment (`anvil.collectors.load.open_loop`); without one, when
    one of `concurrency` streams is free for it.
    """

    endpoint: Endpoint
    requests: Sequence[PlannedRequest]
    concurrency: int
    deadlines: Deadlines
    spool: Spool
    schedule: Sequence[int] | None = None

    def job(self) -> dict[str, Any]:
        """Return what the process is told."""
        at = self.endpoint
        return {
            "spool": str(self.spool.directory.resolve()),
            "endpoint": {
                "base_url": at.base_url,
                "served_model": at.served_model,
                "headers": dict(at.headers),
                "ca_file": None if at.ca_file is None else str(at.ca_file.resolve()),
                "concurrency": self.concurrency,
                "deadlines": asdict(self.deadlines),
            },
            "schedule": None if self.schedule is None else list(self.schedule),
            "requests": [[item.index, item.cap_tokens, item.body.decode()] for item in self.requests],
        }


class LoadProcess:
    """One job. `run` returns when the process is gone; `stop` makes it end early, keeping what came."""

    def __init__(self, job: dict[str, Any], told: Callable[[Progress], None] | None = None) -> None:
        self._job = job
        self._told = told
        self._process: Process | None = None
        self._is_stopped = False

    async def run(self) -> dict[str, Any]:
        """Do the job and return its last line.

        Raises:
            CollectorError: the process could not be begun or did not do it; what came until then is on disk.
        """
        # A session of its own: what a terminal signals is for the run, which then ends this in order.
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *WORKER, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True, limit=_LONGEST_LINE
            )
        except OSError as error:
            raise CollectorError(f"the load client could not be begun: {error.strerror}") from error
        said = asyncio.ensure_future(_there(process.stderr).read())
        try:
            return await self._followed(process, said)
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        finally:
            await asyncio.wait({said})

    async def _followed(self, process: Process, said: asyncio.Future[bytes]) -> dict[str, Any]:
        stdin, stdout = _there(process.stdin), _there(process.stdout)
        last: dict[str, Any] = {}
        with suppress(ConnectionError):
            stdin.write(json.dumps(self._job).encode() + b"\n")
            await stdin.drain()
        if self._is_stopped:
            stdin.close()
        async for raw in stdout:
            last = json.loads(raw)
            if self._told is not None and "progress" in last:
                self._told(Progress(**last["progress"]))
        code = await process.wait()
        if "error" in last:
            raise CollectorError(f"the load client could not do it: {last['error']}")
        if code or "progress" in last or not last:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            words = (await said).decode(errors="replace").strip().rpartition("\n")[2]
            raise CollectorError(": ".join(filter(None, (f"the load client ended by itself ({how})", words))))
        return last

    def stop(self) -> None:
        """Ask it to end: what is under way is kept as it is."""
        self._is_stopped = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


def _there(pipe: T | None) -> T:
    if pipe is None:
        raise CollectorError("the load client's process has no pipes")
    return pipe
