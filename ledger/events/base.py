"""What every event class has in common.

1. A class is one version of one event type: frozen, strict, no field beyond those named, no
   default that reads a clock. Its docstring is its page in docs/events.md.
2. Each field is either clear, with a type from `anvil.ledger.public`, or sealed, declared as
   `Sealed[...]`. A class with any other field cannot be defined.
   A group of clear fields inside an event holds no sealed one: only an event's own can be left out.
3. `signed_by` says which roles may sign the type.
4. A clear field is always present in the facts; absent is null, and no field has a default.
"""

from __future__ import annotations

import re
import types
from collections.abc import Collection
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from anvil.ledger import canonical
from anvil.ledger.commitments import Commitment, Opening
from anvil.ledger.errors import MalformedEvent
from anvil.ledger.public import Public, Role

_FIELD_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")

MAX_SEALED_SIZE = 65_535
"""Bytes in one sealed value at most; what is larger is an artifact."""


class _SealedMarker:
    """Marks a field whose value stays outside the header."""


SEALED = _SealedMarker()

T = TypeVar("T")

Sealed = Annotated[T | Commitment, SEALED]
"""A private field: the value when it is at hand, else the commitment that stands for it."""


NamedTexts = list[list[str]]
"""Names and their texts as pairs. An object would not do: its keys are restricted (canonical JSON)."""


class Facts(BaseModel):
    """A frozen, strict group of fields; the base of events and of the groups inside them."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", ser_json_inf_nan="strings", defer_build=True
    )


class Event(Facts):
    """The base of all events."""

    type: str
    signed_by: ClassVar[frozenset[Role]]
    event_type: ClassVar[str]
    sealed_fields: ClassVar[tuple[str, ...]]
    _not_clear: ClassVar[set[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a class that breaks rules 1 to 3.

        Raises:
            TypeError: no single literal type, no roles, or a clear field that is not public.
        """
        super().__pydantic_init_subclass__(**kwargs)
        names = get_args(cls.model_fields["type"].annotation)
        if len(names) != 1 or cls.model_fields["type"].default != names[0]:
            raise TypeError(f"{cls.__name__}.type must be one Literal that is also its default")
        if not getattr(cls, "signed_by", None):
            raise TypeError(f"{cls.__name__} does not say by whom it is signed")
        cls.event_type = names[0]
        cls.sealed_fields = tuple(n for n, f in cls.model_fields.items() if SEALED in f.metadata)
        cls._not_clear = {"type", *cls.sealed_fields}
        problems = clear_field_problems(cls) + shape_problems(cls)
        if problems:
            raise TypeError(f"{cls.__name__}: " + "; ".join(problems))

    def facts(self) -> dict[str, Any]:
        """Return the clear fields as they stand in a header."""
        return self.model_dump(mode="json", exclude=self._not_clear)

    def openings(self) -> dict[str, Opening]:
        """Return a fresh opening for each sealed field that has a value.

        Raises:
            MalformedEvent: a value is too large, or is a commitment and no value.
            MalformedCanonical: a value has no canonical bytes.
        """
        found: dict[str, Opening] = {}
        for name in self.sealed_fields:
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, Commitment):
                raise MalformedEvent(f"{self.type}: {name} is a commitment; recording needs the value")
            raw = canonical.encode(value.model_dump(mode="json") if isinstance(value, BaseModel) else value)
            if len(raw) > MAX_SEALED_SIZE:
                raise MalformedEvent(
                    f"{self.type}: {name} has {len(raw)} bytes, a sealed field at most {MAX_SEALED_SIZE}",
                    advice="Attach long text as a file; it is then kept as an artifact.",
                )
            found[name] = Opening.of(raw)
        return found


EventT = TypeVar("EventT", bound=Event)


def build(cls: type[EventT], fields: dict[str, Any]) -> EventT:
    """Return an event of class `cls` from the fields a person or a header gave.

    Raises:
        MalformedEvent: a field is missing, unknown, or not of its type; the message names it.
    """
    try:
        return cls.model_validate(fields)
    except ValidationError as error:
        raise MalformedEvent(f"{cls.event_type}: {explain(error, cls.sealed_fields)}") from error


def explain(error: ValidationError, private: Collection[str] = ()) -> str:
    """Return what a validation found, one clause per field, without echoing long input.

    The input of the fields named in `private` is not repeated, nor that of all fields together: a
    finding may be shown to people who may not see the value.
    """
    clauses = []
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"])[:80] or "fields"
        shown = item["loc"] and item["loc"][0] not in private and item["type"] != "missing"
        found = f", found {str(item.get('input'))[:60]!r}" if shown else ""
        clauses.append(f"{where}: {item['msg']}{found}")
    return "; ".join(clauses[:5])


def clear_field_problems(cls: type[Facts]) -> list[str]:
    """Return one sentence for each clear field of `cls` that is not public by type."""
    problems = []
    for name, field in cls.model_fields.items():
        if issubclass(cls, Event) and (name == "type" or SEALED in field.metadata):
            continue
        if any(isinstance(item, Public) for item in field.metadata):
            continue
        if not is_public(field.annotation):
            problems.append(f"field {name!r} is neither public by type nor sealed")
    return problems


def shape_problems(cls: type[Event]) -> list[str]:
    """Return one sentence for each way in which `cls` could say more than its fields, or less."""
    problems = []
    if any(cls.model_config.get(name) != value for name, value in Facts.model_config.items()):
        problems.append("the model configuration is not that of all events")
    problems += [f"computed field {name!r} is no field" for name in cls.model_computed_fields]
    for name, field in cls.model_fields.items():
        if name != "type" and not field.is_required():
            problems.append(f"field {name!r} has a default")
        if not _FIELD_NAME.fullmatch(name) or field.alias or field.serialization_alias:
            problems.append(f"field {name!r} has another name in the facts, or one that they cannot hold")
    return problems


def is_public(annotation: Any) -> bool:
    """Say whether every value of `annotation` may be published."""
    if annotation in (bool, None, type(None)):
        return True
    origin = get_origin(annotation)
    if origin is Annotated:
        return any(isinstance(item, Public) for item in annotation.__metadata__) or is_public(
            annotation.__origin__
        )
    if origin is Literal:
        return True
    if origin in (Union, types.UnionType):
        return all(is_public(part) for part in get_args(annotation))
    if origin is tuple:
        return all(part is Ellipsis or is_public(part) for part in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Facts):
        return not clear_field_problems(annotation)
    return False
