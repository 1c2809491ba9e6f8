"""`anvil` in a process that kills itself, with SIGKILL, before or after the n-th of many small steps.

A step is a call of one of `STEPS`; each call counts twice, before and after. `run` starts a process
forked from a server that has everything imported, so that a hundred kills take no minute.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STEPS = (
    "anvil.collectors.client:Client.exchange",
    "anvil.collectors.journal:Journal.create",
    "anvil.collectors.journal:Journal.write",
    "anvil.collectors.journal:Journal.finish",
    "anvil.ledger.blobs:BlobStore.hold",
    "anvil.ledger.streams:Stream.append",
    "anvil.ledger.store:Store.insert_entries",
    "anvil.collectors.launchers.spools:Spool.create",
    "anvil.collectors.launchers.spools:Spool.identified",
    "anvil.collectors.launchers.spools:Spool.remove",
    "anvil.collectors.launchers.process:ProcessLauncher.start",
    "anvil.collectors.launchers.process:ProcessRunning.inspect",
    "anvil.collectors.launchers.process:ProcessRunning.log",
    "anvil.collectors.launchers.process:ProcessRunning.stop",
    "anvil.collectors.launchers.process:ProcessRunning.remove",
    "anvil.collectors.launchers.process:ProcessRunning.aclose",
)
_KEPT = ("/v1/", "/version", "/props", "/get_server_info")


@dataclass(frozen=True)
class Trace:
    """The steps that a process took until it ended, and the digests of bodies that had arrived."""

    exit_code: int | None
    steps: list[str]
    arrived: list[str]


def run(directory: Path, arguments: Sequence[object], at: int = 0, watched: Sequence[str] = STEPS) -> Trace:
    """Run `anvil` in `directory` and kill it at step `at`, from 1; 0 lets it end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [__name__, "anvil.collectors.commands.run", "anvil.projections.commands.release"]
    )
    trace = directory / "trace"
    trace.unlink(missing_ok=True)
    told = [str(argument) for argument in arguments]
    child = context.Process(target=_anvil, args=(directory, dict(os.environ), told, at, trace, watched))
    child.start()
    child.join(60)
    lines = trace.read_text().splitlines() if trace.exists() else []
    code = child.exitcode
    child.close()
    steps = [line for line in lines if not line.startswith("arrived ")]
    arrived = [line.partition(" ")[2] for line in lines if line.startswith("arrived ")]
    return Trace(code, steps, arrived)


def _anvil(
    directory: Path,
    environ: Mapping[str, str],
    arguments: list[str],
    at: int,
    trace: Path,
    watched: Sequence[str],
) -> None:
    from anvil.collectors import health
    from anvil.collectors.running import measuring
    from anvil.ledger.cli import main

    os.environ.clear()
    os.environ.update(environ)
    os.chdir(directory)
    output = os.open(directory / "output", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    health._PAUSE_S = 0.02  # type: ignore[attr-defined]
    measuring.CALIBRATION_S = 0
    watcher = _Watcher(at, os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    for step in watched:
        watcher.watch(step)
    main(arguments)


class _Watcher:
    def __init__(self, at: int, trace: int) -> None:
        self.at = at
        self.count = 0
        self.trace = trace

    def watch(self, step: str) -> None:
        module, _, path = step.partition(":")
        owner_name, _, name = path.rpartition(".")
        owner = __import__(module, fromlist=[owner_name])
        if owner_name:
            owner = getattr(owner, owner_name)
        found = inspect.getattr_static(owner, name)
        if isinstance(found, classmethod):
            setattr(owner, name, classmethod(self._around(path, found.__func__)))
        else:
            setattr(owner, name, self._around(path, found))

    def _around(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def later(*args: Any, **kwargs: Any) -> Any:
                if label == "Client.exchange" and not args[2].startswith(_KEPT):
                    return await function(*args, **kwargs)  # how often health is asked for, nobody knows
                self.step(f"before {label}")
                result = await function(*args, **kwargs)
                if label == "Client.exchange" and result.status is not None:
                    self.note(f"arrived sha256:{hashlib.sha256(result.body).hexdigest()}")
                self.step(f"after {label}")
                return result

            return later

        @functools.wraps(function)
        def at_once(*args: Any, **kwargs: Any) -> Any:
            self.step(f"before {label}")
            result = function(*args, **kwargs)
            self.step(f"after {label}")
            return result

        return at_once

    def note(self, text: str) -> None:
        os.write(self.trace, f"{text}\n".encode())

    def step(self, label: str) -> None:
        self.count += 1
        self.note(label)
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
