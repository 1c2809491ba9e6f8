"""The digests of files, streamed on all cores, with progress.

1. Each thread has one buffer; hashing gives Python's lock away, so threads are enough.
2. Largest files first: the last core to finish is then the least late.
3. A file that is not the same at its end as at its beginning has no digest.
4. A file whose name in the cache is a git object's id gets that digest too, in the same pass.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from anvil.collectors.weights.snapshot import Entry, Identity
from anvil.ledger.errors import CollectorError

CHUNK = 256 << 10
"""Bytes read at a time: a buffer that stays in a core's cache."""
MAX_SIZE = 1 << 40
"""Bytes of one file at most; no weights file has as many, a sparse one can claim them."""

Progress = Callable[[int, int], None]
"""Told how many bytes are done, and of how many."""


def silent(_done: int, _all: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Digested:
    """A file's digests; none where it could not be read, and then the kind of the finding."""

    sha256: str | None = None
    git_blob: str | None = None
    problem: str | None = None


@dataclass
class Hashing:
    """One pass over files. Setting `stop` ends it."""

    progress: Progress = silent
    stop: threading.Event = field(default_factory=threading.Event)
    _done: int = 0
    _all: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, entries: Sequence[Entry], git_named: frozenset[str] = frozenset()) -> dict[str, Digested]:
        """Return the digests of files by name; those in `git_named` get a git object's id too.

        Raises:
            CollectorError: it was stopped.
        """
        self._all = sum(entry.identity.size for entry in entries if entry.identity.size <= MAX_SIZE)
        ordered = sorted(entries, key=lambda entry: -entry.identity.size)
        with ThreadPoolExecutor(cores(), thread_name_prefix="anvil-digest") as threads:
            done = threads.map(lambda entry: self._one(entry, entry.name in git_named), ordered)
            found = {entry.name: digested for entry, digested in zip(ordered, done, strict=True)}
        if self.stop.is_set():
            raise CollectorError("looking at the weights was interrupted")
        return found

    def _one(self, entry: Entry, is_git_named: bool) -> Digested:
        if entry.identity.size > MAX_SIZE:
            return Digested(problem="too-large")
        sha256 = hashlib.sha256()
        # git's ids are SHA-1; they are compared, never relied on
        git = (
            hashlib.sha1(b"blob %d\0" % entry.identity.size, usedforsecurity=False) if is_git_named else None
        )
        buffer = bytearray(min(CHUNK, max(entry.identity.size, 1)))
        view = memoryview(buffer)
        try:
            with entry.open() as file:
                while (size := file.readinto(buffer)) and not self.stop.is_set():  # type: ignore[attr-defined]  # unbuffered
                    sha256.update(view[:size])
                    if git:
                        git.update(view[:size])
                    self._tell(size)
                if Identity.of(os.fstat(file.fileno())) != entry.identity:
                    return Digested(problem="changed-while-read")
        except OSError as error:
            return Digested(problem="changed-while-read" if _is_gone(error) else "unreadable")
        return Digested(f"sha256:{sha256.hexdigest()}", git.hexdigest() if git else None)

    def _tell(self, size: int) -> None:
        with self._lock:
            before, self._done = self._done, self._done + size
            if before >> 24 != self._done >> 24 or self._done == self._all:
                self.progress(self._done, self._all)


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def _is_gone(error: OSError) -> bool:
    return isinstance(error, FileNotFoundError) or error.errno == errno.ESTALE
