"""A log without end in bounded space: its head and its tail, how much there was, how many lines.

1. The log is a file that is only appended to, by the engine itself or by whoever follows a container.
   It lies in the launch's private folder, so a crash of ours loses nothing of it.
2. Reading it costs the same memory whatever its length: it is counted in pieces, and head and tail
   are read from their places.
3. Disk is bounded too: what lies between head and tail is given back to the file system (a hole in
   the file, Linux `fallocate`), so offsets stay true. The counts are on disk before a hole is made.
   Where the file system makes no holes, the file grows.
4. Both ends are cut at line ends where there are some. In the retained bytes one line of ours stands
   for what was cut; it is not counted among them.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from anvil.collectors.withholding import NO_SECRETS, Secrets, clean_text
from anvil.ledger.events.launches import LogRetained
from anvil.ledger.files import write_whole

_PIECE = 1 << 20
_SLACK = 4 << 20  # a hole is made when at least this much would be given back
_KEEP_SIZE_AND_PUNCH = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, linux/falloc.h

MAX_LINE = 2_000
"""Characters of one line among the last lines."""

MAX_LAST_LINES_BYTES = 32_000
"""Bytes of the last lines as JSON: they fit a sealed field."""


@dataclass(frozen=True)
class LogLimits:
    """How much of a log is kept, in bytes."""

    head_bytes: int = 8 << 20
    tail_bytes: int = 8 << 20


DEFAULT_LIMITS = LogLimits()
"""16 MiB: every engine's start-up, and the end."""


@dataclass(frozen=True)
class BoundedLog:
    """What is kept of a log. `head` and `tail` touch when nothing was cut."""

    head: bytes = b""
    tail: bytes = b""
    seen_bytes: int = 0
    lines: int = 0
    """Line ends in the whole log."""
    problem: str = ""
    """Why it may be less than the engine wrote; empty when it is not."""

    @property
    def kept_bytes(self) -> int:
        """How many of the engine's bytes are kept."""
        return len(self.head) + len(self.tail)

    @property
    def cut_bytes(self) -> int:
        """How many are not."""
        return self.seen_bytes - self.kept_bytes

    @property
    def is_whole(self) -> bool:
        """Whether everything that the engine wrote is kept."""
        return self.cut_bytes == 0 and not self.problem

    def content(self) -> bytes:
        """Return the bytes to retain; one line of ours says what was cut between head and tail."""
        if not self.cut_bytes:
            return self.head + self.tail
        border = b"" if self.head.endswith(b"\n") else b"\n"
        return self.head + border + f"[anvil: {self.cut_bytes} bytes were cut here]\n".encode() + self.tail

    def event(self) -> LogRetained:
        """Return the event that says how much is kept; whoever appends it attaches `content` as `log`."""
        return LogRetained(
            seen_bytes=self.seen_bytes,
            kept_bytes=self.kept_bytes,
            head_bytes=len(self.head),
            is_whole=self.is_whole,
            lines=self.lines,
        )

    def numbered(self) -> Iterator[tuple[int, str]]:
        """Yield the kept lines with their numbers in the whole log."""
        if not self.cut_bytes:
            yield from _numbered(self.head + self.tail, 1)
            return
        yield from _numbered(self.head, 1)
        yield from _numbered(self.tail, self.lines - self.tail.count(b"\n") + 1)

    def last_lines(self, count: int = 40, *, secrets: Secrets = NO_SECRETS) -> list[str]:
        """Return the last lines without secrets, fewer where they would not fit a sealed field."""
        end = (self.head + self.tail)[-_PIECE:]
        lines = [text for _, text in _numbered(end, 1)][-count:]
        kept: list[str] = []
        room = MAX_LAST_LINES_BYTES
        for text in reversed(clean_text("\n".join(lines), secrets).split("\n") if lines else []):
            room -= len(json.dumps(text[:MAX_LINE])) + 1
            if room < 0:
                break
            kept.append(text[:MAX_LINE])
        return kept[::-1]


EMPTY_LOG = BoundedLog()


def _numbered(content: bytes, first: int) -> Iterator[tuple[int, str]]:
    lines = content.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, start=first):
        yield number, line.decode("utf-8", "replace").rstrip("\r")


