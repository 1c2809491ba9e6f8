"""What is asked before public words are appended or bytes disclosed: what is in the log stays there for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from anvil.ledger.events import TripwireExcepted
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import Store
from anvil.projections.tripwire.canaries import Canaries
from anvil.projections.tripwire.scanning import Excused, Tripwire, refuse
from anvil.projections.tripwire.sealed import sealed_values

_STAYS_PRIVATE = (
    "Nothing was written; there is no way to force it. Disclose its digest alone (--digest-only), or publish a sentence "
    "of it: `anvil approve`."
)


def require_publishable(
    place: LedgerPlace | None,
    words: Mapping[str, str],
    surroundings: Iterable[tuple[str, str]],
    approving: Mapping[tuple[str, str], str],
    exceptions: Iterable[TripwireExcepted] = (),
) -> None:
    """Look at words that are about to stand in the log of `place`, by what they are called.

    The canaries are `surroundings` and everything that is sealed in the ledger, whatever stream it is in,
    but for what is approved (see `sealed`). `exceptions` are those in force. Without a place nothing is sealed.

    Raises:
        TripwireHit: one holds what must not be published.
        TripwireBroken: the tripwire cannot be relied on.
    """
    excused = [Excused(event.detector, event.text) for event in exceptions]
    _tripwire(place, surroundings, approving, excused).require_clean(words.items())


def require_disclosable(
    place: LedgerPlace,
    name: str,
    text: str,
    surroundings: Iterable[tuple[str, str]],
    exceptions: Mapping[str, TripwireExcepted],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[str, ...]:
    """Look through the text of an artifact that everybody is about to get; return the exceptions that were used.

    The canaries are those of `require_publishable`; `exceptions` are those in force, by entry hash; `progress`
    is told how many lines of how many have been looked at.

    Raises:
        TripwireHit: it holds what must not be published.
        TripwireBroken: the tripwire cannot be relied on.
    """
    by_text = {Excused(event.detector, event.text): one for one, event in exceptions.items()}
    tripwire = _tripwire(place, surroundings, {}, by_text)
    refuse(tripwire.look_through(name, text, progress), _STAYS_PRIVATE)
    return tuple(sorted(by_text[excused] for excused in tripwire.used))


def _tripwire(
    place: LedgerPlace | None,
    surroundings: Iterable[tuple[str, str]],
    approving: Mapping[tuple[str, str], str],
    excused: Iterable[Excused],
) -> Tripwire:
    """Return a tripwire for a ledger, with everything that is sealed there as canaries; for none, without."""
    sealed, known = _of_ledger(place, approving) if place is not None else ([], [])
    return Tripwire(Canaries.of([*surroundings, *sealed]), excused, known=known)


def _of_ledger(
    place: LedgerPlace, approving: Mapping[tuple[str, str], str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return what is sealed in a ledger, and what everybody may know of it: its name."""
    store = Store.open_readonly(place.database)
    try:
        return list(sealed_values(store, None, approving)), [store.origin()]
    finally:
        store.close()
