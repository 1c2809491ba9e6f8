"""A real ledger with every event type in it, in which whatever is not public holds a value of its own.

1. Each type is recorded as the story tells it, about one attempt. In each sealed field, and in the bytes of a
   private artifact that each event gets, stands what `withheld` gives for its place, such as
   `check.completed messages`; the same place twice gives the same value.
2. The types of `BY_THE_LEDGER` hold nothing private and are made by the ledger's own work. A type that is in
   neither group fails: whoever adds one says here how it is recorded.
3. The names of placements are labels, clear in events and withheld from documents: they come from `withheld_label`.
4. One document of each schema is imported into the campaign, so that every kind of document can be made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from anvil.ledger.creation import create_ledger
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import CATALOGUE, AnyEvent, Event, RecipeDeclared
from anvil.ledger.events.base import build
from anvil.ledger.header import Subject
from anvil.ledger.keychanges import add_key, new_signer, revoke_key, rotate_key
from anvil.ledger.places import LedgerPlace
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import Stream, record
from support.importing import taken_apart
from support.published import DOCUMENTS, spelled
from support.story import STORY_BY_TYPE

ORIGIN = "saturated.tests.example"
CAMPAIGN, CANDIDATE, ATTEMPT = "qwen38-27b", "official_fp8", "a1"
SUBJECT = Subject(CAMPAIGN, CANDIDATE, ATTEMPT)

BY_THE_LEDGER = frozenset(
    {
        "ledger.created",
        "key.added",
        "key.rotated",
        "key.revoked",
        "stream.opened",
        "stream.closed",
        "stream.abandoned",
    }
)
"""Families that hold nothing private and are not recorded one by one (rule 2)."""

_TAKES_BACK = frozenset({"event.retracted", "sealed.redacted", "artifact.redacted", "artifact.missing"})
"""Families that would take what they name out of the documents; they are recorded once: of what they name the second stands."""

Withheld = Callable[[str], str]


def noon() -> datetime:
    """When all of it is recorded."""
    return datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass
class Saturated:
    """The ledger, and the value at each place that is not public."""

    place: LedgerPlace
    values: dict[str, str] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    """The types that were recorded one by one."""


def saturated(
    directory: Path, withheld: Withheld, withheld_label: Withheld = str, origin: str = ORIGIN
) -> Saturated:
    """Make the ledger."""
    place = create_ledger(directory, origin, clock=noon).place
    made = Saturated(place)
    with Ledger.open(directory, clock=noon) as ledger:
        _keys(ledger)
        _abandoned(ledger)
        hashes: dict[str, str] = {}
        for told in sorted(STORY_BY_TYPE.values(), key=lambda told: told.index):
            family = told.event.type.partition("/")[0]
            if family in BY_THE_LEDGER:
                assert not told.event.sealed_fields, f"{family} has something private"
                continue
            event = _filled(told.event, made, withheld, withheld_label, hashes)
            made.recorded.add(event.type)
            times = 1 if family in _TAKES_BACK else 2
            hashes[told.leaf] = _record(ledger, event, times, made, withheld)
        _import(ledger)
        missing = (
            CATALOGUE.keys() - made.recorded - {n for n in CATALOGUE if n.partition("/")[0] in BY_THE_LEDGER}
        )
        assert not missing, f"no place for {missing}: say in tests/support/saturated.py how it is recorded"
    return made


def _keys(ledger: Ledger) -> None:
    """Add, rotate and revoke a key."""
    new = new_signer(ledger, "collector", agent_key=None, encrypt=False)
    add_key(ledger, "collector", new)
    key = ledger.keyring().keys[new.public_key.key_id]
    other = new_signer(ledger, "collector", agent_key=None, encrypt=False)
    rotate_key(ledger, key, other)
    revoke_key(ledger, ledger.keyring().keys[other.public_key.key_id], "retired", None)


def _abandoned(ledger: Ledger) -> None:
    """Leave a stream open, and end it from another."""
    from anvil.ledger.events import StreamAbandoned

    stream = Stream(ledger, ledger.signer("collector"))
    stream.open("run")
    head = ledger.head(stream.id)
    assert head is not None
    ended = StreamAbandoned(
        abandoned=stream.id, last_seq=head.seq, last_header=head.header_hash, reason="crashed"
    )
    record(ledger, ledger.signer("collector"), [Draft(ended)], purpose="recovery")


def _filled(
    event: AnyEvent, made: Saturated, withheld: Withheld, label: Withheld, hashes: Mapping[str, str]
) -> Event:
    """Return the event with a value in each sealed field, naming the events of this ledger."""
    text = json.dumps(event.facts())
    for old, new in hashes.items():
        text = text.replace(old, new)
    fields: dict[str, Any] = json.loads(text)
    if "placement" in fields:
        fields["placement"] = label(f"of-{ATTEMPT}")
    if isinstance(event, RecipeDeclared):
        for plan in fields["attempts"]:
            plan["placement"] = label(f"of-{plan['key']}")
    if "public_text" in fields and "text" in event.sealed_fields:
        fields["public_text"] = None
    for name in event.sealed_fields:
        value = _value(f"{event.type} {name}", made, withheld)
        fields[name] = next(shape for shape in _shapes(value) if _fits(type(event), fields, name, shape))
    return build(type(event), fields)


def _value(where: str, made: Saturated, withheld: Withheld) -> str:
    return made.values.setdefault(where, withheld(where))


def _shapes(value: str) -> Iterator[Any]:
    """Yield the shapes of sealed fields, with the value wherever a text can stand."""
    yield value
    yield [[value, value]]
    yield [value]


def _fits(cls: type[Event], fields: dict[str, Any], name: str, shape: Any) -> bool:
    others = {other: None for other in cls.sealed_fields if other not in fields}
    try:
        cls.model_validate({**others, **fields, name: shape})
    except ValidationError as error:
        return not any(name in item["loc"] for item in error.errors())
    return True


def _record(ledger: Ledger, event: Event, times: int, made: Saturated, withheld: Withheld) -> str:
    """Record an event with a private artifact, and return the entry hash of the first."""
    role = next(role for role in ("collector", "operator", "root") if role in event.signed_by)
    content = _value(f"{event.type} artifact", made, withheld).encode()
    artifact = Attachment("private", "text/plain", ledger.blobs.put(content))
    drafts = [Draft(event, SUBJECT, (artifact,))] * times
    return record(ledger, ledger.signer(role), drafts, purpose="run")[0].entry_hash


def _import(ledger: Ledger) -> None:
    """Rule 4."""
    for make in DOCUMENTS.values():
        content = spelled(make())
        event, taken = taken_apart(content)
        source = Attachment("source", taken.media_type, ledger.blobs.put(content), is_public=True)
        said = [Draft(one.event, Subject(CAMPAIGN, one.candidate, one.attempt)) for one in taken.said]
        drafts = [Draft(event, Subject(CAMPAIGN), (source,)), *said]
        record(ledger, ledger.signer("operator"), drafts, purpose="import")
