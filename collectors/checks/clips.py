"""A small clip made from nothing: uncompressed frames in an AVI file (RIFF, `rec` without a codec).

Uncompressed video needs no encoder and can be decoded by whatever decodes AVI at all.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from anvil.collectors.checks.pictures import Picture

_HAS_INDEX = 0x10
_KEY_FRAME = 0x10


def avi(frames: Sequence[Picture], frames_per_second: int) -> bytes:
    """Return frames of one size as an AVI file of 24-bit pixels.

    Raises:
        ValueError: there are no frames.
    """
    if not frames:
        raise ValueError("a clip has at least one frame")
    pictures = [_bitmap(frame) for frame in frames]
    size, count = len(pictures[0]), len(pictures)
    width, height = frames[0].width, frames[0].height
    main = struct.pack(
        "<14I",
        1_000_000 // frames_per_second, size * frames_per_second, 0, _HAS_INDEX,
        count, 0, 1, size, width, height, 0, 0, 0, 0,
    )  # fmt: skip
    stream = struct.pack(
        "<4s4sIHHIIIIIIII4H",
        b"vids", b"DIB ", 0, 0, 0, 0, 1, frames_per_second, 0, count, size, 0xFFFFFFFF, 0,
        0, 0, width, height,
    )  # fmt: skip
    bitmap = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, size, 0, 0, 0, 0)
    movie = b"movi" + b"".join(_chunk(b"00db", picture) for picture in pictures)
    index = b"".join(
        struct.pack("<4sIII", b"00db", _KEY_FRAME, 4 + number * (8 + size + size % 2), size)
        for number in range(count)
    )
    streams = _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", bitmap))
    headers = _list(b"hdrl", _chunk(b"avih", main) + streams)
    return _chunk(b"RIFF", b"AVI " + headers + _chunk(b"LIST", movie) + _chunk(b"idx1", index))


def _bitmap(frame: Picture) -> bytes:
    """Return a frame as a device-independent bitmap: bottom row first, blue before red, rows padded."""
    padding = b"\0" * (-3 * frame.width % 4)
    rows = []
    for row in reversed(frame.rows):
        turned = bytearray(row)
        turned[0::3], turned[2::3] = row[2::3], row[0::3]
        rows.append(bytes(turned) + padding)
    return b"".join(rows)


def _list(kind: bytes, content: bytes) -> bytes:
    return _chunk(b"LIST", kind + content)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
