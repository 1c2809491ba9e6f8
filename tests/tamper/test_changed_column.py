"""A column is changed and the signed header is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import PUBLIC, SEALED, Small, attack, refused

CLI = Callable[..., tuple[int, dict[str, Any]]]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("event", "stream.closed/1"),
        ("event", "observation.noted/1"),
        ("event", "observation.noted/3"),
        ("stream", "20261130T072616Z-00000000000000ff"),
        ("stream_seq", 77),
        ("stream_seq", -1),
        ("campaign", "another"),
        ("campaign", None),
        ("campaign", ""),
        ("leaf_prefix", 0),
    ],
)
def test_a_lookup_column(small: Small, column: str, value: object) -> None:
    with attack(small) as db:
        db.execute(f'UPDATE entries SET {column} = ? WHERE "index" = ?', [value, PUBLIC])
    finding = refused(small.verify(), "column-differs", PUBLIC)
    assert finding.stream == small.header(PUBLIC).stream
    assert repr(value) in str(finding.found)


@pytest.mark.parametrize("value", [b"", b"\x00" * 32])
def test_the_leaf_hash(small: Small, value: bytes) -> None:
    with attack(small) as db:
        db.execute('UPDATE entries SET leaf_hash = ? WHERE "index" = ?', [value, PUBLIC])
    assert refused(small.verify(), "tampered", PUBLIC).expected == value.hex()


def test_the_command_line_names_the_index(small: Small, cli: CLI) -> None:
    with attack(small) as db:
        db.execute("UPDATE entries SET campaign = 'x' WHERE \"index\" = ?", [SEALED])
    code, report = cli(small.place.directory)
    (finding,) = report["findings"]
    assert (code, finding["code"], finding["index"]) == (1, "column-differs", SEALED)


@pytest.mark.parametrize("event", ["key.revoked/1", "sealed.redacted/1", "ledger.created/1", "key.added/1"])
def test_an_observation_is_passed_off_as_an_event_that_is_read_first(small: Small, event: str) -> None:
    with attack(small) as db:
        db.execute('UPDATE entries SET event = ? WHERE "index" = ?', [event, PUBLIC])
    refused(small.verify(), "column-differs", PUBLIC)


def test_an_unknown_event_is_passed_off_as_one_that_is_read_first(small: Small) -> None:
    from support.ledgers import SIZE, push, session

    with attack(small) as db:
        push(db, *session(small.origin, small.key("operator"), "check.completed/1"))
        db.execute("UPDATE entries SET event = 'key.added/1' WHERE \"index\" = ?", [SIZE + 1])
    refused(small.verify(), "column-differs", SIZE + 1)


def test_text_that_is_not_text(small: Small) -> None:
    with attack(small) as db:
        db.execute("UPDATE entries SET event = CAST(x'ff' AS TEXT) WHERE \"index\" = ?", [PUBLIC])
    refused(small.verify(), "store-damaged")
