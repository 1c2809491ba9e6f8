"""Malformed and hostile variants of every kind of evidence file: one clear error each, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.evidence_files import ENGINE_LOG, FILES, spelled

from anvil.collectors.importers import KINDS, importer_of
from anvil.collectors.importers.interface import ImportRefused, Taken

DIGEST = "sha256:" + "0" * 64
Path = tuple[str | int, ...]


def take_apart(content: bytes) -> Taken:
    return importer_of(content, None).take_apart(content, DIGEST)


def refusal(content: bytes) -> str:
    with pytest.raises(ImportRefused) as caught:
        take_apart(content)
    message = f"{caught.value} {caught.value.advice or ''}"
    assert message.isprintable()
    assert len(message) < 1500
    return message


# --- 1. what is wrong with any file --------------------------------------------------------------------------------

WHOLE = {kind: spelled(make()) for kind, make in FILES.items()}

BYTES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "not one JSON value"),
    "blank": (lambda _: b" \n", "not one JSON value"),
    "cut after the first brace": (lambda raw: raw[:1], "not one JSON value"),
    "cut in the first quarter": (lambda raw: raw[: len(raw) // 4], "not one JSON value"),
    "cut in the middle": (lambda raw: raw[: len(raw) // 2], "not one JSON value"),
    "cut before the last brace": (lambda raw: raw[:-1], "not one JSON value"),
    "log lines before": (lambda raw: b"INFO starting\n" + raw, "not one JSON value"),
    "log lines after": (lambda raw: raw + b"\nINFO done\n", "not one JSON value"),
    "twice": (lambda raw: raw + raw, "not one JSON value"),
    "one a line": (lambda raw: raw + b"\n" + raw, "not one JSON value"),
    "in a list": (lambda raw: b"[" + raw + b"]", "expected an object, found a list"),
    "in a text": (lambda raw: json.dumps(raw.decode()).encode(), "expected an object, found the text"),
    "a byte order mark": (lambda raw: b"\xef\xbb\xbf" + raw, "not one JSON value"),
    "UTF-16": (lambda raw: raw.decode().encode("utf-16"), "not UTF-8"),
    "UTF-16 without a mark": (lambda raw: raw.decode().encode("utf-16-le"), "not one JSON value"),
    "a byte that is no UTF-8": (lambda raw: raw.replace(b": ", b": \xff", 1), "not UTF-8"),
    "half a character": (lambda raw: raw[:-1] + b',"x":"\xe2\x82"}', "not UTF-8"),
    "a zero byte": (lambda raw: raw.replace(b": ", b":\x00 ", 1), "not one JSON value"),
    "a control character in a text": (lambda raw: raw[:-1] + b',"x":"a\x01b"}', "not one JSON value"),
    "single quotes": (lambda raw: raw.replace(b'"', b"'"), "not one JSON value"),
    "a comma at the end": (lambda raw: raw[:-1] + b",}", "not one JSON value"),
    "a comment": (lambda raw: b"/* mine */" + raw, "not one JSON value"),
    "NaN": (lambda raw: raw[:-1] + b',"x":NaN}', "NaN is not a JSON number"),
    "Infinity": (lambda raw: raw[:-1] + b',"x":[Infinity]}', "Infinity is not a JSON number"),
    "minus Infinity": (lambda raw: raw[:-1] + b',"x":-Infinity}', "-Infinity is not a JSON number"),
    "a member twice": (lambda raw: raw[:-1] + b',"x":1,"x":2}', "the member 'x' twice"),
    "a member twice inside": (lambda raw: raw[:-1] + b',"x":{"y":1,"y":1}}', "the member 'y' twice"),
    "the schema twice": (lambda raw: b'{"schema":"a/v1","schema":"b/v1",' + raw[1:], "twice"),
    "deep lists": (
        lambda raw: raw[:-1] + b',"x":' + b"[" * 99_000 + b"]" * 99_000 + b"}",
        "nested more than 16",
    ),
    "deep objects": (
        lambda raw: raw[:-1] + b',"x":' + b'{"a":' * 50 + b"1" + b"}" * 50 + b"}",
        "nested more than 16",
    ),
    "a list of too many": (
        lambda raw: raw[:-1] + b',"x":[' + b"0," * 999_999 + b"0]}",
        "has 1000000 members",
    ),
    "too large": (lambda raw: raw + b" " * (32 << 20), "a file of evidence at most"),
    "gzip": (lambda _: b"\x1f\x8b\x08\x00" + b"\x00" * 99, "not UTF-8"),
}


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("variant", BYTES)
def test_a_file_that_is_damaged_is_refused(kind: str, variant: str) -> None:
    make, expected = BYTES[variant]
    assert expected in refusal(make(WHOLE[kind]))


# --- 2. another schema ------------------------------------------------------------------------------------------


def schema_member(file: dict[str, Any]) -> str:
    return "schema" if "schema" in file else "schema_version"


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    "make",
    [
        lambda name: name.replace("v1", "v2").replace("v2", "v3") + "0",
        lambda name: name.rsplit("/", 1)[0] + "/v99",
    ],
    ids=["one digit more", "version 99"],
)
def test_an_unknown_version_is_refused_and_what_is_known_is_said(
    kind: str, make: Callable[[str], str]
) -> None:
    file = FILES[kind]()
    member = schema_member(file)
    known = file[member]
    message = refusal(spelled({**file, member: make(known)}))
    assert "its schema is the text" in message
    assert f"Known to {kind} are: " in message
    assert known in message


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize(
    "value", ["", "x", "/v1", "ANVIL/V1", None, 1, 1.5, True, [], {}, ["preflight/v2"]], ids=repr
)
def test_a_file_of_no_schema_is_refused_and_every_kind_is_named(kind: str, value: Any) -> None:
    file = FILES[kind]()
    message = refusal(spelled({**file, schema_member(file): value}))
    assert "no importer recognises it" in message
    assert all(name in message for name in KINDS)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("other", FILES)
def test_a_file_of_another_kind_is_refused_by_the_importer_that_is_named(kind: str, other: str) -> None:
    if kind == other:
        return
    with pytest.raises(ImportRefused, match="its schema is"):
        KINDS[kind].take_apart(WHOLE[other], DIGEST)


@pytest.mark.parametrize(
    "content", [b"INFO starting\nERROR failed\n", b"\x00" * 99, b"Model loading took GiB"]
)
def test_a_log_in_which_nothing_is_found_is_refused(content: bytes) -> None:
    refusal(content)
    with pytest.raises(ImportRefused, match="no log in which a figure was found"):
        KINDS["engine-log"].take_apart(content, DIGEST)


# --- 3. one member that is not what it must be ------------------------------------------------------------------

NO_COUNT: tuple[Any, ...] = (-1, 1.5, "3", True, [], {}, 10**16, 2**53)
NO_NUMBER: tuple[Any, ...] = (-1, -0.0, "1", "NaN", True, [1], {"value": 1}, 10**18, 10**1000)
NO_TEXT: tuple[Any, ...] = (1, True, ["x"], {"x": 1})
NO_TRUTH: tuple[Any, ...] = ("true", 1, [], {})
NO_OBJECT: tuple[Any, ...] = ("x", 1, True, [{}])
NO_LIST: tuple[Any, ...] = ("x", 1, True, {"0": {}})
NO_MOMENT: tuple[Any, ...] = (
    "",
    "yesterday",
    "2026-13-01T00:00:00Z",
    "2026-03-04T05:06:07",
    1772600767,
    "0" * 9999,
)

MEMBERS: dict[str, dict[Path, tuple[Any, ...]]] = {
    "benchmark": {
        ("requests",): (*NO_COUNT, None),
        ("completed",): (*NO_COUNT, None, 4),
        ("failed",): (*NO_COUNT, None, 4),
        ("concurrency",): (*NO_COUNT, None),
        ("context_tokens",): NO_COUNT,
        ("measurement_protocol",): (*NO_TEXT, "capacity-v1", "capacity-v5", "CAPACITY-V3", "\x1b[31m"),
        ("started_at",): NO_MOMENT,
        ("finished_at",): NO_MOMENT,
        ("wall_clock_ms",): (*NO_NUMBER, 0),
        ("request_timings",): NO_LIST,
        ("request_timings", 0): ("x", 1, None, []),
        ("request_timings", 0, "ttft_ms"): NO_NUMBER,
        ("request_timings", 2, "prompt_tokens"): NO_NUMBER,
        ("metrics",): NO_OBJECT,
        ("metrics", "ttft_p50_ms"): NO_NUMBER,
        ("metrics", "throughput_tok_s"): NO_NUMBER,
        ("serve_flags",): NO_OBJECT,
        ("serve_flags", "thinking_mode"): NO_TEXT,
        ("serve_flags", "shared_prefix_burst"): NO_TRUTH,
        ("failures",): NO_LIST,
        ("model",): NO_TEXT,
        ("run_id",): NO_TEXT,
    },
    "preflight": {
        ("checks",): (
            *NO_LIST,
            None,
            [1],
            ["smoke", "smoke", "tools", "video"],
            ["smoke", "needle", "tools", "…"],
        ),
        ("results",): (*NO_LIST, None),
        ("results", 0): ("x", 1, None, []),
        ("results", 0, "passed"): (*NO_TRUTH, None),
        ("results", 3, "detail"): NO_TEXT,
        ("observations",): NO_LIST,
        ("observations", 0, "test"): (*NO_TEXT, None, "somebody-elses", "…"),
        ("observations", 0, "passed"): NO_TRUTH,
        ("observations", 4, "seconds"): NO_NUMBER,
        ("observations", 4, "usage"): NO_OBJECT,
        ("observations", 4, "usage", "prompt_tokens"): NO_NUMBER,
        ("observations", 4, "usage", "prompt_tokens_details"): NO_OBJECT,
        ("thinking", "mode"): NO_TEXT,
        ("budget",): NO_OBJECT,
    },
    "bakeoff": {
        ("evaluation_protocol", "version"): (1, 4, "2", True, [], {}),
        ("suites",): NO_OBJECT,
        ("suites", "sums-2"): NO_OBJECT,
        ("suites", "sums-2", "checks"): NO_LIST,
        ("suites", "sums-2", "checks", 0, "id"): (*NO_TEXT, None, "", "…"),
        ("suites", "sums-2", "checks", 0, "status"): (*NO_TEXT, None, "PASSED", "maybe"),
        ("suites", "sums-2", "checks", 1, "required_pass_rate"): NO_NUMBER,
        ("suites", "sums-2", "checks", 1, "attempts", 2, "status"): (*NO_TEXT, None, "maybe"),
        ("suites", "sums-2", "checks", 1, "attempts", 2, "latency_ms"): NO_NUMBER,
        ("suites", "sums-2", "checks", 1, "attempts", 2, "attempt"): NO_COUNT,
        ("timing", "wall_ms"): NO_NUMBER,
        ("timing", "chat", "ttft_p50_ms"): NO_NUMBER,
        ("context", "targets"): (*NO_LIST, [1], [{}]),
        ("identity",): NO_OBJECT,
        ("identity", "started_at"): NO_MOMENT,
        ("selection", "suites"): (*NO_LIST, [1]),
    },
    "multimodal": {
        ("attempts",): (*NO_LIST, None),
        ("attempts", 0, "case_id"): (*NO_TEXT, None, "…"),
        ("attempts", 3, "passed"): (*NO_TRUTH, None),
        ("attempts", 3, "seconds"): NO_NUMBER,
        ("attempts", 3, "repetition"): NO_COUNT,
        ("attempts", 3, "reasoning", "tokens"): NO_NUMBER,
        ("attempts", 3, "failure"): NO_OBJECT,
        ("requests",): (*NO_COUNT, None, 3),
        ("aggregates",): NO_OBJECT,
        ("aggregates", "case", "chart"): NO_OBJECT,
        ("aggregates", "case", "chart", "latency_p50_seconds"): NO_NUMBER,
        ("started_at",): NO_MOMENT,
        ("corpus", "sha256"): NO_TEXT,
    },
    "control": {
        ("status",): (*NO_TEXT, None, "certain", ""),
        ("control_mechanism",): (*NO_TEXT, None),
        ("source",): (*NO_TEXT, None),
        ("observed_at",): (*NO_TEXT, None, "2026-13-01T00:00:00Z"),
    },
    "startup": {
        ("startup_allocations",): (*NO_OBJECT, None, {}),
        ("startup_allocations", "target_weights_gb"): ("20.1", None, [1], {}, 10**18, 10**1000, 1e-30),
        ("runtime",): NO_OBJECT,
        ("model",): NO_TEXT,
    },
    "load-failure": {
        ("outcome",): (*NO_TEXT, None, "loaded"),
        ("error_excerpt",): (*NO_LIST, [1]),
        ("identity", "attempted_at"): NO_MOMENT,
        ("engine",): NO_OBJECT,
        ("failure_class",): NO_TEXT,
    },
}
WRONG = [
    (kind, path, value)
    for kind, paths in MEMBERS.items()
    for path, values in paths.items()
    for value in values
]


def changed(kind: str, path: Path, value: Any) -> bytes:
    file: Any = FILES[kind]()
    *above, last = path
    part = file
    for step in above:
        part = part[step]
    part[last] = value
    return spelled(file)


@pytest.mark.parametrize(("kind", "path", "value"), WRONG, ids=lambda v: str(v)[:40])
def test_a_member_that_is_not_what_it_must_be_refuses_the_file(kind: str, path: Path, value: Any) -> None:
    refusal(changed(kind, path, value))


def test_a_number_of_a_million_digits_is_refused_and_not_repeated() -> None:
    for kind, path in (
        ("benchmark", ("metrics", "ttft_p50_ms")),
        ("preflight", ("observations", 0, "seconds")),
    ):
        raw = changed(kind, path, "@").replace(b'"@"', b"7" * 1_000_000)
        assert "cannot be recorded" in refusal(raw)


def test_there_are_more_than_two_hundred_ways_to_be_wrong() -> None:
    assert len(BYTES) * len(FILES) >= 200
    assert len(WRONG) >= 400


# --- 4. everything, everywhere ----------------------------------------------------------------------------------

ANYTHING: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e-300,
    10**400,
    "",
    "\x1b[2J",
    "\u202e",
    "x" * 5000,
    [],
    [None],
    [[1]],
    {},
    {"": None},
    {"a": {"b": []}},
)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*path, key))


def message_or_facts(content: bytes) -> str | None:
    """Return the message of a refusal; null when a file is imported, after all of it could be spelled."""
    try:
        took = take_apart(content)
    except ImportRefused as error:
        return str(error)
    assert all(said.event.facts() for said in took.said)
    assert all(said.rows.encode() for said in took.said if said.rows is not None)
    return None


@pytest.mark.parametrize("kind", FILES)
def test_whatever_stands_wherever_is_imported_or_refused_and_nothing_else(kind: str) -> None:
    variants = (changed(kind, path, value) for path in places(FILES[kind]()) for value in ANYTHING)
    messages = [message for content in variants if (message := message_or_facts(content)) is not None]
    assert messages
    assert all(message.isprintable() and len(message) < 1500 for message in messages)


@pytest.mark.parametrize("kind", [*FILES, "engine-log"])
@given(st.data())
def test_a_cut_or_altered_file_is_taken_apart_or_refused_and_nothing_else(
    kind: str, data: st.DataObject
) -> None:
    content = bytearray(ENGINE_LOG if kind == "engine-log" else WHOLE[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(content[: data.draw(st.integers(0, len(content)))])
    for candidate in (bytes(content), cut):
        with suppress(ImportRefused):
            assert take_apart(candidate).said
