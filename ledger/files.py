"""Files that are there whole or not at all.

Written to a temporary name beside the target, flushed to disk, renamed, and the directory flushed:
after a crash a reader finds the old file or the new one, never half of one.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from anvil.ledger.errors import LedgerError


def write_whole(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Replace the file at `path` by `content`, with the permission bits `mode`.

    Raises:
        LedgerError: the file system refused; the old file is untouched.
    """
    _replace(path, BytesIO(content), mode)


def copy_whole(source: Path, path: Path, *, mode: int = 0o644) -> None:
    """Replace the file at `path` by a copy of `source`, of any size, with the permission bits `mode`.

    Raises:
        LedgerError: the file system refused; the old file is untouched.
    """
    try:
        with source.open("rb") as file:
            _replace(path, file, mode)
    except OSError as error:
        raise LedgerError(f"{source} could not be read: {error.strerror}") from error


def _replace(path: Path, content: BinaryIO, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(content, file)
                file.flush()
                flush(file.fileno())
            temporary.rename(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        flush_path(path.parent)
    except OSError as error:
        raise LedgerError(
            f"{path} could not be written: {error.strerror}",
            advice="Check free space and the directory's rights.",
        ) from error


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading; what is no plain file could block, or never end.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "it is no plain file", str(path))
    return os.fdopen(descriptor, "rb")


def read_plain(path: Path, most: int) -> bytes:
    """Return the bytes of a plain file that has at most `most`; a longer one is not read to its end.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read, or has more; `strerror` says so.
    """
    with open_plain(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of `content`, of which a disk that fills up takes a part at first.

    Raises:
        OSError: the file system refused the rest.
    """
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


def flush(descriptor: int) -> None:
    """Wait until what was written is on disk."""
    os.fsync(descriptor)


def flush_path(path: Path) -> None:
    """Wait until a file's content, or the names in a directory, are on disk, whoever wrote them."""
    descriptor = os.open(
        path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    )  # a pipe is refused, and never waited for
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_private_directory(directory: Path) -> None:
    """Make a directory, and those above it, that only its owner can read.

    Raises:
        LedgerError: the file system refused.
    """
    try:
        missing = [path for path in (directory, *directory.parents) if not path.exists()]
        for path in reversed(missing):  # `parents=True` would make those above with the default mode
            path.mkdir(mode=0o700, exist_ok=True)
            flush_path(path.parent)
        directory.mkdir(mode=0o700, exist_ok=True)  # refused when something else has that name
    except OSError as error:
        raise LedgerError(f"{directory} could not be made: {error.strerror}") from error


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
