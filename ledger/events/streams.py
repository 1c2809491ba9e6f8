"""Events that open and end streams."""

from __future__ import annotations

from typing import ClassVar, Literal

from anvil.ledger.events.base import Event
from anvil.ledger.public import Count, HeaderHash, Label, Role, StreamId, Version

_ANY_RECORDER: frozenset[Role] = frozenset({"root", "operator", "collector"})


class StreamOpened(Event):
    """A recording session begins. Always the first event of its stream (but see `ledger.created`)."""

    signed_by: ClassVar[frozenset[Role]] = _ANY_RECORDER
    type: Literal["stream.opened/1"] = "stream.opened/1"
    purpose: Label
    """What is being recorded: `observation`, `keys`, `run`, …"""
    synthetic: bool
    """True for tests and demonstrations: such a stream is never released."""
    software: Version
    """The version of anvil that records."""


class StreamClosed(Event):
    """A recording session ended. Nothing follows it in its stream, so that silence can be told from loss."""

    signed_by: ClassVar[frozenset[Role]] = _ANY_RECORDER
    type: Literal["stream.closed/1"] = "stream.closed/1"
    outcome: Literal["completed", "aborted"]
    """Whether the session did what it set out to do."""
    reason: Label | None
    """Why it was aborted, as one word of the recorder's; null when completed."""


class StreamAbandoned(Event):
    """Somebody else found a stream that was never closed, and ends it. Nothing follows in that stream."""

    signed_by: ClassVar[frozenset[Role]] = _ANY_RECORDER
    type: Literal["stream.abandoned/1"] = "stream.abandoned/1"
    abandoned: StreamId
    """The stream that is ended; never the one this event is in."""
    last_seq: Count
    """The sequence number of the last event in it."""
    last_header: HeaderHash
    """The hash of that event's header."""
    reason: Label
    """Why: `crashed`, `restored`, …"""