class LogFile:
    """A log on disk that somebody appends to, counted as it grows.

    `is_ours` says that holes may be made in it. `cursor` is whatever the one who appends wants to find
    again with the counts: how far a container's log was followed. What is noted on disk is always a pair:
    the bytes that the noted cursor covers, and no others.
    """

    def __init__(self, path: Path, limits: LogLimits = DEFAULT_LIMITS, *, is_ours: bool = True) -> None:
        self.path = path
        self.cursor = ""
        self._limits = limits
        self._is_ours = is_ours
        self._lock = threading.RLock()  # guards the counts: one thread follows while another reads
        self._notes = path.with_name(f"{path.name}.counts.json")
        self._counted = 0
        self._lines = 0
        self._kept_from = 0  # nothing between head and here is on disk any more
        self._left_at: tuple[int, int, int] | None = None
        if is_ours and self._notes.exists():
            self._restore(json.loads(self._notes.read_bytes()))

    def _restore(self, notes: dict[str, Any]) -> None:
        self._counted, self._lines = notes["counted"], notes["lines"]
        self._kept_from, self.cursor = notes["kept_from"], notes["cursor"]

    def expect_again(self) -> None:
        """Say that what lies behind the cursor will be appended once more; call it before any reading.

        Until `cut_to_cursor`, all that is there can be read, and nothing is noted: the cursor does not
        cover it.
        """
        self._left_at = (self._counted, self._lines, self._kept_from)

    def cut_to_cursor(self) -> None:
        """Drop what the cursor of an earlier writer does not cover: it comes again."""
        with self._lock:
            if self._left_at is not None:
                self._counted, self._lines, self._kept_from = self._left_at
                self._left_at = None
                os.truncate(self.path, self._counted)

    def append(self, file: BinaryIO, piece: bytes, cursor: str) -> None:
        """Write a piece at the end, through `file`, and move the cursor behind it."""
        with self._lock:
            file.write(piece)
            self.cursor = cursor

    def count(self) -> None:
        """Take in what was appended since the last time, and give space back."""
        with self._lock, self.path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size < self._counted:  # begun anew
                self._counted = self._lines = self._kept_from = 0
            file.seek(self._counted)
            while self._counted < size and (piece := file.read(min(_PIECE, size - self._counted))):
                self._counted += len(piece)
                self._lines += piece.count(b"\n")
            if self._is_ours and self._left_at is None:
                self._give_back()

    def _give_back(self) -> None:
        start = max(self._limits.head_bytes, self._kept_from)
        end = self._counted - self._limits.tail_bytes
        if end - start < _SLACK:
            return
        self._kept_from = end
        self._write_notes()
        _punch(self.path, start, end - start)

    def note(self) -> None:
        """Count, and write the counts to disk with the cursor."""
        with self._lock:
            self.count()
            if self._left_at is None:
                self._write_notes()

    def _write_notes(self) -> None:
        notes: dict[str, Any] = {"counted": self._counted, "lines": self._lines}
        notes |= {"kept_from": self._kept_from, "cursor": self.cursor}
        write_whole(self._notes, json.dumps(notes).encode(), mode=0o600)

    def read(self, *, problem: str = "") -> BoundedLog:
        """Return head and tail of what is there now."""
        limits = self._limits
        with self._lock, self.path.open("rb") as file:
            self.count()
            size = self._counted
            if size <= limits.head_bytes + limits.tail_bytes:
                return BoundedLog(file.read(size), b"", size, self._lines, problem)
            head = file.read(limits.head_bytes)
            file.seek(size - limits.tail_bytes)
            tail = file.read(limits.tail_bytes)
        return BoundedLog(_to_last_line(head), _from_first_line(tail), size, self._lines, problem)


def _to_last_line(head: bytes) -> bytes:
    return head[: head.rfind(b"\n") + 1] or head


def _from_first_line(tail: bytes) -> bytes:
    return tail[tail.find(b"\n") + 1 :] or tail


def _punch(path: Path, offset: int, length: int) -> None:
    """Give a range of a file back to the file system, where it can take it."""
    fallocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    if fallocate is None:
        return
    descriptor = os.open(path, os.O_RDWR)
    try:
        fallocate(
            descriptor, _KEEP_SIZE_AND_PUNCH, ctypes.c_int64(offset), ctypes.c_int64(length)
        )  # a refusal leaves the bytes where they are
    finally:
        os.close(descriptor)
