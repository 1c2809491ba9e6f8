"""The journal of a run: what was seen, noted durably before any event says so.

1. A run has one file beside the ledger, ``runs/STREAM.ndjson``, mode 0600, locked while the run lives.
   A line is written and flushed as soon as bytes are in the blob store, or an engine was launched.
2. An event names what the line named, a moment later. When the process dies in between, the next run
   finds the file without its lock and records from it what no event names yet (`recovery`).
3. The file goes when its stream is closed. It is private and no evidence by itself: digests in it are
   checked against the blob store, and it is never signed.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from anvil.ledger.blobs import BlobRef
from anvil.ledger.errors import CollectorError
from anvil.ledger.files import make_private_directory


@dataclass(frozen=True)
class KeptLine:
    """Bytes that were kept: which, under what name, for which attempt and check."""

    attempt: str | None
    check: str | None
    name: str
    digest: str
    size: int
    kind: Literal["kept"] = "kept"


@dataclass(frozen=True)
class LaunchedLine:
    """An engine that was launched, and where its log is being written."""

    attempt: str
    launcher: str
    identity: str
    spool: str | None
    kind: Literal["launched"] = "launched"


@dataclass(frozen=True)
class StartedLine:
    """The run itself: its stream and what its events are about."""

    stream: str
    campaign: str
    kind: Literal["started"] = "started"


Line = KeptLine | LaunchedLine | StartedLine

_KINDS: dict[str, type[KeptLine] | type[LaunchedLine] | type[StartedLine]] = {
    "kept": KeptLine,
    "launched": LaunchedLine,
    "started": StartedLine,
}


class Journal:
    """The open journal of a run that lives."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def create(cls, directory: Path, stream: str, campaign: str) -> Self:
        """Begin the journal of `stream` in `directory`, locked.

        Raises:
            CollectorError: it cannot be written.
        """
        make_private_directory(directory)
        path = directory / f"{stream}.ndjson"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CollectorError(f"the journal {path} cannot be begun: {error.strerror}") from error
        journal = cls(path, descriptor)
        journal.write(StartedLine(stream, campaign))
        return journal

    def write(self, line: Line) -> None:
        """Add a line and wait until it is on disk.

        Raises:
            CollectorError: it cannot be written; nothing further should be judged.
        """
        try:
            os.write(self._descriptor, json.dumps(asdict(line)).encode() + b"\n")
            os.fsync(self._descriptor)
        except OSError as error:
            raise CollectorError(f"the journal {self.path} cannot be written: {error.strerror}") from error

    def finish(self) -> None:
        """Remove the journal: every line of it is in the ledger now."""
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)


def left_behind(directory: Path) -> Iterator[tuple[Path, int, list[Line]]]:
    """Yield each journal whose run is dead, locked for us: its path, descriptor and lines."""
    for path in sorted(directory.glob("*.ndjson")):
        descriptor = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)  # that run lives
            continue
        yield path, descriptor, list(_lines(path))


def _lines(path: Path) -> Iterator[Line]:
    for raw in path.read_bytes().splitlines():
        try:
            members: dict[str, Any] = json.loads(raw)
            yield _KINDS[members.pop("kind")](**members)
        except (ValueError, KeyError, TypeError):
            return  # the last line, cut short by the crash


def blob_of(line: KeptLine) -> BlobRef:
    """Return which bytes a line names."""
    return BlobRef(line.digest, line.size)
