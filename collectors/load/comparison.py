"""What differs between rows that were kept and rows that were made again: nothing, or each member by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from anvil.ledger import canonical
from anvil.ledger.errors import MalformedCanonical


def differences(kept: bytes, made: bytes) -> Iterator[str]:
    """Yield one sentence for each difference; none exactly when the bytes are equal.

    Line 1 is the one about the run.
    """
    if kept == made:
        return
    is_told = False
    for number, (old, new) in enumerate(zip_longest(_lines(kept), _lines(made)), 1):
        if old == new:
            continue
        is_told = True
        if old is None or new is None:
            yield f"line {number}: {'made' if old is None else 'kept'} only"
            continue
        try:
            yield from _members(number, canonical.read(old), canonical.read(new))
        except MalformedCanonical as error:
            yield f"line {number}: what was kept is no row: {error}"
    if not is_told:
        yield "the ends of the files differ"


def _lines(raw: bytes) -> list[bytes]:
    return raw.removesuffix(b"\n").split(b"\n")


def _members(number: int, old: Any, new: Any) -> Iterator[str]:
    if not isinstance(old, dict) or not isinstance(new, dict):
        yield f"line {number}: what was kept is no row"
        return
    for name in sorted({*old, *new}):
        if old.get(name, ...) != new.get(name, ...):
            yield f"line {number}: {name}: kept {_told(old, name)}, made {_told(new, name)}"


def _told(members: dict[str, Any], name: str) -> str:
    return canonical.spell(members[name]).decode()[:80] if name in members else "nothing"
