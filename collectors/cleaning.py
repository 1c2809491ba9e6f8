"""Events without secrets: what an endpoint or a log says may repeat one, and sealed texts are kept too."""

from __future__ import annotations

from typing import Any, TypeVar

from anvil.collectors.withholding import Secrets, clean_text
from anvil.ledger.events import Event

EventT = TypeVar("EventT", bound=Event)


def clean_event(event: EventT, secrets: Secrets) -> EventT:
    """Return `event` with what must not leave withheld from every sealed text."""
    cleaned = {name: _clean(getattr(event, name), secrets) for name in event.sealed_fields}
    return event.model_copy(update=cleaned) if cleaned else event


def _clean(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return clean_text(value, secrets)
    if isinstance(value, list):
        return [_clean(item, secrets) for item in value]
    return value
