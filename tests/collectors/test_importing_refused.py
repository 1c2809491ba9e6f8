"""A document that is not what it must be is refused whole, with one clear message that names the place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.published import DOCUMENTS, failure, spelled, summary

from anvil.collectors.importers import importer_of
from anvil.collectors.importers.document import DocumentImporter
from anvil.collectors.importers.interface import ImportRefused

DIGEST = "sha256:" + "0" * 64
FIRST = ("attempts", 0)


def take_apart(content: bytes) -> Any:
    return importer_of(content, None).take_apart(content, DIGEST)


def changed(*path: str | int, to: Any) -> bytes:
    """Return the document with one member of it made something else."""
    document: Any = failure()
    *above, last = path
    part = document
    for step in above:
        part = part[step]
    part[last] = to
    return spelled(document)


def without(*path: str | int) -> bytes:
    document: Any = failure()
    *above, last = path
    part = document
    for step in above:
        part = part[step]
    del part[last]
    return spelled(document)


def raw(old: str, new: str) -> bytes:
    text = json.dumps(failure())
    assert old in text
    return text.replace(old, new, 1).encode()


WHOLE = spelled(failure())
REFUSED: dict[str, tuple[bytes, str]] = {
    # no JSON at all
    "empty": (b"", "not one JSON value"),
    "blank": (b" \n ", "not one JSON value"),
    "a log": (b"INFO starting\nERROR failed\n", "not one JSON value"),
    "cut in the middle": (WHOLE[: len(WHOLE) // 2], "not one JSON value"),
    "cut before the last brace": (WHOLE[:-1], "not one JSON value"),
    "text before": (b"here it is: " + WHOLE, "not one JSON value"),
    "text after": (WHOLE + b"\ndone\n", "not one JSON value"),
    "two values": (WHOLE + WHOLE, "not one JSON value"),
    "one value a line": (WHOLE + b"\n" + WHOLE, "not one JSON value"),
    "a comment": (b"// mine\n" + WHOLE, "not one JSON value"),
    "single quotes": (WHOLE.replace(b'"', b"'"), "not one JSON value"),
    "a comma at the end": (WHOLE[:-1] + b",}", "not one JSON value"),
    "a byte order mark": (b"\xef\xbb\xbf" + WHOLE, "not one JSON value"),
    "UTF-16": (WHOLE.decode().encode("utf-16"), "not UTF-8"),
    "Latin-1": (WHOLE.replace(b"made-up", "verkäuflich".encode("latin-1")), "not UTF-8"),
    "a zero byte": (WHOLE.replace(b"made-up", b"made\x00up"), "not one JSON value"),
    "a tab in a text": (WHOLE.replace(b"made-up", b"made\tup"), "not one JSON value"),
    "gzip": (b"\x1f\x8b\x08\x00" + b"\x00" * 20, "not UTF-8"),
    "too large": (b" " * (1 << 20) + WHOLE, "a document at most"),
    "a huge text": (changed("decision", to="x" * (1 << 20)), "a document at most"),
    # JSON that not everybody reads alike
    "NaN": (raw("200", "NaN"), "NaN is not a JSON number"),
    "Infinity": (raw("200", "Infinity"), "Infinity is not a JSON number"),
    "minus Infinity": (raw("200", "-Infinity"), "-Infinity is not a JSON number"),
    "a member twice": (raw('"date":', '"date": "2026-01-01", "date":'), "the member 'date' twice"),
    "a member twice inside": (raw('"engine":', '"engine": "x", "engine":'), "the member 'engine' twice"),
    "the schema twice": (raw('"schema":', '"schema": "other/v1", "schema":'), "the member 'schema' twice"),
    "deep lists": (raw("200", "[" * 40 + "]" * 40), "nested more than 16 deep"),
    "very deep lists": (raw("200", "[" * 100_000 + "]" * 100_000), "nested more than 16 deep"),
    "very deep objects": (raw("200", '{"a":' * 50_000 + "1" + "}" * 50_000), "nested more than 16 deep"),
    "a thousand attempts": (changed("attempts", to=[failure()["attempts"][0]] * 1000), "at most 500"),
    # another shape
    "a list": (b"[1, 2]", "$: expected an object, found a list"),
    "a text": (b'"hello"', "$: expected an object, found the text 'hello'"),
    "a number": (b"7", "$: expected an object, found the number 7"),
    "null": (b"null", "$: expected an object, found null"),
    "an empty object": (b"{}", "it has no schema"),
    "no schema": (without("schema"), "it has no schema"),
    "another schema": (changed("schema", to="somebody.else/v1"), "its schema is the text"),
    "a newer version": (changed("schema", to="anvil-serving.candidate-failure.v2"), "its schema is the text"),
    "a schema in capitals": (
        changed("schema", to="ANVIL-SERVING.CANDIDATE-FAILURE.V1"),
        "its schema is the text",
    ),
    "a schema that is a list": (
        changed("schema", to=["anvil-serving.candidate-failure.v1"]),
        "its schema is a list",
    ),
    "a schema that is null": (changed("schema", to=None), "it has no schema"),
    "a schema that is an object": (changed("schema", to={}), "its schema is an object"),
    "a member too many": (changed("sponsor", to="x"), "$: the member 'sponsor' is not known"),
    "a member too many inside": (changed(*FIRST, "gpu_uuid", to="x"), "$.attempts[0]: the member 'gpu_uuid'"),
    "a member that is an escape": (changed("\x1b[31m", to="x"), "is not known here"),
    "a prototype": (changed("__proto__", to={}), "is not known here"),
    "an attempt without engine": (without(*FIRST, "engine"), "$.attempts[0]: the member 'engine' is missing"),
    "no attempt at all": (changed("attempts", to=[]), "$.attempts: expected at least one attempt"),
    "no date": (without("date"), "$: the member 'date' is missing"),
    "no attempts": (without("attempts"), "$: the member 'attempts' is missing"),
    "no decision": (without("decision"), "the member 'decision' is missing"),
    # another type
    "attempts an object": (changed("attempts", to={}), "'attempts' is no list but an object"),
    "attempts null": (changed("attempts", to=None), "'attempts' is no list but null"),
    "an attempt a text": (changed(*FIRST, to="failed"), "$.attempts[0]: expected an object, found the text"),
    "an attempt null": (changed(*FIRST, to=None), "$.attempts[0]: expected an object, found null"),
    "health a text": (changed(*FIRST, "health", to="200"), "$.attempts[0].health: expected a number or null"),
    "health true": (changed(*FIRST, "health", to=True), "expected a number or null, found true"),
    "health a list": (changed(*FIRST, "health", to=[200]), "expected a number or null, found a list"),
    "engine a number": (changed(*FIRST, "engine", to=23), "$.attempts[0].engine: expected text or null"),
    "engine an object": (
        changed(*FIRST, "engine", to={"name": "x"}),
        "expected text or null, found an object",
    ),
    "failure a list": (changed(*FIRST, "failure", to=["x", "y"]), "expected text or null, found a list"),
    "evidence status null": (changed(*FIRST, "evidence_status", to=None), "expected text, found null"),
    "candidate null": (changed("candidate", to=None), "$.candidate: expected text, found null"),
    "date a number": (changed("date", to=20260304), "$.date: expected text, found the number"),
    # a value that is none
    "no such month": (changed("date", to="2026-13-04"), "$.date: expected"),
    "a date with a time": (changed("date", to="2026-03-04T00:00:00Z"), "$.date: expected"),
    "another status": (
        changed(*FIRST, "evidence_status", to="certain"),
        "evidence_status: expected",
    ),
    "a count without a total": (
        changed(*FIRST, "preflight_default", to="many"),
        "preflight_default: expected",
    ),
    "a path for a model": (
        changed("candidate", to="/home/somebody/model"),
        "$.candidate: expected",
    ),
    "a short revision": (changed("revision", to="abc123"), "$.revision: expected"),
    "a number of a thousand digits": (raw("200", "9" * 1000), "cannot be recorded"),
    "a number with a thousand decimals": (raw("200", "0." + "3" * 1000), "expected a whole number from 0"),
    "an exponent": (raw("200", "2e2"), "expected a whole number from 0"),
    "a huge exponent": (raw("200", "1e999999999"), "expected a whole number from 0"),
    # text that cannot be published
    "a line break": (
        changed("decision", to="one\ntwo"),
        "$.decision: the text 'one\\ntwo' cannot be recorded",
    ),
    "an escape": (changed("decision", to="\x1b[2Jgone"), "cannot be recorded"),
    "a bell": (changed("hardware", to="a\x07b"), "cannot be recorded"),
    "text turned round": (changed("decision", to="safe \u202etxt.exe"), "U+202E"),
    "an isolate": (changed(*FIRST, "failure", to="\u2066x\u2069"), "U+2066"),
    "a zero-width space": (changed("decision", to="pass\u200bed"), "U+200B"),
    "a zero byte, escaped": (changed("decision", to="a\x00b"), "U+0000"),
    "half a surrogate": (raw("Not on this card.", "\\ud800"), "cannot be recorded"),
    "a tag character": (changed("decision", to="x\U000e0041"), "U+E0041"),
    "no normal form": (changed("decision", to="Zu\u0308rich"), "normal form"),
    "empty text": (changed("decision", to=""), "cannot be recorded"),
    "blanks at the end": (changed("decision", to="no "), "cannot be recorded"),
    "a long text": (changed("decision", to="x" * 1001), "cannot be recorded"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_and_the_message_says_where_and_what(name: str) -> None:
    content, expected = REFUSED[name]
    with pytest.raises(ImportRefused) as refusal:
        take_apart(content)
    message = f"{refusal.value} {refusal.value.advice}"
    assert expected in message
    assert len(message) < 1000
    assert message.isprintable()


def test_there_are_many_ways_to_be_wrong() -> None:
    assert len(REFUSED) >= 60


def test_a_statement_that_no_entry_could_hold_is_refused() -> None:
    settings = {f"setting-{number}": "x" * 1000 for number in range(60)}
    with pytest.raises(
        ImportRefused, match=r"\$\.common_recipe: the statement has \d+ bytes, one event at most"
    ):
        take_apart(spelled({**summary(), "common_recipe": settings}))


# --- every document, everywhere --------------------------------------------------------------------------------


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


EVERYWHERE = [(name, path) for name, make in DOCUMENTS.items() for path in places(make())]
NEVER: tuple[Callable[[Any], Any], ...] = (
    lambda value: {"unexpected": {"deep": 1}},
    lambda value: [[value]],
    lambda value: "\x1b[0m",
    lambda value: "x" * 2000,
)
"""What no member of any of these documents may be."""


@pytest.mark.parametrize(("name", "path"), EVERYWHERE)
@pytest.mark.parametrize("make", range(len(NEVER)))
def test_what_can_stand_nowhere_is_refused_wherever_it_stands(
    name: str, path: tuple[str | int, ...], make: int
) -> None:
    document = DOCUMENTS[name]()
    part: Any = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = NEVER[make](copy.deepcopy(part[path[-1]]))
    with pytest.raises(ImportRefused) as refusal:
        DocumentImporter().take_apart(spelled(document), DIGEST)
    assert str(refusal.value).isprintable()


@pytest.mark.parametrize("name", DOCUMENTS)
@given(st.data())
def test_a_cut_or_altered_file_is_taken_apart_or_refused_and_nothing_else(
    name: str, data: st.DataObject
) -> None:
    content = bytearray(spelled(DOCUMENTS[name]()))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    for candidate in (bytes(content), cut):
        with suppress(ImportRefused):
            assert take_apart(candidate).said
