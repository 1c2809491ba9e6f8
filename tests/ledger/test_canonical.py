"""Canonical JSON: everything outside the profile or spelled otherwise is refused; the rest is RFC 8785."""

from __future__ import annotations

import contextlib
import datetime
import enum
import json
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from support.json import AWKWARD, CONTROLS, MAX_INTEGER, foreign, values
from support.mangle import mangled

from anvil.ledger import canonical
from anvil.ledger.errors import MalformedCanonical

# --- bytes that are refused ------------------------------------------------------------------------

MIB = 1 << 20

BAD_BYTES = {
    "empty": b"",
    "duplicate_keys": b'{"a":1,"a":1}',
    "duplicate_keys_by_escape": b'{"a":1,"\\u0061":2}',
    "keys_out_of_order": b'{"b":1,"a":2}',
    "float": b"1.5",
    "integral_float": b"1.0",
    "exponent": b"1e2",
    "float_in_an_object": b'{"a":[0.5]}',
    "minus_zero": b"-0",
    "minus_zero_float": b"-0.0",
    "leading_zero": b"01",
    "plus": b"+1",
    "nan": b"NaN",
    "infinity": b"Infinity",
    "minus_infinity": b"-Infinity",
    "integer_2_to_53": b"9007199254740992",
    "integer_minus_2_to_53": b"-9007199254740992",
    "integer_2_to_63": b"9223372036854775808",
    "integer_2_to_64": b"18446744073709551616",
    "integer_of_5000_digits": b"1" * 5000,
    "integer_of_a_mib": b"1" * MIB,
    "exponent_that_overflows": b"1e999999",
    "lone_high_surrogate": b'"\\ud800"',
    "lone_low_surrogate": b'"\\udc00"',
    "swapped_surrogates": b'"\\udc00\\ud800"',
    "surrogate_in_utf8": b'"\xed\xa0\x80"',
    "invalid_utf8": b'"\xff"',
    "cut_utf8": b'"\xf0\x9f\x98"',
    "overlong_utf8": b'"\xc0\xaf"',
    "above_unicode": b'"\xf4\x90\x80\x80"',
    "byte_order_mark": b"\xef\xbb\xbf{}",
    "utf16": "{}".encode("utf-16"),
    "nul": b"\0",
    "blank_before": b" 1",
    "blank_after": b"1\n",
    "blank_inside": b'{"a": 1}',
    "raw_control_character": b'"\x1f"',
    "raw_newline": b'"\n"',
    "escaped_printable": b'"\\u0041"',
    "escaped_solidus": b'"\\/"',
    "escaped_non_ascii": b'"\\u00fc"',
    "escaped_pair": b'"\\ud83d\\ude00"',
    "upper_case_hex": b'"\\u001F"',
    "long_escape_of_newline": b'"\\u000a"',
    "unknown_escape": b'"\\x41"',
    "single_quotes": b"'a'",
    "trailing_comma": b"[1,]",
    "comment": b"/**/1",
    "second_value": b"1 2",
    "cut": b'{"a":',
    "key_upper_case": b'{"A":1}',
    "key_with_dash": b'{"a-b":1}',
    "key_with_dot": b'{"a.b":1}',
    "key_not_ascii": '{"ü":1}'.encode(),
    "key_empty": b'{"":1}',
    "key_deep_inside": b'{"a":[{"b":{"C":1}}]}',
    "nested_too_deep_for_writing": b"[" * 300 + b"]" * 300,
    "nested_too_deep_for_reading": b"[" * 100_000 + b"]" * 100_000,
    "nested_objects_never_closed": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("name", BAD_BYTES)
def test_refused_bytes(name: str) -> None:
    with pytest.raises(MalformedCanonical) as refusal:
        canonical.decode(BAD_BYTES[name])
    assert len(str(refusal.value)) < 300


# --- values that are refused ------------------------------------------------------------------------


class Colour(enum.StrEnum):
    RED = "red"


class Shout(str):
    pass


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


BAD_VALUES: dict[str, Any] = {
    "float": 1.5,
    "integral_float": 1.0,
    "minus_zero": -0.0,
    "nan": float("nan"),
    "infinity": float("inf"),
    "too_large": MAX_INTEGER + 1,
    "too_small": -MAX_INTEGER - 1,
    "huge": 10**5000,
    "lone_surrogate": "\ud800",
    "lone_surrogate_inside": {"a": ["\udfff"]},
    "bytes": b"a",
    "set": {"a"},
    "date": datetime.date(2026, 11, 30),
    "enum": Colour.RED,
    "subclass_of_str": Shout("a"),
    "key_of_another_type": {1: 1},
    "key_none": {None: 1},
    "key_upper_case": {"A": 1},
    "key_empty": {"": 1},
    "key_with_newline_after": {"a\n": 1},
    "key_not_ascii": {"ª": 1},
    "nested_too_deep": nested(300),
    "nested_beyond_recursion": nested(100_000),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_refused_values(name: str) -> None:
    with pytest.raises(MalformedCanonical):
        canonical.encode(BAD_VALUES[name])


@given(foreign)
def test_what_is_outside_the_profile_is_refused_or_means_the_same(value: Any) -> None:
    try:
        raw = canonical.encode(value)
    except MalformedCanonical:
        return
    assert raw == rfc8785.dumps(value)
    assert canonical.decode(raw) == value


@given(foreign)
def test_other_spellings_of_any_json_are_refused_or_canonical(value: Any) -> None:
    for raw in (json.dumps(value).encode(), json.dumps(value, ensure_ascii=False).encode()):
        with contextlib.suppress(MalformedCanonical):
            assert canonical.encode(canonical.decode(raw)) == raw


@given(st.data())
def test_a_changed_spelling_is_refused_or_another_value(data: st.DataObject) -> None:
    value = data.draw(values)
    raw = canonical.encode(value)
    other = data.draw(mangled(raw))
    try:
        found = canonical.decode(other)
    except MalformedCanonical:
        return
    assert canonical.encode(found) == other
    assert (other == raw) == (json.dumps(found, sort_keys=True) == json.dumps(value, sort_keys=True))


# --- what is accepted --------------------------------------------------------------------------------


@given(values)
def test_the_profile_is_spelled_as_rfc_8785_spells_it(value: Any) -> None:
    raw = canonical.encode(value)
    assert raw == rfc8785.dumps(value)
    assert canonical.decode(raw) == value
    assert canonical.spell(value) == raw


@pytest.mark.parametrize("character", AWKWARD)
def test_every_awkward_character_is_spelled_as_rfc_8785_spells_it(character: str) -> None:
    for text in (character, f"a{character}b", character * 3):
        assert canonical.encode(text) == rfc8785.dumps(text)
        assert canonical.decode(canonical.encode({"a": text})) == {"a": text}


def test_all_control_characters_are_in_that_list() -> None:
    assert set(map(chr, range(32))) <= set(CONTROLS)
    assert canonical.encode(CONTROLS[:32]).count(b"\\u00") == 32 - len("\b\t\n\f\r")


@pytest.mark.parametrize("number", [0, 1, -1, 10**15, MAX_INTEGER, -MAX_INTEGER])
def test_integers_to_the_limit(number: int) -> None:
    assert canonical.encode(number) == str(number).encode() == rfc8785.dumps(number)
    assert canonical.decode(str(number).encode()) == number


def test_a_boolean_is_not_an_integer() -> None:
    assert canonical.decode(b"[true,1]") == [True, 1]
    assert type(canonical.decode(b"true")) is bool


def test_a_string_of_a_mib() -> None:
    text = "ü\n\U0001f600" * (MIB // 7)
    assert canonical.decode(canonical.encode({"a": text})) == {"a": text}


def test_nesting_to_200_is_read_and_written() -> None:
    assert canonical.decode(canonical.encode(nested(200))) == nested(200)


def test_a_refusal_says_where() -> None:
    with pytest.raises(MalformedCanonical, match="at byte 5 expected"):
        canonical.decode(b'{"a": 1}')
    with pytest.raises(MalformedCanonical, match="a-z 0-9 _"):
        canonical.encode({"Ab": 1})
