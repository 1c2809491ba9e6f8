"""Events without secrets: what an endpoint or a log says may repeat one.

1. Sealed texts are cleaned as text: they are kept in the database too.
2. A public fact that holds the value of a secret is null: a served name or a finish reason is whatever
   the endpoint says it is. A word of our own that happens to be one stays, since it tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from anvil.collectors.withholding import Secrets, clean_text
from anvil.ledger.events import Event

EventT = TypeVar("EventT", bound=Event)


def clean_event(event: EventT, secrets: Secrets) -> EventT:
    """Return `event` with what must not leave withheld."""
    public = event.model_dump(exclude=set(event.sealed_fields))
    sealed = {name: _clean(getattr(event, name), secrets) for name in event.sealed_fields}
    kept = _without(public, secrets)
    if kept != public:
        try:
            return type(event).model_validate({**kept, **sealed})
        except ValidationError:  # where null cannot stand, the word is ours
            pass
    return event.model_copy(update=sealed) if sealed else event


def fitting(rows: Iterable[Sequence[str]], *, most: int = 50_000, longest: int = 4096) -> list[list[str]]:
    """Return as many rows of texts from elsewhere as a sealed field holds, in a form that it can hold.

    `most` are bytes of all together, `longest` characters of one text. What is no text (half of a surrogate
    pair) is escaped.
    """
    kept: list[list[str]] = []
    for row in rows:
        texts = [text[:longest].encode("utf-8", "backslashreplace").decode() for text in row]
        most -= sum(len(text.encode()) + text.count("\\") + 6 for text in texts)
        if most < 0:
            break
        kept.append(texts)
    return kept


def _clean(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return clean_text(value, secrets)
    if isinstance(value, list):
        return [_clean(item, secrets) for item in value]
    return value


def _without(value: Any, secrets: Secrets) -> Any:
    if isinstance(value, str):
        return None if _holds_one(value, secrets) else value
    if isinstance(value, dict):
        return {name: _without(item, secrets) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without(item, secrets) for item in value)
    return value


def _holds_one(text: str, secrets: Secrets) -> bool:
    known = (secrets.anywhere, secrets.alone, secrets.in_base64)
    return any(pattern.search(text) for pattern in known if pattern is not None)
