"""Events: facts become an event or one clear refusal, and nothing private is in a place that is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.json import values
from support.story import ORIGIN, SECRET, STATE, Told, story

from anvil.ledger import canonical
from anvil.ledger.commitments import Commitment, Opening
from anvil.ledger.errors import Malformed, MalformedCanonical, MalformedEvent, UnknownEventType
from anvil.ledger.events import (
    CATALOGUE,
    InitialKey,
    LedgerCreated,
    ObservationNoted,
    Predecessor,
    TreeState,
    build,
    decode,
)
from anvil.ledger.events.base import MAX_SEALED_SIZE
from anvil.ledger.note import VerifierKey
from anvil.ledger.signing import PrivateKey

STORY = story()
BY_TYPE = {told.event.type: told for told in reversed(STORY)}
HEX = "a1" * 32
SEALED = {"status": "declared", "public_text": None, "claims": None}


def decoded(told: Told, **changes: Any) -> Any:
    facts = {n: v for n, v in {**told.header.facts, **changes}.items() if v is not ...}
    return decode(told.header.event, facts, {n: told.openings[n] for n in told.header.sealed})


# --- refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event_type",
    [
        "",
        "observation.noted",
        "observation.noted/3",
        "observation.noted/01",
        "Observation.noted/1",
        "x.y/1",
        "\ud800",
    ],
)
def test_an_unknown_type_or_version_is_refused(event_type: str) -> None:
    with pytest.raises(UnknownEventType) as refusal:
        decode(event_type, {}, {})
    assert "newer anvil" in refusal.value.advice


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_every_field_must_be_there_even_when_it_is_null(event_type: str) -> None:
    told = BY_TYPE[event_type]
    for name in told.header.facts:
        with pytest.raises(MalformedEvent, match=name):
            decoded(told, **{name: ...})


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_an_unknown_field_is_refused(event_type: str) -> None:
    with pytest.raises(MalformedEvent, match="more"):
        decoded(BY_TYPE[event_type], more=None)


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_the_type_is_not_repeated_in_the_facts(event_type: str) -> None:
    with pytest.raises(MalformedEvent, match="'type'"):
        decoded(BY_TYPE[event_type], type=event_type)


@pytest.mark.parametrize("event_type", CATALOGUE)
@pytest.mark.parametrize("bad", [1.5, "\x1b[2J", "a" * 5000, [], {}, -1, True], ids=repr)
def test_a_value_of_another_kind_is_refused_shortly(event_type: str, bad: Any) -> None:
    told = BY_TYPE[event_type]
    for name, value in told.header.facts.items():
        if type(value) is type(bad) and not isinstance(bad, str):
            continue
        with pytest.raises(MalformedEvent, match=name) as refusal:
            decoded(told, **{name: bad})
        assert "\x1b" not in str(refusal.value)
        assert len(str(refusal.value)) < 2000


def test_words_that_must_be_sealed_are_refused_among_the_facts() -> None:
    with pytest.raises(MalformedEvent, match="'text'") as refusal:
        decode("observation.noted/2", {**SEALED, "text": SECRET}, {"text": HEX})
    assert SECRET not in str(refusal.value)


def test_a_commitment_for_a_field_that_the_type_does_not_seal_is_refused() -> None:
    for name in ("other", "status", "public_text", "type"):
        with pytest.raises(MalformedEvent, match=name):
            decode("observation.noted/2", {**SEALED}, {"text": HEX, name: HEX})


def test_a_refusal_never_repeats_what_is_sealed() -> None:
    for facts, value in (
        ({**SEALED, "public_text": "both"}, SECRET),
        ({**SEALED}, ["a list", SECRET]),
        ({**SEALED, "status": "no such status"}, SECRET),
        ({"public_text": None, "claims": None}, SECRET),
        ({}, SECRET),
    ):
        with pytest.raises(MalformedEvent) as refusal:
            decode("observation.noted/2", facts, {"text": Opening(bytes(32), canonical.encode(value))})
        assert "Host" not in str(refusal.value)
        assert "zürich" not in str(refusal.value)


@pytest.mark.parametrize("raw", [b"", b"text", b'"\\ud800"', b' "x"', b'{"a":1,"a":1}', b"1.5"])
def test_an_opening_that_is_not_canonical_is_refused(raw: bytes) -> None:
    with pytest.raises(MalformedCanonical):
        decode("observation.noted/2", SEALED, {"text": Opening(bytes(32), raw)})


def test_an_opened_value_cannot_pass_for_a_commitment() -> None:
    raw = canonical.encode({"hex": HEX})
    with pytest.raises(MalformedEvent):
        decode("observation.noted/2", SEALED, {"text": Opening(bytes(32), raw)})


def test_a_statement_is_public_or_sealed_never_both_and_never_neither() -> None:
    for public, private in (("x", "y"), (None, None)):
        with pytest.raises(MalformedEvent, match="either public_text or text"):
            build(ObservationNoted, {**SEALED, "public_text": public, "text": private})


def claims(**changes: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("engine", "version", "hardware", "health", "http_status"))
    return {**nothing, "settings": (), "checks": (), "not_kept": (), "supported": (), **changes}


def check(**changes: Any) -> dict[str, Any]:
    passed = {"check": "coding", "thinking": "default", "outcome": "passed", "failure": None}
    return {**passed, "expected": 1, "passed": 1, **changes}


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [
        ("declared", claims(), "not declared"),
        ("external-prior", claims(http_status=200), "reached something"),
        ("external-prior", claims(health="timed_out", http_status=200), "reached something"),
        ("external-prior", claims(checks=[check(passed=2)]), "more passed"),
        ("external-prior", claims(checks=[check(passed=0)]), "all that was expected"),
        ("external-prior", claims(checks=[check(failure="no_call")]), "all that was expected"),
    ],
)
def test_claims_that_contradict_themselves_are_refused(status: str, said: dict[str, Any], why: str) -> None:
    with pytest.raises(MalformedEvent, match=why):
        build(ObservationNoted, {"status": status, "public_text": "x", "claims": said, "text": None})


def test_words_of_the_first_version_claim_nothing() -> None:
    old = decode("observation.noted/1", {"status": "declared", "public_text": "x"}, {})
    assert old == build(ObservationNoted, {**SEALED, "public_text": "x", "text": None})


def test_a_sealed_value_that_is_too_large_says_what_to_do() -> None:
    event = ObservationNoted(status="declared", claims=None, public_text=None, text="x" * MAX_SEALED_SIZE)
    with pytest.raises(MalformedEvent, match="65537 bytes") as refusal:
        event.openings()
    assert "Attach" in refusal.value.advice
    longest = ObservationNoted(
        status="declared", claims=None, public_text=None, text="x" * (MAX_SEALED_SIZE - 2)
    )
    assert len(longest.openings()["text"].value) == MAX_SEALED_SIZE


def test_a_sealed_value_without_canonical_bytes_is_refused() -> None:
    with pytest.raises((Malformed, ValidationError)):
        ObservationNoted(status="declared", claims=None, public_text=None, text="\ud800").openings()


def test_an_event_that_was_read_without_its_value_is_not_recorded_again() -> None:
    event = decode("observation.noted/2", SEALED, {"text": HEX})
    assert isinstance(event, ObservationNoted)
    with pytest.raises(MalformedEvent, match="needs the value"):
        event.openings()


def test_an_event_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        STORY[0].event.type = "x"  # type: ignore[assignment]


@given(st.sampled_from(STORY), values)
def test_any_facts_are_an_event_or_malformed(told: Told, facts: Any) -> None:
    if not isinstance(facts, dict):
        facts = dict.fromkeys(told.header.facts, facts)
    try:
        event = decode(told.header.event, facts, {})
    except MalformedEvent:
        return
    assert event.facts() == facts


# --- accepted -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", STORY, ids=lambda told: told.event.type)
def test_an_event_is_read_as_it_was_said(told: Told) -> None:
    assert decoded(told) == told.event
    assert decoded(told).facts() == told.header.facts
    assert canonical.encode(told.event.facts())


@pytest.mark.parametrize("told", STORY, ids=lambda told: told.event.type)
def test_no_sealed_value_is_in_facts_or_header(told: Told) -> None:
    assert SECRET.encode() not in told.header.raw
    assert not set(told.event.sealed_fields) & set(told.event.facts())


def test_openings_are_canonical_salted_and_fresh() -> None:
    event = ObservationNoted(status="declared", claims=None, public_text=None, text=SECRET)
    one, other = event.openings()["text"], event.openings()["text"]
    assert one.value == other.value == canonical.encode(SECRET)
    assert one.salt != other.salt
    assert ObservationNoted(status="declared", claims=None, public_text="x", text=None).openings() == {}


def test_without_an_opening_the_commitment_stands_for_the_value() -> None:
    event = decode("observation.noted/2", SEALED, {"text": HEX})
    assert isinstance(event, ObservationNoted)
    assert event.text == Commitment(HEX)


def test_the_creation_of_a_restored_ledger_is_read_as_it_was_said() -> None:
    key = VerifierKey(ORIGIN, PrivateKey.from_seed(bytes(32)).public_key)
    event = LedgerCreated(
        origin="ledger.test.invalid/again-11111111",
        keys=(InitialKey(role="root", public_key=HEX),),
        predecessor=Predecessor(
            key=str(key),
            restored=TreeState(origin=ORIGIN, size=14, root=HEX),
            restored_checkpoint=STATE,
            anchored_checkpoint=STATE,
            lost=0,
        ),
        software="0.1.0.dev0",
    )
    assert decode(event.type, canonical.decode(canonical.encode(event.facts())), {}) == event


def test_every_class_is_in_the_catalogue_under_its_type() -> None:
    assert all(cls.event_type == name for name, cls in CATALOGUE.items())
    assert {told.event.type for told in STORY} == set(CATALOGUE), "the story tells every type"
