"""Pseudonyms: what a document says in place of the names of hosts, GPUs and placements.

1. A pseudonym is an ordinal by first appearance in one document: `host-1`, `gpu-2`, `placement-1`. The same
   name has the same one wherever the document names it, and different names have different ones; so what is
   equal can be seen, and nothing else.
2. It is a figure that rests on what the name rests on. Its rule says that it is a pseudonym, never of what.
3. Only clear fields are named so. What is sealed cannot be a figure, and nobody who has only the publication
   could make the document again from it.
4. Each document has its own: nothing is carried from one to another, where two together would tell more.
"""

from __future__ import annotations

from typing import Literal

from pydantic import TypeAdapter

from anvil.ledger.public import Pseudonym
from anvil.projections.figures import Figure, Value, derive

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
        rule = f"a {kind} by the order in which the document names it"
        return derive(rule, lambda value: None if value is None else self._ordinal(kind, value), name)

    def _ordinal(self, kind: Named, value: Value) -> str:
        known = self._known.get((kind, value))
        if known is None:
            number = 1 + sum(1 for other, _ in self._known if other == kind)
            known = self._known[kind, value] = _PSEUDONYM.validate_python(f"{kind}-{number}")
        return known
