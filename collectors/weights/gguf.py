"""The header of a GGUF file: versions 2 and 3, little-endian (ggml's `docs/gguf.md`).

1. Every count and length is compared with the bytes that are left in the file before anything is read by it.
2. Arrays of numbers are stepped over; of all that is in a header no more than `MAX_HEADER` bytes and
   `MAX_VALUES` values are read.
3. No key and no tensor stands twice. Tensors lie at multiples of the alignment, inside the file, and share
   no byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

MAGIC = b"GGUF"
MAX_HEADER = 256 << 20
MAX_VALUES = 4_000_000
MAX_PAIRS = 100_000
MAX_TENSORS = 200_000
MAX_TEXT = 16 << 20
MAX_RANK = 4
_STRING, _ARRAY = 8, 9
_SCALARS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip

BLOCKS: Mapping[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}  # fmt: skip
"""Number of a data type to its name, the elements of a block and the bytes of one."""


@dataclass(frozen=True)
class GgufFile:
    """What a header says: single values by key, tensors by data type, and what is wrong."""

    values: Mapping[str, Any] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    types: Mapping[str, int] = field(default_factory=dict)
    data_bytes: int = 0
    problems: tuple[str, ...] = ()

    @property
    def chat_template(self) -> str | None:
        """The chat template, as its text."""
        text = self.values.get("tokenizer.chat_template")
        return text if isinstance(text, str) else None

    @property
    def parts(self) -> int:
        """How many files the model is split into."""
        count = self.values.get("split.count")
        return count if isinstance(count, int) and count > 1 else 1


class _Refused(Exception):
    """The header cannot be read on; the argument is the kind of the finding."""


class _Reader:
    """Reads on in an open file, never more than is left of it or of the budgets."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file = file
        self.at = 0
        self.size = size
        self.values = 0

    def left(self) -> int:
        return min(self.size, MAX_HEADER) - self.at

    def take(self, length: int, kind: str = "gguf-truncated") -> bytes:
        if length > self.left():
            raise _Refused(kind)
        raw = self.file.read(length)
        if len(raw) < length:
            raise _Refused("gguf-truncated")
        self.at += length
        return raw

    def number(self, code: str) -> Any:
        return struct.unpack(code, self.take(struct.calcsize(code)))[0]

    def skip(self, length: int) -> None:
        if length > self.size - self.at:
            raise _Refused("gguf-array")
        self.file.seek(length, 1)
        self.at += length

    def count(self, number: int) -> None:
        self.values += number
        if self.values > MAX_VALUES:
            raise _Refused("gguf-counts")

    def text(self, kind: str = "gguf-string") -> bytes:
        length = self.number("<Q")
        if length > MAX_TEXT:
            raise _Refused(kind)
        return self.take(length, kind)


def read_gguf(file: BinaryIO, size: int) -> GgufFile:
    """Return what the header of an open file of `size` bytes says, and what is wrong with it."""
    reader = _Reader(file, size)
    values: dict[str, Any] = {}
    problems: dict[str, None] = {}
    try:
        tensors, pairs = _counts(reader)
        for _ in range(pairs):
            key = reader.text().decode("utf-8", "replace")
            if key in values:
                problems["duplicate-keys"] = None
            values[key] = _value(reader)
        infos = [_tensor(reader) for _ in range(tensors)]
    except _Refused as refused:
        return GgufFile(values, problems=(*problems, str(refused)))
    alignment = values.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1) or alignment > 1 << 20:
        problems["gguf-alignment"] = None
        alignment = 32
    data_start = -(-reader.at // alignment) * alignment
    names = frozenset(info.name for info in infos)
    if len(names) != len(infos):
        problems["duplicate-keys"] = None
    for info in infos:
        problems.update(dict.fromkeys(info.problems(alignment)))
    sized = [(info.offset, info.offset + info.size) for info in infos if info.size is not None]
    problems.update(dict.fromkeys(_layout_problems(sized, size - data_start, alignment, len(infos))))
    types: dict[str, int] = {}
    for info in infos:
        if info.block:
            types[info.block[0]] = types.get(info.block[0], 0) + 1
    return GgufFile(values, names, types, sum(end - begin for begin, end in sized), tuple(problems))


def _counts(reader: _Reader) -> tuple[int, int]:
    if reader.take(4) != MAGIC or reader.number("<I") not in (2, 3):
        raise _Refused("gguf-version")
    tensors, pairs = reader.number("<Q"), reader.number("<Q")
    # A tensor takes at least 24 bytes here, a pair 13.
    if tensors > MAX_TENSORS or pairs > MAX_PAIRS or tensors * 24 + pairs * 13 > reader.left():
        raise _Refused("gguf-counts")
    return tensors, pairs


def _value(reader: _Reader) -> Any:
    """Return a single value; null for an array."""
    kind = reader.number("<I")
    if kind == _STRING:
        return reader.text().decode("utf-8", "replace")
    if kind == _ARRAY:
        return _step_over_array(reader)
    if kind not in _SCALARS:
        raise _Refused("gguf-value-type")
    return reader.number(_SCALARS[kind])


def _step_over_array(reader: _Reader) -> None:
    kind, length = reader.number("<I"), reader.number("<Q")
    if kind in _SCALARS:
        reader.skip(length * struct.calcsize(_SCALARS[kind]))
    elif kind == _STRING:
        if length * 8 > reader.left():
            raise _Refused("gguf-array")
        reader.count(length)
        for _ in range(length):
            reader.text("gguf-array")
    else:  # arrays of arrays are in the format, and in no model
        raise _Refused("gguf-array" if kind == _ARRAY else "gguf-value-type")


@dataclass(frozen=True)
class _Tensor:
    """One row of the tensor table."""

    name: str
    shape: tuple[int, ...]
    block: tuple[str, int, int] | None
    offset: int

    @property
    def size(self) -> int | None:
        """How many bytes it has; null where that cannot be told."""
        if self.block is None or not self.shape:
            return None
        elements = 1
        for count in self.shape:
            elements *= count
        return elements // self.block[1] * self.block[2]

    def problems(self, alignment: int) -> Iterator[str]:
        """Yield what is wrong with this row."""
        if self.block is None:
            yield "data-type-unknown"
        elif self.shape and self.shape[0] % self.block[1]:
            yield "shape-malformed"
        if not 0 < len(self.shape) <= MAX_RANK or 0 in self.shape:
            yield "shape-malformed"
        if self.offset % alignment:
            yield "range-malformed"


def _tensor(reader: _Reader) -> _Tensor:
    name = reader.text().decode("utf-8", "replace")
    rank = reader.number("<I")
    if rank > MAX_RANK:
        raise _Refused("shape-malformed")
    shape = tuple(reader.number("<Q") for _ in range(rank))
    number, offset = reader.number("<I"), reader.number("<Q")
    return _Tensor(name, shape, BLOCKS.get(number), offset)


def _layout_problems(
    ranges: list[tuple[int, int]], data_size: int, alignment: int, tensors: int
) -> Iterator[str]:
    reached = 0
    for begin, end in sorted(ranges):
        if end > data_size:
            yield "range-beyond-file"
        if begin < reached:
            yield "ranges-overlap"
        reached = max(reached, end)
    is_known = len(ranges) == tensors
    if is_known and data_size - reached >= alignment:
        yield "trailing-bytes"
