r"""Canonical JSON: one value, one sequence of bytes (RFC 8785, restricted profile).

1. Text is UTF-8 without lone surrogates and without a byte-order mark.
2. Values are objects, arrays, strings, booleans, null and integers with ``|n| <= 2**53 - 1``.
   There are no floats: a measured value is an integer with its unit in the name.
3. Keys are made of ``a-z 0-9 _``, so sorting them by byte is RFC 8785's order by UTF-16 unit.
4. Reading is parsing, encoding again and comparing the bytes. That refuses duplicate keys,
   blanks, other escapes, ``-0``, integers that became floats, and whatever else two readers
   could take differently.

On this profile orjson with sorted keys writes RFC 8785 bytes; the tests hold it against an
independent implementation.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import orjson

from anvil.ledger.errors import MalformedCanonical

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER

_KEY = re.compile(r"[a-z0-9_]+")
_PLAIN = frozenset({str, int, bool, type(None)})


def encode(value: Any) -> bytes:
    """Return the canonical bytes of `value`.

    Raises:
        MalformedCanonical: the value is outside the profile (a float, a large integer, a key
            with other characters, a lone surrogate, a type that is not JSON).
    """
    try:
        require_profile(value)
    except RecursionError as error:
        raise MalformedCanonical("not canonical JSON: nested too deeply") from error
    return spell(value)


def decode(raw: bytes) -> Any:
    """Return the value of canonical bytes, refusing every other spelling of it.

    Raises:
        MalformedCanonical: `raw` is not JSON, not in the profile, or not spelled canonically.
    """
    value = read(raw)
    require_profile(value)
    return value


def spell(value: Any) -> bytes:
    """Return the bytes of a value whose keys and numbers are known to be in the profile.

    `encode` is this and the check; a caller that has typed every member itself saves the check.

    Raises:
        MalformedCanonical: the value cannot be spelled.
    """
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except (TypeError, RecursionError) as error:
        raise MalformedCanonical(f"not canonical JSON: {error}") from error


def read(raw: bytes) -> Any:
    """Return the value of canonically spelled bytes, its keys and numbers not yet checked (rules 2, 3).

    Raises:
        MalformedCanonical: `raw` is not JSON or is spelled in another way.
    """
    try:
        value = orjson.loads(raw)
        again = orjson.dumps(value, option=_OPTIONS)
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedCanonical(f"not canonical JSON: {error}") from error
    if again != raw:
        raise MalformedCanonical(_difference(raw, again))
    return value


def require_profile(value: Any) -> None:
    """Check rules 2 and 3, except for the size of integers, which spelling checks.

    Raises:
        MalformedCanonical: a float, a key with other characters, or a type that is not JSON.
    """
    kind = type(value)
    if kind in _PLAIN:
        return
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not _is_key(key):
                raise MalformedCanonical(
                    f"not canonical JSON: a key is made of a-z 0-9 _, found {str(key)[:60]!r}"
                )
            if type(item) not in _PLAIN:
                require_profile(item)
    elif kind is list or kind is tuple:
        for item in value:
            require_profile(item)
    elif kind is float:
        raise MalformedCanonical(f"not canonical JSON: there are no floats, found {value!r}")
    else:
        raise MalformedCanonical(f"not canonical JSON: {kind.__name__} is no JSON type")


@lru_cache(maxsize=256)  # the same few keys stand in every event
def _is_key(text: str) -> bool:
    return _KEY.fullmatch(text) is not None


def _difference(raw: bytes, canonical: bytes) -> str:
    at = next((i for i, (a, b) in enumerate(zip(raw, canonical, strict=False)) if a != b), None)
    if at is None:
        at = min(len(raw), len(canonical))
    return f"not canonical JSON: at byte {at} expected {canonical[at : at + 24]!r}, found {bytes(raw[at : at + 24])!r}"
