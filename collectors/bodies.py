"""What the bytes of a body say: content codings (RFC 9110, section 8.4) and JSON, both bounded.

1. A body is kept as it came. It is decoded only to be read, and never to more than a limit: some
   kilobytes of gzip can stand for gigabytes.
2. `identity`, `gzip` and `deflate` are understood. They are answered although nobody asked for them;
   anything else is refused by name.
3. JSON is read strictly: UTF-8 as RFC 8259 wants it between systems, no key twice in an object, no
   NaN or infinity, no number that a double or 64 bits cannot hold, no nesting that exhausts the parser.
4. Nothing but `Unreadable` comes out, with the failure class that it gives.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, NoReturn

from anvil.collectors.interface import Exchange
from anvil.ledger.events.checks import FailureClass

DECODED_LIMIT = 32 << 20
"""How many bytes a body may have when decoded, unless a caller says otherwise."""

_MEMBERS = 256
"""How many members a coded body has at most. What follows a member is copied, so that the time grows with the square."""

_CODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_LARGEST = 1 << 64


class Unreadable(Exception):
    """A body cannot be read. `failure` is the class that a request with such an answer gets."""

    def __init__(self, failure: FailureClass, message: str) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message


def content(exchange: Exchange, limit: int = DECODED_LIMIT) -> bytes:
    """Return the body without its content coding.

    Raises:
        Unreadable: the coding is unknown or broken (`malformed_body`), or more than `limit` bytes
            come out (`body_too_large`).
    """
    named = next(
        (value for name, value in exchange.headers.items() if name.lower() == "content-encoding"), ""
    )
    body = exchange.body
    codings = [coding for coding in (part.strip().lower() for part in named.split(",")) if coding]
    # They were applied in the order in which they are listed.
    for coding in reversed(codings):
        if coding == "identity":
            continue
        if coding not in _CODINGS:
            raise Unreadable("malformed_body", f"the content coding {coding[:40]!r}, which nobody asked for")
        body = _inflated(body, _CODINGS[coding], limit)
    return body


def _inflated(raw: bytes, window: int, limit: int) -> bytes:
    """Decode all members of a body, one after the other."""
    size, rest, plain, members = len(raw), raw, b"", 0
    while rest:
        members += 1
        if members > _MEMBERS:
            raise Unreadable("malformed_body", f"more than {_MEMBERS} members of a content coding")
        unpacker = zlib.decompressobj(window)
        try:
            plain += unpacker.decompress(rest, limit + 1 - len(plain))
        except zlib.error as error:
            raise Unreadable("malformed_body", f"the body's content coding is broken: {error}") from error
        if len(plain) > limit:
            raise Unreadable("body_too_large", f"{size} bytes that decode to more than {limit}")
        if not unpacker.eof:
            raise Unreadable("malformed_body", "the body ends inside its content coding")
        rest = unpacker.unused_data
    return plain


def read_json(raw: bytes | str) -> Any:
    """Return the value that a JSON text stands for.

    Raises:
        Unreadable: it is no JSON, or JSON that two readers could read differently (`malformed_body`).
    """
    try:
        text = raw if isinstance(raw, str) else raw.decode()
        return _DECODER.decode(text)
    except RecursionError as error:
        raise Unreadable("malformed_body", "JSON nested too deep to be read") from error
    except ValueError as error:
        raise Unreadable("malformed_body", f"{type(error).__name__}: {error}") from error


def read_object(raw: bytes | str) -> dict[str, Any]:
    """Return the object that a JSON text stands for.

    Raises:
        Unreadable: as `read_json`, or it is JSON but no object (`malformed_body`).
    """
    value = read_json(raw)
    if not isinstance(value, dict):
        raise Unreadable("malformed_body", f"JSON, but no object: {type(value).__name__}")
    return value


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(members)
    if len(made) != len(members):
        raise ValueError("a key stands twice in one object")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _double(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("a number larger than a double holds")
    return number


def _integer(text: str) -> int:
    # Digits are counted first: to convert a million of them takes time that grows with the square.
    if len(text) > 21 or abs(number := int(text)) >= _LARGEST:
        raise ValueError("an integer that 64 bits cannot hold")
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_double, parse_int=_integer
)
