"""Pseudonyms: what a document says in place of the names of hosts, GPUs and placements.

1. A pseudonym is an ordinal by first appearance in one document: `host-1`, `gpu-2`, `placement-1`. The same
   name has the same one wherever the document names it, and different names have different ones; so what is
   equal can be seen, and nothing else.
2. It is a figure that rests on what the name rests on. Its rule says that it is a pseudonym, never of what.
3. Only clear fields are named so. What is sealed cannot be a figure, and nobody who has only the publication
   could make the document again from it. So a host is told apart by the ledger that recorded it, since each host has
   its own, and a GPU by its host and its position there, which may change when the host starts again.
4. Each document has its own: nothing is carried from one to another, where two together would tell more.
"""

from __future__ import annotations

from typing import Literal

from pydantic import TypeAdapter

from anvil.ledger.public import Pseudonym
from anvil.projections.figures import Figure, Source, Value, derive
from anvil.projections.record import Kept

Named = Literal["host", "gpu", "placement"]

_PSEUDONYM: TypeAdapter[str] = TypeAdapter(Pseudonym)


class Pseudonyms:
    """Those of one document, in the order in which it asks for them."""

    def __init__(self) -> None:
        self._known: dict[tuple[Named, Value], str] = {}

    def of(self, kind: Named, name: Figure) -> Figure:
        """Return what stands for a name; null stays null.

        Raises:
            ValidationError: there are more of a kind than a document can name (9999).
        """
        if name.value is None:
            return derive(f"no {kind} is named", lambda _: None, name)
        rule = f"a {kind} by the order in which the document names it"
        return derive(rule, lambda value: self._ordinal(kind, value), name)

    def host(self, look: Source, kept: Kept) -> Figure:
        """Return what stands for the host that was looked at."""
        return self.of("host", _host(look, kept))

    def gpu(self, look: Source, kept: Kept, at: int) -> Figure:
        """Return what stands for a GPU of the host that was looked at, by its number in the look."""
        position = look.stated("gpus", at, "position")
        place = derive("a host and a position", lambda host, n: f"{host} {n}", _host(look, kept), position)
        return self.of("gpu", place)

    def _ordinal(self, kind: Named, value: Value) -> str:
        known = self._known.get((kind, value))
        if known is None:
            number = 1 + sum(1 for other, _ in self._known if other == kind)
            known = self._known[kind, value] = _PSEUDONYM.validate_python(f"{kind}-{number}")
        return known


def _host(look: Source, kept: Kept) -> Figure:
    return look.marked("a host by the ledger that recorded it", kept.ledger)
