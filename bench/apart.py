"""A folder for measurements, apart from what the machine deleted lately.

ext4 gives a deleted inode to nobody for some minutes, and passes over each of them whenever a file is made in
the same part of the disk (`recently_deleted` in the kernel's fs/ext4/ialloc.c). After a test run a new file then takes
300 to 700 µs and not 15, which a value would show and its floor would not. The folders in one that is marked as
the top of a hierarchy (`chattr +T`) are each put into a part of their own, by their names: a name used once before
leads to what was deleted then.
"""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS and FS_IOC_SETFLAGS of linux/fs.h
_TOP = 0x00020000  # FS_TOPDIR_FL


def spread(folder: Path) -> None:
    """Have folders that are made in `folder` lie apart; nothing happens on a file system that knows no such mark."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            flags = struct.unpack("l", fcntl.ioctl(descriptor, _GET_FLAGS, struct.pack("l", 0)))[0]
            fcntl.ioctl(descriptor, _SET_FLAGS, struct.pack("l", flags | _TOP))
    finally:
        os.close(descriptor)
