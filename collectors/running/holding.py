"""Who goes on with a run: one process at a time.

1. A run holds its own stream, and one that goes on with another holds that one's stream too: by a lock on a file of
   the stream's name beside the ledger, mode 0600. The lock goes with its process, however that ends.
2. The file says which process that is, for whoever is refused. It is no evidence.
3. It goes when it is let go. What dead processes left is removed by recovery.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from anvil.ledger.errors import CollectorError
from anvil.ledger.files import make_private_directory

FOLDER = "holds"
"""Where the files lie, beside the journals."""

_PATIENCE_S = 1.0  # somebody who looks whether its process lives has the lock for a moment
_LOOK_S = 0.02


@contextmanager
def held(directory: Path, stream: str) -> Iterator[None]:
    """Hold the run in `stream` until the end, so that nobody else goes on with it.

    Raises:
        CollectorError: another process holds it, and which; or the file cannot be written.
    """
    path = directory / stream
    try:
        make_private_directory(directory)
        descriptor = _taken(path)
    except OSError as error:
        raise CollectorError(f"{path} cannot be written: {error.strerror}") from error
    try:
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def let_go(directory: Path) -> None:
    """Remove the files of processes that are gone (rule 3)."""
    for path in sorted(directory.glob("*")):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDWR)
            try:
                if _locks(descriptor) and _is_named(descriptor, path):
                    path.unlink()
            finally:
                os.close(descriptor)


def _taken(path: Path) -> int:
    """Return the file, locked for this process.

    Raises:
        CollectorError: another process has it.
        OSError: it cannot be opened.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if _locks(descriptor):
            if _is_named(descriptor, path):
                os.truncate(descriptor, 0)
                return descriptor
            os.close(descriptor)  # who had it let it go just now
            continue
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
        os.close(descriptor)
        if _is_alive(holder) or time.monotonic() > until:
            raise CollectorError(
                f"the run in stream {path.name!r} goes on: process {holder or 'unknown'} holds it",
                advice="Wait for its end, or end that process.",
            )
        time.sleep(_LOOK_S)


def _locks(descriptor: int) -> bool:
    """Lock a file, and say whether that could be done."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_named(descriptor: int, path: Path) -> bool:
    """Say whether an open file still has its name."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _is_alive(holder: str) -> bool:
    return holder.isdigit() and Path("/proc", holder).exists()
