"""Canaries: private values are found by themselves; short and common ones in structure only."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from anvil.projections.tripwire import Canaries, Tripwire

VALUES = [
    ("host name", "zurich-seven"),
    ("sealed text", 'It said "Grüezi" to us'),
    ("user", "alice"),
    ("host name", "workstation"),
    ("variable FOO", "/odd place/with blanks"),
    ("variable N", "12345678"),
]


@pytest.fixture(scope="module")
def tripwire() -> Tripwire:
    return Tripwire(Canaries.of(VALUES))


@pytest.mark.parametrize("value", ["zurich-seven", 'It said "Grüezi" to us', "/odd place/with blanks"])
def test_a_value_is_found_in_every_spelling(tripwire: Tripwire, value: str) -> None:
    spellings = [
        value,
        value.upper(),
        f"x{value}y",
        base64.b64encode(value.encode()).decode(),
        base64.b64encode(f"ab{value}cd".encode()).decode(),
        quote(value, safe=""),
        json.dumps(value)[1:-1],
        value.encode().hex(),
        f"{value[:5]}' + '{value[5:]}",
        "\u200b".join(value),
    ]
    for text in spellings:
        assert tripwire.look("/x", f"seen: {text}"), text


@pytest.mark.parametrize(
    "text",
    [
        "/home/alice/x",
        "alice@somewhere",
        "~alice",
        "user: alice",
        "//workstation/x",
        "workstation:8000",
        "host named workstation",
    ],
)
def test_a_short_or_common_value_is_found_in_structure(text: str) -> None:
    assert any(
        hit.detector in ("private user", "private host name")
        for hit in Tripwire(Canaries.of(VALUES)).look("/x", text)
    )


@pytest.mark.parametrize(
    "text",
    [
        "alice in wonderland",
        "a workstation card",
        "malice",
        "12345678 tokens",
        "alices@",
        "the workstation: it ran",
    ],
)
def test_a_short_or_common_value_alone_is_nothing(tripwire: Tripwire, text: str) -> None:
    assert not [
        hit
        for hit in tripwire.look("/x", text)
        if hit.detector in ("private user", "private host name", "private variable N")
    ]


def test_a_value_is_found_in_bytes_that_are_no_text(tripwire: Tripwire) -> None:
    assert tripwire.look_at_bytes("events", b"\xff\x00" + base64.b64encode(b"zurich-seven"))
    assert not tripwire.look_at_bytes("events", b"\xff\x00nothing")


def test_canaries_are_never_shown(tripwire: Tripwire) -> None:
    assert "zurich" not in repr(Canaries.of(VALUES).alone)
    assert "zurich" not in repr(tripwire.look("/x", "zurich-seven"))
