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


def follow(head: StreamHead | None, header: Header) -> StreamHead:
    """Return the head after `header`, which must come right after `head` (None: a new stream).

    Raises:
        ChainBroken: the event does not follow; the message says expected and found.
    """
    if head is not None and head.stream != header.stream:
        raise ChainBroken(f"stream {header.stream} at {header.stream_seq}: expected stream {head.stream}")
    _require_order(head, header)
    if head is not None and (head.key, head.ledger) != (header.key, header.ledger):
        raise ChainBroken(
            f"stream {header.stream} at {header.stream_seq}: expected key {head.key[:16]} of {head.ledger}, "
            f"found {header.key[:16]} of {header.ledger}"
        )
    return head_after(header)


def head_after(header: Header) -> StreamHead:
    """Return the head that `header` leaves, whatever came before it."""
    return StreamHead(
        header.stream,
        header.ledger,
        header.key,
        header.stream_seq,
        header_hash(header.raw),
        "closed" if family(header.event) == CLOSING_FAMILY else "open",
    )


def _require_order(head: StreamHead | None, header: Header) -> None:
    where = f"stream {header.stream} at {header.stream_seq}"
    opens = family(header.event) in OPENING_FAMILIES
    if head is None:
        if header.stream_seq != 0:
            raise ChainBroken(f"{where}: expected 0, the stream has no earlier event here")
        if not opens:
            raise ChainBroken(f"{where}: expected an opening event, found {header.event}")
        return
    if head.state != "open":
        raise ChainBroken(f"{where}: expected nothing after the stream was {head.state}")
    if header.stream_seq != head.seq + 1:
        raise ChainBroken(f"{where}: expected sequence number {head.seq + 1}")
    if header.stream_prev != head.header_hash:
        raise ChainBroken(
            f"{where}: expected predecessor {head.header_hash[:16]}, found {str(header.stream_prev)[:16]}"
        )
    if opens:
        raise ChainBroken(f"{where}: {header.event} inside a stream that is already open")
