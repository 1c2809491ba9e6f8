"""JSON as it is read from a stranger: no key twice, no number that is none, no depth without end."""

from __future__ import annotations

import json
from typing import Any

MAX_DIGITS = 25
"""Digits of an integer at most; sizes and offsets have fewer."""


class JsonRefused(ValueError):
    """Bytes are not JSON that is read here; `kind` says why, from `findings.KINDS`."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


def read_json(raw: bytes, *, malformed: str) -> Any:
    """Return what `raw` says; `malformed` is the kind for what is no JSON.

    Raises:
        JsonRefused: it is no JSON, nests too deeply, or has a key twice in one object.
    """
    try:
        return json.loads(
            raw.decode("utf-8"), object_pairs_hook=_members, parse_constant=_no_number, parse_int=_integer
        )
    except RecursionError:
        raise JsonRefused("too-nested") from None
    except JsonRefused:
        raise
    except ValueError:
        raise JsonRefused(malformed) from None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise JsonRefused("duplicate-keys")
    return members


def _no_number(text: str) -> None:
    raise ValueError(text)


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError("an integer of too many digits")
    return int(text)
