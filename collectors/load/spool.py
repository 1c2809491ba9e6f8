"""The folder of one run of a cell, which outlives whoever began it: what came is on disk before anybody looks.

1. A folder for each run, mode 0700. `about.json` says what the run is, in the words of who begins it, and is
   there before a request is sent. `lock` is held by the load client's process.
2. The client writes `record.part`, the attempt record as it would be if the run ended now: its first line, and each
   request as it ends. At its end it puts the whole `record` there,
   under its name only when it is whole.
3. When the client is gone without a `record`, the part is it: it says that the run was aborted. Half a line at its end
   is cut off, which takes no room on a disk that may be full. Without `record.part` nothing had been sent.
4. The folder goes when an event names what it held. It is private.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.ledger.errors import CollectorError
from anvil.ledger.files import make_private_directory, write_whole

ABOUT, LOCK, RECORD = "about.json", "lock", "record"
_PART, _NEW = "record.part", "record.new"
_WAIT_S, _LOOK_S = 60.0, 0.02
_PIECE = 1 << 16


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
            CollectorError: the client does not end, or what it left cannot be read.
        """
        self._wait()
        path, part = self.directory / RECORD, self.directory / _PART
        if not path.exists():
            try:
                if not _cut_to_whole_lines(part):
                    return None  # the power went before it was on disk
                part.rename(path)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise CollectorError(f"{part} cannot be read: {error.strerror}") from error
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
        self._lines: BinaryIO | None = None

    def begun(self, head: RunRecord) -> None:
        """Write the first line as it would be if the run ended now.

        Raises:
            CollectorError: it cannot be written.
        """
        new = self._spool.directory / f"{_PART}.new"
        with self._kept():
            new.write_bytes(head.spelled())
            self._lines = new.open("ab", buffering=0)
            new.rename(self._spool.directory / _PART)

    def keep(self, request: RequestRecord) -> None:
        """Add a request that has ended; `begun` comes before.

        Raises:
            CollectorError: it cannot be written.
        """
        raw = request.spelled()
        with self._kept():
            while raw and self._lines is not None:
                raw = raw[self._lines.write(raw) or 0 :]

    def end(self, head: RunRecord) -> None:
        """Put the whole record there.

        Raises:
            CollectorError: it cannot be written; what was kept stays.
        """
        directory = self._spool.directory
        with self._kept():
            self.close()
            with (directory / _NEW).open("wb") as whole, (directory / _PART).open("rb") as part:
                part.readline()
                whole.write(head.spelled())
                shutil.copyfileobj(part, whole)
            (directory / _NEW).rename(directory / RECORD)

    def close(self) -> None:
        """Close the file; what was kept stays."""
        if self._lines is not None:
            self._lines.close()

    @contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise CollectorError(
                f"what came cannot be written to {self._spool.directory}: {error.strerror}",
                advice="Make room there; what was written until then is kept.",
            ) from error


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


def _cut_to_whole_lines(path: Path) -> bool:
    """Cut off what follows the last line end of a file, and say whether anything is left."""
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            begin = max(0, end - _PIECE)
            file.seek(begin)
            found = file.read(end - begin).rfind(b"\n")
            if found >= 0:
                file.truncate(begin + found + 1)
                return True
            end = begin
    return False


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
