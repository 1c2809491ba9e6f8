"""`anvil verify FILE`: a backup is verified as the file that it is."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.command import Anvil

STATUS = ("--status", "retained-complete")


@pytest.fixture
def backup(ledger: Anvil, tmp_path: Path) -> Path:
    Path("a.log").write_text("kept bytes")
    assert ledger("observe", "it ran", *STATUS, "--attach", "a.log").code == 0
    (tmp_path / "kept").write_text(ledger("checkpoint").out)
    assert ledger("backup", tmp_path / "b.db").code == 0
    return tmp_path / "b.db"


def codes(anvil: Anvil, *arguments: object) -> tuple[int, list[str]]:
    ran = anvil("verify", *arguments, "--json")
    return ran.code, [finding["code"] for finding in ran.json["findings"]]


def test_a_backup_is_verified_without_a_ledger_around_it(ledger: Anvil, backup: Path) -> None:
    assert codes(ledger, backup) == (0, ["not-checked"]), "its artifacts are not beside it"
    assert codes(ledger, backup, "--blobs", "anvil-ledger/blobs") == (0, [])
    shutil.copytree("anvil-ledger/blobs", backup.parent / "blobs")
    shutil.rmtree("anvil-ledger")
    assert codes(ledger, backup) == (0, [])
    assert sorted(p.name for p in backup.parent.glob("b.db*")) == ["b.db"], "and nothing is left beside it"


def test_one_that_is_older_than_the_ledger_is_no_rollback(ledger: Anvil, backup: Path) -> None:
    assert ledger("observe", "later", "--status", "declared").code == 0
    ran = ledger("verify", backup)
    assert ran.code == 3
    assert "has come to more since" in ran.err
    assert "rolled-back" not in ran.out
    assert codes(ledger, backup, "--checkpoint", backup.parent / "kept") == (0, ["not-checked"])


def test_one_that_was_altered_is_found(ledger: Anvil, backup: Path) -> None:
    with closing(sqlite3.connect(backup)) as db:
        db.execute("DROP TRIGGER openings_no_update")
        db.execute("UPDATE openings SET value = x'22'")
        db.commit()
    code, found = codes(ledger, backup)
    assert code == 1
    assert {"schema-altered", "sealed-altered"} <= set(found)


def test_the_key_given_is_compared(ledger: Anvil, backup: Path) -> None:
    assert ledger("--ledger", "other", "init", "--origin", "cli.test.invalid").code == 0
    code, found = codes(ledger, backup, "--key", "other/log.vkey")
    assert (code, "other-ledger" in found) == (1, True)
    assert codes(ledger, backup, "--key", "anvil-ledger/log.vkey")[0] == 0
