"""Another ledger takes the place of this one: a stranger's, one of the same name, or only its name."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import (
    PRETENDERS,
    Small,
    attack,
    pretender,
    refused,
    rewrite,
    sign_head,
    small_ledger,
)

CLI = Callable[..., tuple[int, dict[str, Any]]]


def test_a_strangers_database(small: Small, cli: CLI, tmp_path: Path) -> None:
    other = small_ledger(tmp_path / "other")
    with attack(other):
        pass
    shutil.copy(other.place.database, small.place.database)
    finding = refused(small.verify(), "other-ledger")
    assert (finding.expected, finding.found) == (small.origin, other.origin)
    assert cli(small.place.directory)[0] == 1


def test_a_strangers_whole_directory_is_not_known_here(
    small: Small, cli: CLI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("ANVIL_STATE", str(tmp_path / "elsewhere"))
        other = small_ledger(tmp_path / "other")
    assert cli(other.place.directory)[0] == 3
    assert cli(other.place.directory, "--key", small.vkey)[0] == 1


def _install(small: Small, entries: list[bytes]) -> None:
    with attack(small) as db:
        rewrite(db, entries)
        db.execute("DELETE FROM openings")
        sign_head(db, small.origin, PRETENDERS["ledger"])


def test_one_of_the_same_name(small: Small, cli: CLI) -> None:
    _install(small, pretender(small.origin))
    report = small.verify()
    refused(report, "other-ledger", exit_code=4)
    refused(report, "rolled-back", 3, exit_code=4)
    refused(small.verify(anchored=False), "other-ledger", 0)
    assert cli(small.place.directory)[0] == 4


def test_one_of_the_same_name_that_claims_our_key(small: Small) -> None:
    _install(small, pretender(small.origin, small.vkey.public_key))
    refused(small.verify(anchored=False), "tampered", 0)


def test_events_about_keys_are_checked_even_when_signatures_are_left_out(small: Small) -> None:
    _install(small, pretender(small.origin, small.vkey.public_key))
    refused(small.verify(anchored=False, signatures=False), "tampered", 0)


def test_only_the_name(small: Small) -> None:
    with attack(small) as db:
        db.execute("UPDATE ledger SET origin = 'other.test.invalid/x-00000000'")
    refused(small.verify(), "other-ledger")


def test_the_format(small: Small) -> None:
    with attack(small) as db:
        db.execute("UPDATE ledger SET format = 'anvil-ledger/2'")
    refused(small.verify(), "schema-altered")


@pytest.mark.parametrize("origin", ["a\0b", "../" * 2000, "", "a b+c"])
def test_a_name_that_is_none(small: Small, cli: CLI, origin: str) -> None:
    with attack(small) as db:
        db.execute("UPDATE ledger SET origin = ?", [origin])
    code, report = cli(small.place.directory)
    assert code == 1
    assert "other-ledger" in {finding["code"] for finding in report["findings"]}
