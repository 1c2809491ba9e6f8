"""Streams: how the events of one recording session hang together.

1. The first event of a stream has sequence number 0, no predecessor, and is ``stream.opened`` or
   ``ledger.created``.
2. Each later event has the next number and names the hash of the header before it.
3. Every event of a stream names the same key and the same home ledger.
4. Nothing follows ``stream.closed``, nor ``stream.abandoned`` in another stream that ends this one.

The hash link is inside what is signed, so nobody can drop, swap or insert an event in the middle
of a stream unseen; and since it does not depend on the log, a stream can be signed outside the
write lock and copied into another log as it is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from anvil.ledger.errors import ChainBroken
from anvil.ledger.header import Header, family, header_hash

OPENING_FAMILIES = frozenset({"stream.opened", "ledger.created"})
CLOSING_FAMILY = "stream.closed"


class StreamHead(NamedTuple):
    """Where a stream stands after its last event."""

    stream: str
    ledger: str
    key: str
    seq: int
    header_hash: str
    state: Literal["open", "closed", "abandoned"] = "open"

    def abandoned(self) -> StreamHead:
        """Return the head after an event elsewhere ended the stream."""
        return self._replace(state="abandoned")


def follow(head: StreamHead | None, header: Header, known_hash: str = "") -> StreamHead:
    """Return the head after `header`, which must come right after `head` (None: a new stream).

    `known_hash` is the header's hash where the caller has just computed it.

    Raises:
        ChainBroken: the event does not follow; the message says expected and found.
    """
    problem = _begins(header) if head is None else _goes_on(head, header)
    if problem is not None:
        raise ChainBroken(f"stream {header.stream} at {header.stream_seq}: {problem}")
    return head_after(header, known_hash)


def head_after(header: Header, known_hash: str = "") -> StreamHead:
    """Return the head that `header` leaves, whatever came before it."""
    return StreamHead(
        header.stream,
        header.ledger,
        header.key,
        header.stream_seq,
        known_hash or header_hash(header.raw),
        "closed" if _closes(header.event) else "open",
    )


def _begins(header: Header) -> str | None:
    """Return why `header` cannot be the first of its stream."""
    if header.stream_seq != 0:
        return "expected 0, the stream has no earlier event here"
    return None if _opens(header.event) else f"expected an opening event, found {header.event}"


def _goes_on(head: StreamHead, header: Header) -> str | None:
    """Return why `header` does not come right after `head`."""
    if head.stream != header.stream:
        return f"expected stream {head.stream}"
    if head.state != "open":
        return f"expected nothing after the stream was {head.state}"
    if header.stream_seq != head.seq + 1:
        return f"expected sequence number {head.seq + 1}"
    if header.stream_prev != head.header_hash:
        return f"expected predecessor {head.header_hash[:16]}, found {str(header.stream_prev)[:16]}"
    if _opens(header.event):
        return f"{header.event} inside a stream that is already open"
    if head.key != header.key or head.ledger != header.ledger:
        return f"expected key {head.key[:16]} of {head.ledger}, found {header.key[:16]} of {header.ledger}"
    return None


@lru_cache(maxsize=1024)
def _opens(event_type: str) -> bool:
    return family(event_type) in OPENING_FAMILIES


@lru_cache(maxsize=1024)
def _closes(event_type: str) -> bool:
    return family(event_type) == CLOSING_FAMILY
