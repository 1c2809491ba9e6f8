"""Content codings and JSON, strict and bounded; and the order of failure classes."""

from __future__ import annotations

import gzip
import json
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anvil.collectors import failures
from anvil.collectors.bodies import DECODED_LIMIT, Unreadable, content, read_json, read_object
from anvil.collectors.interface import Exchange


def gzipped(content: bytes) -> bytes:
    """Compress without the moment: it would be part of the tests' names, and another for each worker."""
    return gzip.compress(content, mtime=0)


PLAIN = b"data: {}\n\n" * 100


def coded(body: bytes, coding: str, name: str = "content-encoding") -> Exchange:
    return Exchange(b"", 0, 1, 200, {name: coding}, body)


# --- content codings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (PLAIN, "identity"),
        (PLAIN, ""),
        (gzipped(PLAIN), "gzip"),
        (gzipped(PLAIN), "X-GZIP"),
        (gzipped(PLAIN[:500]) + gzipped(PLAIN[500:]), "gzip"),
        (zlib.compress(PLAIN), "deflate"),
        (zlib.compress(gzipped(PLAIN)), "gzip, deflate"),
        (gzipped(zlib.compress(PLAIN)), "deflate,identity , gzip"),
    ],
)
def test_codings_are_undone(body: bytes, coding: str) -> None:
    assert content(coded(body, coding)) == PLAIN
    assert content(coded(body, coding, "Content-Encoding")) == PLAIN


def test_an_empty_body_needs_no_coding() -> None:
    assert content(coded(b"", "gzip")) == b""


@pytest.mark.parametrize(
    ("body", "coding", "message"),
    [
        (PLAIN, "gzip", "coding is broken"),
        (gzipped(PLAIN)[:-1], "gzip", "ends inside"),
        (gzipped(PLAIN) + b"more", "gzip", "coding is broken"),
        (gzipped(PLAIN), "deflate", "coding is broken"),
        (PLAIN, "zstd", "'zstd', which nobody asked for"),
        (gzipped(PLAIN), "br, gzip", "'br', which nobody asked for"),
    ],
)
def test_broken_codings(body: bytes, coding: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message) as caught:
        content(coded(body, coding))
    assert caught.value.failure == "malformed_body"


def test_a_body_is_decoded_up_to_the_limit_and_no_further() -> None:
    body = gzipped(bytes(1000))
    assert len(content(coded(body, "gzip"), 1000)) == 1000
    parts = gzipped(bytes(500)) * 2
    for raw, coding in ((body, "gzip"), (parts, "gzip"), (gzipped(body), "gzip, gzip")):
        with pytest.raises(Unreadable, match="decode to more than 999") as caught:
            content(coded(raw, coding), 999)
        assert caught.value.failure == "body_too_large"


def test_a_bomb_of_members() -> None:
    with pytest.raises(Unreadable) as caught:
        content(coded(gzipped(bytes(1 << 20)) * 64, "gzip"))
    assert caught.value.failure == "body_too_large"
    assert DECODED_LIMIT < 64 << 20


def test_many_members_of_nothing_are_not_read_for_hours() -> None:
    with pytest.raises(Unreadable, match="more than 256 members") as caught:
        content(coded(gzipped(b"") * (1 << 20), "gzip"))
    assert caught.value.failure == "malformed_body"
    assert content(coded(gzipped(b"a") * 256, "gzip")) == b"a" * 256


# --- JSON --------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**64) + 1, 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)  # fmt: skip


@given(JSON)
def test_json_is_read_as_it_was_written(value: object) -> None:
    assert read_json(json.dumps(value)) == value
    assert read_json(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"{} {}",
        b"{'a': 1}",
        b'{"a": 1,}',
        b"// no\n{}",
        b'{"a": 1, "a": 1}',
        b'{"a": {"b": [{"c": 1, "c": 2}]}}',
        b'{"a": 1, "\\u0061": 1}',
        b"NaN",
        b"[Infinity]",
        b"-Infinity",
        b"1e309",
        b"-1e309",
        b"18446744073709551616",
        b"-18446744073709551616",
        b"9" * 1_000_000,
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000,
        b'"\xff"',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b'"a\nb"',
        b"01",
        b"+1",
        b"\x00",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_what_is_no_json(text: bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        read_json(text)
    assert caught.value.failure == "malformed_body"
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", [b"[]", b"null", b'"{}"', b"1"])
def test_json_that_is_no_object(text: bytes) -> None:
    read_json(text)
    with pytest.raises(Unreadable, match="no object"):
        read_object(text)


# --- failure classes -----------------------------------------------------------------------------------


def test_the_first_class_in_the_closed_order_decides() -> None:
    assert failures.first([]) is None
    assert failures.first([None, None]) is None
    for _ in range(50):
        some = random.sample(range(len(failures.ORDER)), 3)
        names = [failures.ORDER[rank] for rank in some]
        assert failures.first([None, *names]) == failures.ORDER[min(some)]


def test_the_order_begins_and_ends_as_written() -> None:
    assert failures.ORDER[0] == "unsupported_by_endpoint"
    assert failures.ORDER[-1] == "deterministic_check_failed"
    assert failures.first(["truncated_stream", "timeout", "wrong_value"]) == "timeout"
