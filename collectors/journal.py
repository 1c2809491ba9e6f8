"""The journal of a run: what was seen, noted before any event says so.

1. A run has one file beside the ledger, ``STREAM.ndjson``, mode 0600, locked while the run lives; it
   appears with its lock, so that nobody takes a run for dead that is just beginning.
2. A line is written before its bytes go into the blob store, so that a run that is killed leaves no bytes
   there of which nothing is known. A line without its bytes says nothing: they had not arrived. Nobody
   waits for the disk until an event names the bytes; a power cut before that may take both.
3. An event names what the line named, a moment later. When the process dies in between, the next run
   finds the file without its lock and records from it what no event names yet (`recovery`).
4. The file goes when its stream is closed. A run that ends early in order names what is unnamed itself, so that
   nothing is left to recover. The file is private and no evidence by itself: digests in it are
   checked against the blob store, and it is never signed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import orjson

from anvil.ledger.errors import CollectorError
from anvil.ledger.files import flush_path, make_private_directory, write_all


@dataclass(frozen=True)
class KeptLine:
    """Bytes that are kept: which, under what name, about what, and for which check.

    `check` is the check's id, or a suite's after ``suite:``; `selected_as` is what the recipe calls it.
    """

    subject: dict[str, str]
    check: str | None
    selected_as: str | None
    name: str
    digest: str
    size: int


class Journal:
    """The open journal of a run that lives."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def lines(self) -> tuple[KeptLine, ...]:
        """Return what was noted so far."""
        return tuple(_lines(self.path))

    @classmethod
    def create(cls, directory: Path, stream: str) -> Self:
        """Begin the journal of `stream` in `directory`, locked.

        Raises:
            CollectorError: it cannot be written.
        """
        make_private_directory(directory)
        path = directory / f"{stream}.ndjson"
        beginning = directory / f".{stream}.new"
        try:
            descriptor = os.open(beginning, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            beginning.rename(path)
            flush_path(directory)
        except OSError as error:
            raise CollectorError(f"the journal {path} cannot be begun: {error.strerror}") from error
        return cls(path, descriptor)

    def write(self, line: KeptLine) -> None:
        """Add a line, which outlives this process from here on.

        Raises:
            CollectorError: it cannot be written; nothing further should be judged.
        """
        raw = b"\n" + orjson.dumps(line)  # its end is safe whatever became of the one before
        try:
            write_all(self._descriptor, raw)
        except OSError as error:
            raise CollectorError(f"the journal {self.path} cannot be written: {error.strerror}") from error

    def finish(self) -> None:
        """Remove the journal: every line of it is in the ledger now."""
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def leave(self) -> None:
        """Let go of the journal, for recovery to find."""
        os.close(self._descriptor)


@dataclass(frozen=True)
class LeftBehind:
    """The journal of a run that is dead, locked for us."""

    path: Path
    stream: str
    lines: tuple[KeptLine, ...]
    descriptor: int

    def finish(self) -> None:
        """Remove it: every line of it is in the ledger now."""
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)


def left_behind(directory: Path) -> Iterator[LeftBehind]:
    """Yield the journal of each run that is dead."""
    for path in sorted(directory.glob("*.ndjson")):
        descriptor = _taken_over(path)
        if descriptor is not None:
            yield LeftBehind(path, path.stem, tuple(_lines(path)), descriptor)


def _taken_over(path: Path) -> int | None:
    """Return the locked journal; null while its run lives, or when somebody else has collected it."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None


def _lines(path: Path) -> Iterator[KeptLine]:
    for raw in path.read_bytes().splitlines():
        try:
            yield KeptLine(**orjson.loads(raw))
        except (ValueError, TypeError):
            continue  # none yet, or one that the crash or a full disk cut short
