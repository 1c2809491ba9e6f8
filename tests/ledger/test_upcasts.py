"""Upcasts: facts of any age reach today's class; a step that meets other facts is one clear refusal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest

from anvil.ledger.commitments import Commitment, Opening
from anvil.ledger.errors import MalformedEvent, UnknownEventType
from anvil.ledger.events import CATALOGUE, Event, Facts, Sealed, decode
from anvil.ledger.public import Count, Label, Role
from anvil.ledger.upcasts import UPCASTS, Upcast, newest, upcast


class HeightMeasured(Event):
    """Version 3: the unit is part of the name, and who measured is known or null."""

    signed_by: ClassVar[frozenset[Role]] = frozenset({"collector"})
    type: Literal["height.measured/3"] = "height.measured/3"
    height_mm: Count
    by: Label | None
    note: Sealed[str | None]


def one_to_two(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"height_cm": facts["height"]}


def two_to_three(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {"height_mm": facts["height_cm"] * 10, "by": None}


class HeightOne(Facts):
    height: Count


class HeightTwo(Facts):
    height_cm: Count


STEPS: dict[str, Upcast] = {
    "height.measured/1": Upcast(HeightOne, "height.measured/2", one_to_two),
    "height.measured/2": Upcast(HeightTwo, "height.measured/3", two_to_three),
}
SHELF: dict[str, type[Event]] = {"height.measured/3": HeightMeasured}
COMMITMENT = "a1" * 32


def read(event_type: str, facts: Mapping[str, Any], **sealed: Opening | str) -> Any:
    return decode(event_type, facts, sealed, steps=STEPS, catalogue=SHELF)


@pytest.mark.parametrize("facts", [{}, {"height": None}, {"height": []}, {"height": {}}, {"height_cm": 1}])
def test_facts_that_are_not_of_the_old_type_are_malformed(facts: dict[str, Any]) -> None:
    with pytest.raises(MalformedEvent, match=r"height\.measured/[13]: "):
        read("height.measured/1", facts)


@pytest.mark.parametrize("height", [-1, 2**53, "1", True])
def test_what_the_old_class_refuses_never_reaches_a_step(height: Any) -> None:
    with pytest.raises(MalformedEvent, match="do not fit this version"):
        read("height.measured/1", {"height": height})


def test_what_the_new_class_refuses_is_refused() -> None:
    with pytest.raises(MalformedEvent, match="height_mm"):
        read("height.measured/1", {"height": 2**53 - 1})


def test_rights_are_those_of_the_newest_version() -> None:
    assert newest("height.measured/1", STEPS) == "height.measured/3"
    assert newest("other.type/1", STEPS) == "other.type/1"


@pytest.mark.parametrize("event_type", ["height.measured/4", "height.measured/0", "width.measured/1", ""])
def test_a_version_or_type_that_no_step_and_no_class_knows_is_refused(event_type: str) -> None:
    with pytest.raises(UnknownEventType) as refusal:
        read(event_type, {"height": 1})
    assert ("it knows height.measured/3" in str(refusal.value)) == event_type.startswith("height")


def test_a_step_that_leads_nowhere_is_an_unknown_type() -> None:
    with pytest.raises(UnknownEventType):
        decode("height.measured/1", {"height": 1}, {}, steps=STEPS, catalogue={})


@pytest.mark.parametrize(
    ("event_type", "facts"),
    [
        ("height.measured/1", {"height": 7}),
        ("height.measured/2", {"height_cm": 7}),
        ("height.measured/3", {"height_mm": 70, "by": None}),
    ],
)
def test_facts_of_every_age_reach_todays_class(event_type: str, facts: dict[str, Any]) -> None:
    before = dict(facts)
    assert read(event_type, facts) == HeightMeasured(height_mm=70, by=None, note=None)
    assert read(event_type, facts, note=COMMITMENT).note == Commitment(COMMITMENT)
    assert read(event_type, facts, note=Opening(bytes(32), b'"x"')).note == "x"
    assert facts == before


def test_without_steps_facts_are_copied_and_stay() -> None:
    facts = {"a": 1}
    reached, current = upcast("x.y/1", facts, {})
    assert (reached, current) == ("x.y/1", facts)
    assert current is not facts


def test_every_step_of_this_build_leads_up_one_version_of_the_same_family_to_a_class() -> None:
    for older, upward in UPCASTS.items():
        newer = upward.to
        assert older not in CATALOGUE, "a type with a step is not written any more"
        family, _, version = older.partition("/")
        assert newer == f"{family}/{int(version) + 1}"
        assert newer in CATALOGUE or newer in UPCASTS
