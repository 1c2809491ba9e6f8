"""Headers: every member in its language, one spelling, and what is written can be read back."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json import keys, values
from support.mangle import mangled
from support.story import story

from anvil.ledger import canonical
from anvil.ledger.errors import Malformed, MalformedCanonical, MalformedHeader
from anvil.ledger.header import (
    ArtifactEntry,
    Header,
    Subject,
    UnsupportedVersion,
    family,
    header_hash,
)

STORY = story()
FULL = next(told.header for told in STORY if told.header.artifacts)
HEX, OTHER_HEX = "a1" * 32, "B2" * 32
DIGEST = f"sha256:{HEX}"


def spelled(**changes: Any) -> bytes:
    """The full header with members replaced; `...` removes one."""
    members = {**json.loads(FULL.raw), **changes}
    return canonical.spell({name: value for name, value in members.items() if value is not ...})


# --- refused ----------------------------------------------------------------------------------------

NOT_A_LABEL: list[Any] = ["", "A", "ü", "a b", "a/b", "-a", ".a", "_a", "a\n", "a" * 65, 1, None, ["a"], True]
NOT_HEX: list[Any] = ["", HEX[1:], HEX + "0", OTHER_HEX, f"{HEX}\n", f"0x{HEX[2:]}", 7, None, [HEX]]
NOT_A_COUNT: list[Any] = [-1, "0", True, None, [0]]
PUBLIC = {"name": "n", "media_type": "text/plain", "disclosure": "public", "digest": DIGEST, "size": 1}
PRIVATE = {"name": "n", "media_type": "text/plain", "disclosure": "private", "commitment": HEX}

BAD_MEMBERS: dict[str, list[Any]] = {
    "ledger": ["", "Example.com", "https://a.b", "a.b/", "/a", "a..b/-c", "a b", "a.b/../c", "a+b", "a" * 161, None, 1],
    "stream": ["", "20261130T072611Z", f"20261130T072611Z-{HEX[:15]}", f"20261130t072611z-{HEX[:16]}", None],
    "stream_seq": [*NOT_A_COUNT, 0],
    "stream_prev": NOT_HEX,
    "at": [
        "2026-11-30T07:26:16Z", "2026-11-30T07:26:16.123456", "2026-11-30 07:26:16.123456Z",
        "2026-11-30T07:26:16.123456+00:00", "2026-13-01T00:00:00.000000Z", "2026-02-30T00:00:00.000000Z",
        "2026-11-30T24:00:00.000000Z", "2026-11-30T23:60:00.000000Z", "2026-11-30T23:59:60.000000Z",
        "0000-01-01T00:00:00.000000Z", "٢٠٢٦-11-30T07:26:16.123456Z", "", None, 1,
    ],
    "event": ["", "check", "check.completed", "Check.completed/1", "check.completed/0", "check.completed/01",
              "check.completed/10000", "check.completed/1\n", "a.b/1" + "0" * 64, "a" * 60 + ".bcd/1", None],
    "key": NOT_HEX,
    "facts": [None, [], "", 1],
    "subject": [None, [], "a", {"site": "a"}, *({"campaign": bad} for bad in NOT_A_LABEL)],
    "artifacts": [
        None, {}, "a", [None], ["a"], [{}], [PUBLIC, PUBLIC], [PUBLIC, PRIVATE], [{**PUBLIC, "disclosure": "secret"}],
        [{**PUBLIC, "disclosure": "private"}], [{**PRIVATE, "disclosure": "public"}], [{**PUBLIC, "commitment": HEX}],
        [{**PUBLIC, "disclosure": None}], [{**PUBLIC, "digest": None, "size": None}],
        *([{**PUBLIC, "name": bad}] for bad in NOT_A_LABEL),
        *([{**PRIVATE, "name": bad}] for bad in NOT_A_LABEL),
        *([{**PUBLIC, "size": bad}] for bad in NOT_A_COUNT),
        *([{**PUBLIC, "digest": bad}] for bad in (HEX, f"md5:{HEX}", f"sha256:{OTHER_HEX}", None, 1)),
        *([{**PRIVATE, "commitment": bad}] for bad in NOT_HEX),
        *([{**PUBLIC, "media_type": bad}] for bad in ("", "text", "text/", "Text/plain", "text/plain; a=b", "a/" + "b" * 80)),
    ],
    "sealed": [
        None, [], {}, {"alg": "sha256-salted/1"}, {"alg": "sha256-salted/1", "fields": []},
        {"alg": "sha256-salted/1", "fields": {}, "more": 1},
        *({"alg": "sha256-salted/1", "fields": {"a": bad}} for bad in NOT_HEX),
        *({"alg": "sha256-salted/1", "fields": {bad: HEX}} for bad in ("", "A", "a.b", "a-b", "_a", "ü", "a" * 65)),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "bad"), [(n, bad) for n, bads in BAD_MEMBERS.items() for bad in bads])
def test_refused_member(name: str, bad: Any) -> None:
    with pytest.raises(MalformedHeader) as refusal:
        Header.parse(spelled(**{name: bad}))
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize("name", [name for name in json.loads(FULL.raw) if name != "v"])
def test_a_missing_member_is_refused(name: str) -> None:
    with pytest.raises(MalformedHeader, match=name):
        Header.parse(spelled(**{name: ...}))


def test_an_unknown_member_is_refused_and_shown_inertly() -> None:
    with pytest.raises(MalformedHeader, match="unknown: 'more'"):
        Header.parse(spelled(more=1))
    with pytest.raises(MalformedHeader) as refusal:
        Header.parse(spelled(**{"\x1b[2J" + "x" * 1000: 1}))
    assert "\x1b" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("version", [0, 2, "1", None, True, [1], "x" * 1000, ...])
def test_another_version_is_unsupported_whatever_else_it_holds(version: Any) -> None:
    for changes in ({}, {"stream": ..., "new": 1}):
        with pytest.raises(UnsupportedVersion) as refusal:
            Header.parse(spelled(v=version, **changes))
        assert len(str(refusal.value)) < 200


def test_another_commitment_algorithm_is_unsupported() -> None:
    with pytest.raises(UnsupportedVersion, match="sha3"):
        Header.parse(spelled(sealed={"alg": "sha3-salted/1", "fields": {}}))


def test_a_first_event_with_a_predecessor_and_a_later_one_without_are_refused() -> None:
    with pytest.raises(MalformedHeader, match="stream_prev"):
        Header.parse(spelled(stream_seq=0))
    with pytest.raises(MalformedHeader, match="stream_prev"):
        Header.parse(spelled(stream_prev=None))
    Header.parse(spelled(stream_seq=0, stream_prev=None))


@pytest.mark.parametrize("facts", [{"a": 0.5}, {"A": 1}, {"a": {"b-c": 1}}, {"": None}])
def test_facts_outside_the_profile_are_refused(facts: Any) -> None:
    with pytest.raises(MalformedCanonical):
        Header.parse(spelled(facts=facts))


@pytest.mark.parametrize("raw", [b"", b"[]", b'"a"', b"1", b"null", b"{}"])
def test_another_value_than_an_object_of_these_members_is_refused(raw: bytes) -> None:
    with pytest.raises(Malformed):
        Header.parse(raw)


def test_another_spelling_is_refused() -> None:
    members = json.loads(FULL.raw)
    for raw in (
        json.dumps(members).encode(),
        json.dumps(dict(reversed(members.items())), separators=(",", ":")).encode(),
        FULL.raw + b"\n",
        FULL.raw.replace(b'"v":1', b'"v":1,"v":1'),
        FULL.raw.replace(b'"v":1', b'"v":1.0'),
    ):
        with pytest.raises(Malformed):
            Header.parse(raw)


@pytest.mark.parametrize("bad", [bad for bad in NOT_A_LABEL if bad is not None])
def test_a_subject_or_artifact_that_could_not_be_read_back_is_not_made(bad: Any) -> None:
    for name in ("campaign", "candidate", "attempt"):
        with pytest.raises(MalformedHeader):
            Subject(**{name: bad})
    with pytest.raises(MalformedHeader):
        ArtifactEntry(bad, "text/plain", commitment=HEX)


def test_an_artifact_is_either_public_or_private() -> None:
    for bad in (
        {},
        {"digest": DIGEST},
        {"size": 1},
        {"digest": DIGEST, "size": -1},
        {"digest": DIGEST, "commitment": HEX},
        {"size": 1, "commitment": HEX},
    ):
        with pytest.raises(MalformedHeader):
            ArtifactEntry("n", "text/plain", **bad)  # type: ignore[arg-type]


# --- accepted ---------------------------------------------------------------------------------------

labels = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True)
hexes = st.from_regex("[0-9a-f]{64}", fullmatch=True)
counts = st.integers(0, 2**53 - 1)
media_types = st.sampled_from(["text/plain", "application/vnd.x+json", "application/x-ndjson"])
artifact_lists = st.lists(
    st.builds(
        lambda n, m, d, s: ArtifactEntry(n, m, digest=f"sha256:{d}", size=s),
        labels,
        media_types,
        hexes,
        counts,
    )
    | st.builds(lambda n, m, c: ArtifactEntry(n, m, commitment=c), labels, media_types, hexes),
    max_size=4,
    unique_by=lambda artifact: artifact.name,
).map(tuple)
headers = st.builds(
    Header,
    ledger=st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?(/[a-z0-9][a-z0-9._-]{0,9}){0,3}", fullmatch=True),
    stream=st.from_regex(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}", fullmatch=True),
    stream_seq=st.integers(1, 2**53 - 1),
    stream_prev=hexes,
    at=st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='microseconds')}Z"),
    event=st.from_regex(r"[a-z]{1,9}(_[a-z]{1,9})?\.[a-z]{1,9}(_[a-z]{1,9})?/[1-9][0-9]{0,3}", fullmatch=True),
    key=hexes,
    facts=st.dictionaries(keys, values, max_size=5),
    subject=st.builds(Subject, st.none() | labels, st.none() | labels, st.none() | labels),
    artifacts=artifact_lists,
    sealed=st.dictionaries(st.from_regex("[a-z0-9][a-z0-9_]{0,63}", fullmatch=True), hexes, max_size=3),
)  # fmt: skip


@given(headers)
def test_a_header_is_read_as_it_is_written(header: Header) -> None:
    raw = header.encode()
    assert Header.parse(raw) == header.with_raw(raw)
    assert Header.parse(raw).encode() == raw
    assert canonical.encode(canonical.decode(raw)) == raw


@given(st.sampled_from(STORY).flatmap(lambda told: mangled(told.header.raw)))
def test_what_is_parsed_is_canonical_and_in_the_profile(raw: bytes) -> None:
    with contextlib.suppress(Malformed):
        assert Header.parse(raw).encode() == raw
        assert canonical.encode(canonical.decode(raw)) == raw


def test_the_first_event_of_a_stream_has_no_predecessor() -> None:
    first = STORY[0].header
    assert (first.stream_seq, first.stream_prev) == (0, None)
    assert Header.parse(first.raw) == first


def test_the_longest_names_are_accepted() -> None:
    Header.parse(
        spelled(ledger="a" * 160, subject={"campaign": "a" * 64}, event="a" * 31 + "." + "b" * 30 + "/1")
    )


def test_absent_parts_of_a_subject_are_left_out() -> None:
    assert Subject(campaign="c").members() == {"campaign": "c"}
    assert Subject().members() == {}


def test_the_hash_of_a_header_is_the_sha256_of_its_bytes() -> None:
    assert header_hash(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_family_is_a_type_without_its_version() -> None:
    assert family("check.completed/12") == "check.completed"
