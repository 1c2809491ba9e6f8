"""A small clip made from nothing: uncompressed frames in an AVI file (RIFF, pixels as I420).

Uncompressed video needs no encoder, and whatever decodes AVI at all decodes it. I420 (ITU-R BT.601, one
colour sample for each four pixels) is what OpenCV itself writes; it crashes on the older kind of
frame, red-green-blue with the bottom row first, and with it would go the engine under test.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from anvil.collectors.checks.pictures import Picture

_HAS_INDEX = 0x10
_KEY_FRAME = 0x10


def avi(frames: Sequence[Picture], frames_per_second: int) -> bytes:
    """Return frames of one size as an AVI file.

    Raises:
        ValueError: there are no frames, or a side is an odd number of pixels.
    """
    if not frames or frames[0].width % 2 or frames[0].height % 2:
        raise ValueError("a clip has at least one frame, and even sides")
    # A picture that is shown several times is converted once.
    converted = {id(frame): _planes(frame) for frame in {id(frame): frame for frame in frames}.values()}
    pictures = [converted[id(frame)] for frame in frames]
    size, count = len(pictures[0]), len(pictures)
    width, height = frames[0].width, frames[0].height
    main = struct.pack(
        "<14I",
        1_000_000 // frames_per_second, size * frames_per_second, 0, _HAS_INDEX,
        count, 0, 1, size, width, height, 0, 0, 0, 0,
    )  # fmt: skip
    stream = struct.pack(
        "<4s4sIHHIIIIIIII4H",
        b"vids", b"I420", 0, 0, 0, 0, 1, frames_per_second, 0, count, size, 0xFFFFFFFF, 0,
        0, 0, width, height,
    )  # fmt: skip
    bitmap = struct.pack("<IiiHH4sIiiII", 40, width, height, 1, 12, b"I420", size, 0, 0, 0, 0)
    movie = b"movi" + b"".join(_chunk(b"00dc", picture) for picture in pictures)
    index = b"".join(
        struct.pack("<4sIII", b"00dc", _KEY_FRAME, 4 + number * (8 + size + size % 2), size)
        for number in range(count)
    )
    streams = _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", bitmap))
    headers = _list(b"hdrl", _chunk(b"avih", main) + streams)
    return _chunk(b"RIFF", b"AVI " + headers + _chunk(b"LIST", movie) + _chunk(b"idx1", index))


def _planes(frame: Picture) -> bytes:
    """Return a frame as three planes: lightness for each pixel, blueness and redness for each four."""
    light, blueness, redness = bytearray(), bytearray(), bytearray()
    for number, row in enumerate(frame.rows):
        for red, green, blue in zip(row[0::3], row[1::3], row[2::3], strict=True):
            light.append((66 * red + 129 * green + 25 * blue + 4224) >> 8)
        if number % 2 == 0:
            for red, green, blue in zip(row[0::6], row[1::6], row[2::6], strict=True):
                blueness.append((-38 * red - 74 * green + 112 * blue + 32896) >> 8)
                redness.append((112 * red - 94 * green - 18 * blue + 32896) >> 8)
    return bytes(light + blueness + redness)


def _list(kind: bytes, content: bytes) -> bytes:
    return _chunk(b"LIST", kind + content)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)
