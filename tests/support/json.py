"""Hypothesis strategies for JSON of the restricted profile and for JSON outside it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

MAX_INTEGER = 2**53 - 1

CONTROLS = "".join(map(chr, range(0x20))) + "\x7f\x80\x9f"
"""Every control character; RFC 8785 escapes the first 32 and no other."""

AWKWARD = CONTROLS + '"\\/\u2028\u2029\ufeff\ufb33\uffff\U00010000\U0001f602\U0010ffff</script>'
"""Characters that JSON writers escape differently, or that sort differently by UTF-16 unit."""

keys = st.text("abcdefghijklmnopqrstuvwxyz0123456789_", min_size=1, max_size=12)
integers = st.integers(-MAX_INTEGER, MAX_INTEGER)
strings = st.text(max_size=30) | st.text(AWKWARD, max_size=30)
scalars = st.none() | st.booleans() | integers | strings

values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=20,
)
"""Values inside the profile."""

foreign: st.SearchStrategy[Any] = st.recursive(
    scalars | st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)
"""Any JSON: with floats, large integers and other keys."""
