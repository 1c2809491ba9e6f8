"""After a restore: what was carried over from the predecessor is altered, shortened or mixed up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import (
    PRETENDERS,
    PUBLIC,
    STREAM,
    Small,
    attack,
    forge,
    header_in,
    pretender,
    push,
    refused,
    rewrite,
    said,
    session,
    sign_head,
)

from anvil.ledger.backup import back_up, restore
from anvil.ledger.errors import LedgerError
from anvil.ledger.recording import Ledger

CLI = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def restored(small: Small, tmp_path: Path) -> tuple[Small, Small]:
    """The old ledger and the one that continues it."""
    with Ledger.open(small.place.directory) as ledger:
        back_up(ledger, tmp_path / "backup.db")
    new = Small(restore(tmp_path / "backup.db", small.place.blobs, tmp_path / "restored").created)
    assert new.verify().exit_code == 0
    return small, new


def resign(new: Small, entries: list[bytes]) -> None:
    """Rewrite the new ledger and sign it with its own ledger key: the strongest attacker there is."""
    with attack(new) as db:
        rewrite(db, entries)
        sign_head(db, new.origin, new.key("ledger"))


def test_an_event_is_dropped(restored: tuple[Small, Small]) -> None:
    _, new = restored
    entries = new.entries()
    resign(new, entries[: PUBLIC + 1] + entries[PUBLIC + 2 :])
    report = new.verify(anchored=False)
    refused(report, "tree-differs", PUBLIC + 1)
    refused(report, "chain-broken", PUBLIC + 1)


def test_a_whole_stream_is_dropped(restored: tuple[Small, Small]) -> None:
    _, new = restored
    entries = new.entries()
    resign(new, entries[:7] + entries[9:])
    refused(new.verify(anchored=False), "tree-differs", 7)


def test_the_last_stream_is_dropped(restored: tuple[Small, Small]) -> None:
    _, new = restored
    entries = new.entries()
    resign(new, entries[:12] + entries[15:])
    refused(new.verify(anchored=False), "tree-differs", 12)


def test_a_stream_of_the_predecessor_is_added_behind_the_range(restored: tuple[Small, Small]) -> None:
    old, new = restored
    with attack(new) as db:
        start = push(db, *session(old.origin, old.key("operator"), said("late"), stream=STREAM))
    refused(new.verify(), "not-permitted", start)


def test_a_stream_of_the_new_ledger_is_put_into_the_range(restored: tuple[Small, Small]) -> None:
    _, new = restored
    entries = new.entries()
    resign(new, entries[:7] + session(new.origin, new.key("operator"), stream=STREAM) + entries[7:])
    report = new.verify(anchored=False)
    refused(report, "not-permitted", 7)
    refused(report, "tree-differs", 7)


def test_the_old_operator_is_nobody_here(restored: tuple[Small, Small]) -> None:
    old, new = restored
    with attack(new) as db:
        start = push(db, *session(new.origin, old.key("operator"), said("x"), stream=STREAM))
    refused(new.verify(), "unknown-key", start)


def test_the_new_operator_was_nobody_there(restored: tuple[Small, Small]) -> None:
    old, new = restored
    entries = new.entries()
    forged = forge(old.origin, said("x"), new.key("operator"), after=header_in(entries[4]))
    resign(new, [*entries[:5], forged, *entries[6:]])
    refused(new.verify(anchored=False), "unknown-key", 5)


def test_a_column_in_the_range(restored: tuple[Small, Small], cli: CLI) -> None:
    _, new = restored
    with attack(new) as db:
        db.execute("UPDATE entries SET campaign = 'x' WHERE \"index\" = 4")
    refused(new.verify(), "column-differs", 4)
    assert cli(new.place.directory)[0] == 1


def test_the_range_is_said_to_be_longer(restored: tuple[Small, Small]) -> None:
    _, new = restored
    size = len(new.entries())
    with attack(new) as db:
        db.execute('DELETE FROM entries WHERE "index" >= 10')
        db.execute("DELETE FROM checkpoints")
    assert size > 10
    refused(new.verify(anchored=False), "tree-differs", 1)


def test_nothing_that_does_not_verify_is_restored(small: Small, tmp_path: Path) -> None:
    with attack(small) as db:
        db.execute("UPDATE entries SET campaign = 'x' WHERE \"index\" = 4")
    with pytest.raises(LedgerError, match="does not verify"):
        restore(small.place.database, small.place.blobs, tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_a_second_history_is_not_restored(small: Small, tmp_path: Path) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[:11] + session(small.origin, small.key("operator"), said("x"), said("y")))
        sign_head(db, small.origin, small.key("ledger"))
    with pytest.raises(LedgerError, match="another history"):
        restore(small.place.database, small.place.blobs, tmp_path / "restored")


def test_a_strangers_ledger_of_the_same_name_is_not_restored(small: Small, tmp_path: Path) -> None:
    # Shorter than what is anchored, so that no root can be compared: its keys can.
    with attack(small) as db:
        rewrite(db, pretender(small.origin))
        db.execute("DELETE FROM openings")
        sign_head(db, small.origin, PRETENDERS["ledger"])
    assert small.verify(anchored=False).exit_code == 1
    with pytest.raises(LedgerError):
        restore(small.place.database, small.place.blobs, tmp_path / "restored")


@pytest.mark.parametrize("signed", [True, False])
def test_a_history_as_long_as_the_anchored_one_is_compared_with_it(
    small: Small, tmp_path: Path, signed: bool
) -> None:
    entries = small.entries()
    with attack(small) as db:
        rewrite(db, entries[:11] + session(small.origin, small.key("operator"), said("other")))
        if signed:
            sign_head(db, small.origin, small.key("ledger"))
    with pytest.raises(LedgerError, match="another history"):
        restore(small.place.database, small.place.blobs, tmp_path / "restored")
