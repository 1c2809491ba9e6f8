"""Small pictures made from nothing: shapes and words on white, as PNG (ISO/IEC 15948).

A picture is a grid of RGB pixels. Letters come from a bitmap font of five by seven dots, written here.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

Colour = tuple[int, int, int]

WHITE: Colour = (255, 255, 255)
BLACK: Colour = (0, 0, 0)
COLOURS: dict[str, Colour] = {
    "red": (220, 20, 20),
    "green": (20, 150, 40),
    "blue": (30, 60, 220),
    "yellow": (250, 220, 20),
    "black": BLACK,
    "purple": (130, 30, 160),
}
SHAPES = ("circle", "square", "triangle")

_FONT: Mapping[str, str] = {
    "A": "01110 10001 10001 11111 10001 10001 10001", "B": "11110 10001 10001 11110 10001 10001 11110",
    "C": "01110 10001 10000 10000 10000 10001 01110", "D": "11110 10001 10001 10001 10001 10001 11110",
    "E": "11111 10000 10000 11110 10000 10000 11111", "F": "11111 10000 10000 11110 10000 10000 10000",
    "G": "01110 10001 10000 10111 10001 10001 01110", "H": "10001 10001 10001 11111 10001 10001 10001",
    "I": "01110 00100 00100 00100 00100 00100 01110", "J": "00111 00010 00010 00010 00010 10010 01100",
    "K": "10001 10010 10100 11000 10100 10010 10001", "L": "10000 10000 10000 10000 10000 10000 11111",
    "M": "10001 11011 10101 10101 10001 10001 10001", "N": "10001 11001 10101 10011 10001 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110", "P": "11110 10001 10001 11110 10000 10000 10000",
    "Q": "01110 10001 10001 10001 10101 10010 01101", "R": "11110 10001 10001 11110 10100 10010 10001",
    "S": "01111 10000 10000 01110 00001 00001 11110", "T": "11111 00100 00100 00100 00100 00100 00100",
    "U": "10001 10001 10001 10001 10001 10001 01110", "V": "10001 10001 10001 10001 10001 01010 00100",
    "W": "10001 10001 10001 10101 10101 11011 10001", "X": "10001 10001 01010 00100 01010 10001 10001",
    "Y": "10001 10001 01010 00100 00100 00100 00100", "Z": "11111 00001 00010 00100 01000 10000 11111",
    " ": "00000 00000 00000 00000 00000 00000 00000",
}  # fmt: skip
_LETTER_WIDTH, _LETTER_HEIGHT = 5, 7


class Picture:
    """A grid of pixels, white at first; rows from top to bottom."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.rows = [bytearray(bytes(WHITE) * width) for _ in range(height)]

    def fill(self, left: int, top: int, right: int, bottom: int, colour: Colour) -> None:
        """Paint a rectangle; what lies outside the picture is left out."""
        left, right = max(0, left), min(self.width, right)
        if left < right:
            for row in self.rows[max(0, top) : max(0, bottom)]:
                row[3 * left : 3 * right] = bytes(colour) * (right - left)

    def shape(self, name: str, colour: Colour) -> None:
        """Paint one of `SHAPES`, large and in the middle."""
        half = min(self.width, self.height) * 3 // 8
        middle_x, middle_y = self.width // 2, self.height // 2
        for offset in range(-half, half):
            reach = {
                "circle": int((half * half - offset * offset) ** 0.5),
                "square": half,
                "triangle": (offset + half) // 2,
            }[name]
            self.fill(middle_x - reach, middle_y + offset, middle_x + reach, middle_y + offset + 1, colour)

    def text(self, line: str, left: int, top: int, scale: int, colour: Colour = BLACK) -> None:
        """Write capital letters, each dot `scale` pixels wide.

        Raises:
            KeyError: the font has no such letter.
        """
        for number, letter in enumerate(line):
            for y, dots in enumerate(_FONT[letter].split()):
                for x, dot in enumerate(dots):
                    if dot == "1":
                        at_x, at_y = left + (number * (_LETTER_WIDTH + 1) + x) * scale, top + y * scale
                        self.fill(at_x, at_y, at_x + scale, at_y + scale, colour)

    def png(self) -> bytes:
        """Return the picture as a PNG file, eight bits a channel."""
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        lines = b"".join(b"\0" + bytes(row) for row in self.rows)
        parts = [(b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in parts)


def page(lines: Sequence[str], scale: int = 3) -> Picture:
    """Return lines of capital letters as a page of text."""
    margin, step = 6 * scale, (_LETTER_HEIGHT + 4) * scale
    width = max(len(line) for line in lines) * (_LETTER_WIDTH + 1) * scale + 2 * margin
    picture = Picture(width, len(lines) * step + 2 * margin)
    for number, line in enumerate(lines):
        picture.text(line, margin, margin + number * step, scale)
    return picture


def data_url(media_type: str, content: bytes) -> str:
    """Return bytes as a data URL (RFC 2397)."""
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


def media_message(question: str, part: str, url: str) -> dict[str, Any]:
    """Return a user's message with one medium, in the engine's own kind of part, and a question."""
    return {"role": "user", "content": [media_part(part, url), {"type": "text", "text": question}]}


def media_part(part: str, url: str) -> dict[str, Any]:
    """Return one medium as a part of a message, of the kind `part`."""
    # The Responses-like kinds hold the address itself; all others an object with it.
    return {"type": part, "image_url": url} if part == "input_image" else {"type": part, part: {"url": url}}


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
