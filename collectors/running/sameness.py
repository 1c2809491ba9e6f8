"""Whether the engine that answers is the one on which an attempt was measured so far.

1. Whenever an attempt goes on, in a launch of its own or in a run that goes on with another, the engine is asked who it
   is before anything is checked or measured.
2. It is compared with who answered first, in the oldest run of those that go on with one another in which the engine
   was asked, and with everybody since who was not another: what nobody could say at first somebody may have said later.
   A source that says something else now, in the clear or under seal, says that it is another one.
3. Then the attempt ends. What is left of it leaves no figure and no verdict, and can be gone on with on the engine that
   it was begun with; on the other one an attempt begins anew. Never is one attempt made of two engines.
"""

from __future__ import annotations

from collections.abc import Iterable

from anvil.ledger.errors import CollectorError
from anvil.ledger.events import EngineIdentified
from anvil.ledger.events.engines import contradictions


class AnotherEngine(CollectorError):
    """Another engine answers than the one that an attempt was begun on."""


def other_than(known: Iterable[EngineIdentified], found: EngineIdentified) -> str | None:
    """Say in what an engine is another than the one that is `known` by several looks; null while nothing says so."""
    differ = dict.fromkeys(name for one in known for name in contradictions(one, found))
    if not differ:
        return None
    named = ", ".join(name.replace(" ", ": ").replace("_", " ") for name in differ)
    return f"another engine answers than the one that it was begun on ({named})"


def of_one_engine(looks: Iterable[EngineIdentified]) -> tuple[EngineIdentified, ...]:
    """Return the looks at the engine of the first of them; those at another one are left out (rule 2)."""
    known: list[EngineIdentified] = []
    for found in looks:
        if other_than(known, found) is None:
            known.append(found)
    return tuple(known)
