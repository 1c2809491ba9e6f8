"""One entry as it is read for what it states: its header, and the event.

1. An event of a type or version that this build does not know, and one that does not fit its type, was written
   by another anvil. It is refused with its index, its type and what to do; nothing is skipped in silence.
2. Verifying does not come by here: signatures, chains and proofs hold for entries that nobody can read.
"""

from __future__ import annotations

from collections.abc import Mapping

from anvil.ledger.commitments import Opening
from anvil.ledger.envelope import Envelope
from anvil.ledger.errors import MalformedEvent, UnknownEventType
from anvil.ledger.events import AnyEvent, decode, is_known
from anvil.ledger.header import Header


def read_entry(index: int, entry: bytes) -> tuple[Header, AnyEvent]:
    """Return the header of the entry at `index` and the event that it states; what is sealed stays a commitment.

    Raises:
        UnknownEventType, MalformedEvent: as for `stated`.
        Malformed: it is no entry.
    """
    header = Header.parse(Envelope.parse(entry).header)
    return header, stated(index, header)


def stated(index: int, header: Header, sealed: Mapping[str, Opening | str] | None = None) -> AnyEvent:
    """Return the event that the header at `index` states; `sealed` has openings where they are at hand.

    Raises:
        UnknownEventType: another anvil wrote it, in a type or version that this one does not know.
        MalformedEvent: another anvil wrote it, in a shape that this one does not know.
        MalformedCanonical: an opened value is not canonical JSON.
    """
    try:
        return decode(header.event, header.facts, header.sealed if sealed is None else sealed)
    except UnknownEventType as error:
        raise _unknown(index, header.event) from error
    except MalformedEvent as error:
        raise MalformedEvent(
            f"event {index} is a {header.event} in a shape that this anvil does not know: {_WROTE_IT}",
            advice=f"{_advice(index)} With --debug stands what does not fit.",
        ) from error


def require_known(index: int, event_type: str) -> None:
    """Refuse a type or version that this build does not know; `index` is where it stands.

    Raises:
        UnknownEventType: it is none.
    """
    if not is_known(event_type):
        raise _unknown(index, event_type)


_WROTE_IT = "another anvil wrote it, an earlier or a later one"


def _unknown(index: int, event_type: str) -> UnknownEventType:
    return UnknownEventType(
        f"event {index} is a {event_type}, which this anvil does not know: {_WROTE_IT}", advice=_advice(index)
    )


def _advice(index: int) -> str:
    return (
        "Use the anvil that wrote this ledger, or begin a new one (`anvil --ledger NEW init`). "
        f"`anvil log`, `anvil show {index}` and `anvil verify` read it all the same."
    )
