"""What lies beside the log is altered: a sealed value, its salt, or the whole row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.ledgers import PRIVATE, SEALED, SIZE, Small, attack, forge, header_in, push, refused, session

from anvil.ledger.cli import main
from anvil.ledger.commitments import Opening
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import ObservationNoted

CLI = Callable[..., tuple[int, dict[str, Any]]]


def commitment(small: Small, index: int = PRIVATE) -> str:
    return small.header(index).sealed["text"]


@pytest.mark.parametrize("column", ["value", "salt"])
@pytest.mark.parametrize("content", [b"", b'"x"', b"\x00" * 32, b"\x00" * 33])
def test_value_or_salt(small: Small, column: str, content: bytes) -> None:
    with attack(small) as db:
        db.execute(f"UPDATE openings SET {column} = ? WHERE commitment = ?", [content, commitment(small)])
    finding = refused(small.verify(), "sealed-altered", PRIVATE)
    assert finding.expected == commitment(small)


def test_the_command_line_names_index_and_field(small: Small, cli: CLI) -> None:
    with attack(small) as db:
        db.execute("UPDATE openings SET value = x'2279' WHERE commitment = ?", [commitment(small, SEALED)])
    code, report = cli(small.place.directory)
    (finding,) = report["findings"]
    assert (code, finding["code"], finding["index"]) == (1, "sealed-altered", SEALED)
    assert "'text'" in finding["message"]
    assert "private remark" not in str(report)


def test_another_value_with_its_own_salt(small: Small) -> None:
    other = Opening.of(b'"a kinder remark"')
    with attack(small) as db:
        db.execute(
            "UPDATE openings SET salt = ?, value = ? WHERE commitment = ?",
            [other.salt, other.value, commitment(small)],
        )
    refused(small.verify(), "sealed-altered", PRIVATE)


def test_two_values_change_places(small: Small) -> None:
    one, other = commitment(small, SEALED), commitment(small, PRIVATE)
    with attack(small) as db:
        for old, new in ((one, "x"), (other, one), ("x", other)):
            db.execute("UPDATE openings SET commitment = ? WHERE commitment = ?", [new, old])
    report = small.verify()
    refused(report, "sealed-altered", SEALED)
    refused(report, "sealed-altered", PRIVATE)


def test_the_row_is_removed_without_a_redaction(small: Small) -> None:
    with attack(small) as db:
        db.execute("DELETE FROM openings WHERE commitment = ?", [commitment(small)])
    refused(small.verify(), "sealed-missing", PRIVATE)


def test_all_rows_are_removed(small: Small) -> None:
    with attack(small) as db:
        db.execute("DELETE FROM openings")
    report = small.verify()
    refused(report, "sealed-missing", SEALED)
    refused(report, "sealed-missing", PRIVATE)
    refused(report, "artifact-missing", SEALED)


def test_the_row_moves_to_another_commitment(small: Small) -> None:
    with attack(small) as db:
        db.execute("UPDATE openings SET commitment = ? WHERE commitment = ?", ["0" * 64, commitment(small)])
    report = small.verify()
    refused(report, "sealed-missing", PRIVATE)
    refused(report, "sealed-altered")


def test_a_salt_of_the_wrong_length_is_no_traceback(small: Small) -> None:
    with attack(small) as db:
        db.execute("UPDATE openings SET salt = x''")
    try:
        report = small.verify()
    except LedgerError:
        return
    refused(report, "sealed-altered", SEALED)


@pytest.mark.parametrize("content", [b'"a kinder remark"', b"\xff", b""])
@pytest.mark.parametrize("column", ["value", "salt"])
def test_show_does_not_pass_it_off_as_what_was_sealed(
    small: Small, capsys: pytest.CaptureFixture[str], column: str, content: bytes
) -> None:
    with attack(small) as db:
        db.execute(f"UPDATE openings SET {column} = ? WHERE commitment = ?", [content, commitment(small)])
    with pytest.raises(SystemExit) as stop:
        main(["--ledger", str(small.place.directory), "show", str(PRIVATE)])
    shown = capsys.readouterr()
    assert (stop.value.code, shown.out) == (1, "")
    assert "does not fit its commitment" in shown.err


@pytest.mark.parametrize("value", [b"not json", b'"a" ', b'{"A":1}', b"1.5", b'"' + b"x" * 70_000 + b'"'])
def test_a_value_that_no_writer_seals(small: Small, value: bytes) -> None:
    """Its signer committed to it, and it is still no value of a sealed field (docs/format.md, section 4)."""
    opening = Opening.of(value)
    operator = small.key("operator")
    (opened,) = session(small.origin, operator, close=False)
    said = ObservationNoted(status="declared", claims=None, public_text=None, text="replaced below")
    entry = forge(
        small.origin, said, operator, after=header_in(opened), sealed={"text": opening.commitment()}
    )
    with attack(small) as db:
        push(db, opened, entry)
        db.execute(
            "INSERT INTO openings VALUES (?, ?, ?)", [opening.commitment(), opening.salt, opening.value]
        )
    refused(small.verify(), "sealed-altered", SIZE + 1)
