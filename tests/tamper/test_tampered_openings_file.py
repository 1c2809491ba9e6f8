"""`openings.ndjson` of an audit export is tampered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import PRIVATE, SEALED, Small

from anvil.ledger.exporting import export

CLI = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def openings(small: Small, tmp_path: Path) -> Path:
    export(small.place, tmp_path / "export", audit=True)
    return tmp_path / "export" / "openings.ndjson"


@pytest.fixture
def check(small: Small, openings: Path, cli: CLI, tmp_path: Path) -> Callable[[], tuple[int, list[Any]]]:
    kept = tmp_path / "kept"
    kept.write_bytes(small.checkpoint())

    def run() -> tuple[int, list[Any]]:
        code, report = cli(None, "--tiles", openings.parent, "--key", small.vkey, "--checkpoint", kept)
        return code, [(f["code"], f["index"]) for f in report.get("findings", [])]

    assert run() == (0, [])
    return run


Check = Callable[[], tuple[int, list[Any]]]


def rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, content: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in content))


def test_a_byte_is_flipped(openings: Path, check: Check) -> None:
    raw = openings.read_bytes()
    for at in range(0, len(raw), 9):
        openings.write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        assert check()[0] != 0


def test_a_line_is_nested_without_end(openings: Path, check: Check) -> None:
    openings.write_bytes(openings.read_bytes() + b"[" * 200_000 + b"\n")
    assert check() == (1, [("file-damaged", None)])


@pytest.mark.parametrize("member", ["salt", "value", "commitment"])
def test_a_member_is_altered(openings: Path, check: Check, member: str) -> None:
    content = rows(openings)
    for row in content:
        row[member] = ("0" if row[member][0] != "0" else "1") + row[member][1:]
    write(openings, content)
    code, findings = check()
    assert code == 1
    assert {index for _, index in findings} == {SEALED, PRIVATE}


def test_a_line_is_removed(openings: Path, check: Check, small: Small) -> None:
    write(openings, [r for r in rows(openings) if r["commitment"] != small.header(PRIVATE).sealed["text"]])
    assert check() == (1, [("sealed-missing", PRIVATE)])


def test_two_commitments_change_places(openings: Path, check: Check) -> None:
    content = rows(openings)
    content[0]["commitment"], content[1]["commitment"] = content[1]["commitment"], content[0]["commitment"]
    write(openings, content)
    assert check()[0] == 1


def test_a_line_comes_twice_with_another_value(openings: Path, check: Check) -> None:
    content = rows(openings)
    write(openings, [*content, {**content[0], "value": "00"}])
    assert check()[0] == 1


@pytest.mark.parametrize(
    "content", [b"{}\n", b"null\n", b"[]\n", b"\xff\n", b'{"commitment":1,"salt":2,"value":3}\n']
)
def test_lines_that_are_no_openings(openings: Path, check: Check, content: bytes) -> None:
    openings.write_bytes(content)
    assert check()[0] in (1, 3)


def test_the_file_is_empty(openings: Path, check: Check) -> None:
    openings.write_bytes(b"")
    assert check()[0] == 1


def test_the_file_is_removed_and_verification_says_so(openings: Path, check: Check) -> None:
    openings.unlink()
    assert check() == (0, [("not-checked", None)])


@pytest.mark.parametrize(
    "spelled", [str.upper, lambda text: " " + text, lambda text: text[:2] + " " + text[2:]]
)
def test_hex_digits_in_another_spelling(openings: Path, check: Check, spelled: Callable[[str], str]) -> None:
    content = rows(openings)
    content[0]["salt"] = spelled(content[0]["salt"])
    write(openings, content)
    assert check() == (1, [("file-damaged", None)])
