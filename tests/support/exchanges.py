"""Exchanges made without a socket: what the client would return."""

from __future__ import annotations

from typing import Any

from anvil.collectors.interface import Exchange
from anvil.ledger.events.checks import FailureClass
from support.endpoint import Reply, events


def exchange_of(reply: Reply, failure: FailureClass | None = None, message: str = "") -> Exchange:
    """What the client would return for a reply."""
    headers = {"content-type": reply.content_type, **reply.headers}
    return Exchange(b"{}", 0, 1, reply.status, headers, reply.content(), (), failure, message)


def of_json(value: object, status: int = 200) -> Exchange:
    return exchange_of(Reply.of_json(value, status))


def of_stream(*chunks: Any, done: bool = True) -> Exchange:
    return exchange_of(Reply.of_events(events(*chunks, done=done)))
