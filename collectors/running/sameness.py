"""Whether the engine that answers is the one on which an attempt was measured so far.

1. Whenever an attempt goes on, in a launch of its own or in a run that goes on with another, the engine is asked who it
   is before anything is checked or measured.
2. It is compared with who answered first: the oldest run of those that go on with one another in which the engine was
   asked. A source that says something else now, in the clear or under seal, says that it is another one.
3. Then the attempt ends. What is left of it leaves no figure and no verdict, and can be gone on with on the engine that
   it was begun with; on the other one an attempt begins anew. Never is one attempt made of two engines.
"""

from __future__ import annotations

from anvil.ledger.errors import CollectorError
from anvil.ledger.events import EngineIdentified
from anvil.ledger.events.engines import contradictions


class AnotherEngine(CollectorError):
    """Another engine answers than the one that an attempt was begun on."""


def other_than(known: EngineIdentified | None, found: EngineIdentified) -> str | None:
    """Say in what an engine is another than the one that is known; null while nothing says so."""
    differ = () if known is None else contradictions(known, found)
    if not differ:
        return None
    named = ", ".join(name.replace(" ", ": ").replace("_", " ") for name in differ)
    return f"another engine answers than the one that it was begun on ({named})"
