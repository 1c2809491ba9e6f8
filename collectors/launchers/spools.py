"""Spools: the private folder of one launch, which outlives whoever launched.

1. A folder per launch, mode 0700, holds its log, what was launched (`launch.json`), and a lock.
2. Whoever watches the engine holds the lock. The kernel drops it when that process ends, however it
   ends, so a folder without one belongs to a run that is gone.
3. `launch.json` is written before the engine starts and again as soon as it has an identity, so that
   there is no moment at which an engine runs and nothing on disk says so.
4. The folder goes when its engine is gone and everything was kept.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from anvil.collectors.launchers.interface import LauncherName, LaunchPlan, Provenance
from anvil.collectors.launchers.logs import LogFile, LogLimits
from anvil.ledger.errors import CollectorError
from anvil.ledger.files import make_private_directory, write_whole


@dataclass(frozen=True)
class LaunchRecord:
    """What is on disk about a launch. It holds no secret: the event in it was cleaned before."""

    launcher: LauncherName
    name: str
    ledger: str
    stream: str
    attempt: str
    port: int
    gpus: tuple[str, ...]
    started: dict[str, Any]
    """The event `launch.started`, without its identity."""
    limits: tuple[int, int]
    pid: int | None = None
    start_ticks: int | None = None
    """The kernel's start time of the process, in clock ticks since `boot`."""
    boot: str | None = None
    container: str | None = None

    @property
    def provenance(self) -> Provenance:
        """Whose it is."""
        return Provenance(self.ledger, self.stream, self.attempt)


class Spool:
    """The folder of one launch, locked by this process."""

    def __init__(self, directory: Path, lock: int, record: LaunchRecord) -> None:
        self.directory = directory
        self.record = record
        self._lock: int | None = lock
        self.log = LogFile(directory / "log", LogLimits(*record.limits))

    @classmethod
    def create(
        cls,
        root: Path,
        launcher: LauncherName,
        plan: LaunchPlan,
        started: dict[str, Any],
        *,
        name: str | None = None,
    ) -> Spool:
        """Make the folder of a launch, under a new name unless it has one already.

        Raises:
            CollectorError: it cannot be written.
        """
        provenance = plan.provenance
        name = name or provenance.launch_name()
        limits = (plan.log_limits.head_bytes, plan.log_limits.tail_bytes)
        record = LaunchRecord(
            launcher, name, provenance.ledger, provenance.stream, provenance.attempt, plan.port, plan.gpus, started, limits
        )  # fmt: skip
        directory = root / name
        make_private_directory(directory)
        lock = _locked(directory)
        if lock is None:
            raise CollectorError(f"the folder of launch {name} is taken")
        (directory / "log").touch(mode=0o600)
        spool = cls(directory, lock, record)
        spool.note(record)
        return spool

    @classmethod
    def take_over(cls, directory: Path) -> Spool | None:
        """Return the spool of a run that is gone; null while it lives, or where there is no launch."""
        try:
            fields = json.loads((directory / "launch.json").read_bytes())
        except (OSError, ValueError):
            return None
        lock = _locked(directory)
        if lock is None:
            return None
        fields |= {"gpus": tuple(fields["gpus"]), "limits": tuple(fields["limits"])}
        return cls(directory, lock, LaunchRecord(**fields))

    def note(self, record: LaunchRecord) -> None:
        """Write down what is known of the launch now."""
        self.record = record
        write_whole(self.directory / "launch.json", json.dumps(asdict(record)).encode(), mode=0o600)

    def identified(self, **known: Any) -> None:
        """Write down the identity of the engine."""
        self.note(replace(self.record, **known))

    def close(self) -> None:
        """Let go of the lock; the folder stays."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.close()


def _locked(directory: Path) -> int | None:
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def abandoned(root: Path, launcher: LauncherName, ledger: str) -> Iterator[Spool]:
    """Take over the spools of a ledger whose runs are gone."""
    for directory in sorted(root.iterdir()) if root.is_dir() else ():
        spool = Spool.take_over(directory)
        if spool is None:
            continue
        if spool.record.launcher == launcher and spool.record.ledger == ledger:
            yield spool
        else:
            spool.close()


def taken(root: Path, plan: LaunchPlan) -> str | None:
    """Say which launch, living or left behind, has the port or a GPU of `plan`."""
    for directory in sorted(root.iterdir()) if root.is_dir() else ():
        try:
            fields = json.loads((directory / "launch.json").read_bytes())
        except (OSError, ValueError):
            continue
        whose = f"attempt {fields['attempt']!r} of stream {fields['stream']}"
        if fields["port"] == plan.port:
            return f"port {plan.port} belongs to {whose}"
        if shared := set(fields["gpus"]) & set(plan.gpus):
            return f"GPU {min(shared)} belongs to {whose}"
    return None
