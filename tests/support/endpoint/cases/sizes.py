"""Sizes and content codings (case 25)."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from functools import cache

from support.endpoint.cases.table import GOOD, MIB, add, spell, words
from support.endpoint.wire import Reply, Step, events


def _long_line() -> Iterator[Step]:
    yield b"data: "
    for _ in range(200):
        yield b"x" * MIB


@cache
def _bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([packer.compress(bytes(MIB)) for _ in range(64)] + [packer.flush()])


def _million() -> Iterator[Step]:
    block = events(*words("x"), done=False)[0] * 1000
    for _ in range(1000):
        yield block


_GZIP = {"content-encoding": "gzip"}
add("body_200_mb", "25: 200 MiB of one line", lambda: Reply.of_events(_long_line()))
add(
    "gzip_body",
    "25: gzip although identity was asked for",
    lambda: Reply.of_events([gzip.compress(spell(GOOD), mtime=0)], headers=_GZIP),
)
add("gzip_bomb", "25: 64 MiB of zeros in 64 KiB of gzip", lambda: Reply(_bomb(), headers=_GZIP))
add(
    "gzip_cut",
    "gzip that ends early",
    lambda: Reply(gzip.compress(spell(GOOD), mtime=0)[:-20], headers=_GZIP),
)
add(
    "coding_unknown",
    "a content coding that nobody asked for",
    Reply(b"\x1b\x00", headers={"content-encoding": "br"}),
)
add("million_events", "25: a million events", lambda: Reply.of_events(_million()))
