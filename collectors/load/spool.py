"""The folder of one run of a cell, which outlives whoever began it: what came is on disk before anybody looks.

1. A folder for each run, mode 0700. `about.json` says what the run is, in the words of who begins it, and is
   there before a request is sent. `lock` is held by the load client's process.
2. The client writes `run.part`, the first line of the attempt record as it would be if the run ended
   now, and adds each request that has ended to `requests.part`. At its end it puts the whole `record` there,
   under its name only when it is whole.
3. When the client is gone without a `record`, one is put together from the parts: it says that the run was
   aborted. Half a line at the end of a part is left out; without `run.part` nothing had been sent.
4. The folder goes when an event names what it held. It is private.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.ledger.errors import CollectorError, MalformedLine
from anvil.ledger.files import make_private_directory, write_whole

ABOUT, LOCK, RECORD = "about.json", "lock", "record"
_RUN, _REQUESTS, _NEW = "run.part", "requests.part", "record.new"
_WAIT_S, _LOOK_S = 60.0, 0.02


@dataclass(frozen=True)
class Spool:
    """The folder of one run."""

    directory: Path

    @classmethod
    def begin(cls, root: Path, name: str, about: dict[str, Any]) -> Spool:
        """Make the folder of a run.

        Raises:
            CollectorError: it cannot be written.
        """
        directory = root / name
        try:
            make_private_directory(root)
            directory.mkdir(mode=0o700)
        except OSError as error:
            raise CollectorError(f"{directory} cannot be made: {error.strerror}") from error
        write_whole(directory / ABOUT, json.dumps(about).encode(), mode=0o600)
        return cls(directory)

    @classmethod
    def left(cls, root: Path) -> list[Spool]:
        """Return the folders of runs that no event tells of yet, in the order in which they were begun."""
        return [
            cls(path.parent) for path in sorted(root.glob(f"*/{ABOUT}"), key=lambda p: p.stat().st_mtime_ns)
        ]

    @property
    def about(self) -> dict[str, Any]:
        """What the run is.

        Raises:
            CollectorError: it is not what was written.
        """
        try:
            found = json.loads((self.directory / ABOUT).read_bytes())
        except (OSError, ValueError) as error:
            raise CollectorError(f"{self.directory / ABOUT} cannot be read: {error}") from error
        return dict(found)

    def record(self) -> Path | None:
        """Return the attempt record when the client is gone; null when nothing had been sent (rule 3).

        Raises:
            CollectorError: the client does not end, or the parts contradict themselves.
        """
        self._wait()
        path = self.directory / RECORD
        if path.exists():
            return path
        run = self.directory / _RUN
        if not run.exists():
            return None
        try:
            head = RunRecord.read(run.read_bytes().removesuffix(b"\n"))
        except MalformedLine as error:
            raise CollectorError(f"{run}: {error}") from error
        self.put_together(head)
        return path

    def remove(self) -> None:
        """Remove the folder: an event names what it held."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _wait(self) -> None:
        """Wait until the client is gone."""
        try:
            descriptor = os.open(self.directory / LOCK, os.O_RDWR)
        except FileNotFoundError:
            return  # it never began
        try:
            end = time.monotonic() + _WAIT_S
            while not _is_free(descriptor):
                if time.monotonic() > end:
                    raise CollectorError(f"the load client of {self.directory} does not end")
                time.sleep(_LOOK_S)
        finally:
            os.close(descriptor)

    def put_together(self, head: RunRecord) -> None:
        """Make the record of a first line and of the requests that are written down."""
        new = self.directory / _NEW
        with new.open("wb") as whole:
            whole.write(head.spelled())
            parts = self.directory / _REQUESTS
            if parts.exists():
                with parts.open("rb") as lines:
                    whole.writelines(line for line in lines if line.endswith(b"\n"))
        new.rename(self.directory / RECORD)

    # --- the client's side --------------------------------------------------------------------------------

    def hold(self) -> int:
        """Take the lock for as long as this process lives, and return its descriptor."""
        descriptor = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return descriptor

    def writing(self) -> Writing:
        """Begin to write down what comes."""
        return Writing(self)


class Writing:
    """What came, as it comes. `begun` says that the run has begun, `keep` that a request ended, `end` the rest."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._lines: BinaryIO = (spool.directory / _REQUESTS).open("wb", buffering=0)

    def begun(self, head: RunRecord) -> None:
        """Write the first line as it would be if the run ended now."""
        part = self._spool.directory / f"{_RUN}.new"
        part.write_bytes(head.spelled())
        part.rename(self._spool.directory / _RUN)

    def keep(self, request: RequestRecord) -> None:
        """Add a request that has ended."""
        raw = request.spelled()
        while raw:
            raw = raw[self._lines.write(raw) or 0 :]

    def end(self, head: RunRecord) -> None:
        """Put the whole record there."""
        self._lines.close()
        self._spool.put_together(head)


@dataclass(frozen=True)
class RecordFile:
    """An attempt record on disk, read a request at a time."""

    path: Path

    @property
    def run(self) -> RunRecord:
        """The first line.

        Raises:
            MalformedLine: it is none.
        """
        with self.path.open("rb") as lines:
            return RunRecord.read(lines.readline().removesuffix(b"\n"))

    def requests(self) -> Iterator[RequestRecord]:
        """Yield each request.

        Raises:
            MalformedLine: a line is none.
        """
        with self.path.open("rb") as lines:
            lines.readline()
            for line in lines:
                yield RequestRecord.read(line.removesuffix(b"\n"))


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
