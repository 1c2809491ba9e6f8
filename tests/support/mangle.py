"""Bytes that are nearly right: what a careless copy or a forger makes of a valid file."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st


@st.composite
def mangled(draw: st.DrawFn, raw: bytes) -> bytes:
    """Draw `raw` with one to four edits: bytes changed, removed, repeated or put in."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 12)))
        piece = draw(
            st.binary(max_size=12) | st.sampled_from([b"\n", b"\n\n", b" ", b"=", b"+", raw[start:end] * 2])
        )
        raw = raw[:start] + piece + raw[end:]
    return raw


def assert_every_flip_refused(
    raw: bytes, use: Callable[[bytes], object], refusal: type[Exception] | tuple[type[Exception], ...]
) -> None:
    """XOR each byte of `raw` with 0x01 and with 0xFF, one at a time, and see `use` refuse each."""
    for position in range(len(raw)):
        for mask in (0x01, 0xFF):
            flipped = bytearray(raw)
            flipped[position] ^= mask
            with pytest.raises(refusal):
                use(bytes(flipped))
