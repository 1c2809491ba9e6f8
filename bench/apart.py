"""A folder for measurements, apart from what the machine deleted lately.

ext4 gives a deleted inode to nobody for some minutes, and passes over each of them whenever a file is made in
the same part of the disk (`recently_deleted` in the kernel's fs/ext4/ialloc.c). After a test run a new file then takes
300 to 700 µs and not 15, which a value would show and its floor would not. The folders in one that is marked as
the top of a hierarchy (`chattr +T`) are each put into a part of their own, by their names: a name used once before
leads to what was deleted then. Which parts those are nobody tells; where files are made fastest, it is none.
"""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from measure import seconds

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS and FS_IOC_SETFLAGS of linux/fs.h
_TOP = 0x00020000  # FS_TOPDIR_FL
_CANDIDATES = 8
_FILES = 40


def spread(folder: Path) -> None:
    """Have folders that are made in `folder` lie apart; nothing happens on a file system that knows no such mark."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            flags = struct.unpack("l", fcntl.ioctl(descriptor, _GET_FLAGS, struct.pack("l", 0)))[0]
            fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("l", flags | _TOP))
    finally:
        os.close(descriptor)


def apart(folder: Path) -> Path:
    """Return a new folder in `folder`, of several the one in which files are made fastest.

    The files stay: deleted, they would be what to keep away from.
    """
    return min((Path(mkdtemp(dir=folder)) for _ in range(_CANDIDATES)), key=_cost)


def _cost(folder: Path) -> float:
    """Return the seconds that it takes to make some files in a folder of `folder`."""
    probe = folder / "probe"
    probe.mkdir()
    return seconds(lambda: [(probe / str(number)).touch() for number in range(_FILES)])
