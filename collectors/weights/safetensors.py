"""The header of a safetensors file, read strictly: its library accepts more than is safe to rely on.

1. Eight bytes give the header's length (little-endian). It is at most what the format's library reads, and
   lies inside the file, before a byte of it is read.
2. The header is one JSON object, from its first byte on, padded with spaces only; no key stands twice.
3. Each tensor has data type, shape and byte range, and nothing else. Product of shape and size of the data
   type is the size of the range.
4. The ranges, in their order, follow one another without gap or overlap, from 0 to the end of the file.
5. Names are such as models use; metadata maps text to text.

Everything that is wrong is found in one pass; only a header that cannot be read ends it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from anvil.collectors.weights.strictjson import JsonRefused, read_json

MAX_HEADER = 100_000_000
"""Bytes of a header at most, as in the format's library."""
MAX_TENSORS = 200_000
MAX_RANK = 16
MAX_METADATA = 1000

BITS: Mapping[str, int] = {
    "BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
    "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip
"""Data type to the bits of one element."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,511}")
_FIELDS = frozenset({"dtype", "shape", "data_offsets"})


@dataclass(frozen=True)
class TensorFile:
    """What a header says. `types` counts tensors by data type; `data_bytes` are all of the tensors'."""

    names: frozenset[str] = frozenset()
    types: Mapping[str, int] = field(default_factory=dict)
    data_bytes: int = 0
    problems: tuple[str, ...] = ()


def read_safetensors(file: BinaryIO, size: int) -> TensorFile:
    """Return what the header of an open file of `size` bytes says, and what is wrong with it."""
    try:
        header, data_size = _header(file, size)
    except JsonRefused as refused:
        return TensorFile(problems=(refused.kind,))
    problems: dict[str, None] = {}
    metadata = header.pop("__metadata__", {})
    if not _is_metadata(metadata):
        problems["metadata-malformed"] = None
    types: dict[str, int] = {}
    ranges: list[tuple[int, int]] = []
    for name, entry in header.items():
        if not _NAME.fullmatch(name) or ".." in name:
            problems["tensor-name"] = None
        problems.update(dict.fromkeys(_entry_problems(entry)))
        if isinstance(entry, dict):
            data_type, limits = entry.get("dtype"), entry.get("data_offsets")
            if isinstance(data_type, str) and data_type in BITS:
                types[data_type] = types.get(data_type, 0) + 1
            if isinstance(limits, list) and _is_range(limits):
                ranges.append((limits[0], limits[1]))
    problems.update(dict.fromkeys(_layout_problems(ranges, data_size)))
    held = sum(end - begin for begin, end in ranges)
    return TensorFile(frozenset(header), types, held, tuple(problems))


def _header(file: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """Return the header as an object, and how many bytes follow it (rules 1 and 2)."""
    if size < 8:
        raise JsonRefused("header-too-short")
    (length,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
    if length > MAX_HEADER:
        raise JsonRefused("header-too-long")
    if length > size - 8:
        raise JsonRefused("header-beyond-file")
    raw = file.read(length)
    if len(raw) < length:
        raise JsonRefused("header-beyond-file")
    if not raw.startswith(b"{") or not raw.rstrip(b" ").endswith(b"}"):
        raise JsonRefused("header-malformed")
    if raw.count(b"{") > MAX_TENSORS + 2 or raw.count(b",") > MAX_TENSORS * (MAX_RANK + 5):
        raise JsonRefused("too-many-tensors")
    header = read_json(raw, malformed="header-malformed")
    if not isinstance(header, dict):
        raise JsonRefused("header-malformed")
    return header, size - 8 - length


def _is_metadata(metadata: Any) -> bool:
    return (
        isinstance(metadata, dict)
        and len(metadata) <= MAX_METADATA
        and all(isinstance(text, str) for text in metadata.values())
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_range(limits: Any) -> bool:
    return (
        isinstance(limits, list)
        and len(limits) == 2
        and all(_is_count(limit) for limit in limits)
        and limits[0] <= limits[1]
    )


def _entry_problems(entry: Any) -> Iterator[str]:
    """Yield what is wrong with one tensor's entry (rule 3)."""
    if not isinstance(entry, dict) or not entry.keys() >= _FIELDS:
        yield "tensor-malformed"
        return
    if entry.keys() > _FIELDS:
        yield "unknown-fields"
    data_type, shape, limits = entry["dtype"], entry["shape"], entry["data_offsets"]
    bits = BITS.get(data_type) if isinstance(data_type, str) else None
    has_shape = isinstance(shape, list) and len(shape) <= MAX_RANK and all(_is_count(n) for n in shape)
    if bits is None:
        yield "data-type-unknown"
    if not has_shape:
        yield "shape-malformed"
    if not _is_range(limits):
        yield "range-malformed"
    elif bits is not None and has_shape and not _fits(bits, shape, limits[1] - limits[0]):
        yield "range-size"


def _fits(bits: int, shape: list[int], size: int) -> bool:
    product = bits
    for count in shape:
        product *= count
    return product == size * 8


def _layout_problems(ranges: list[tuple[int, int]], data_size: int) -> Iterator[str]:
    """Yield what is wrong with the ranges together (rule 4)."""
    reached = 0
    for begin, end in sorted(ranges):
        if end > data_size:
            yield "range-beyond-file"
        if begin < reached and begin != end:
            yield "ranges-overlap"
        elif begin > reached:
            yield "ranges-gap"
        reached = max(reached, end)
    if reached < data_size:
        yield "trailing-bytes"
