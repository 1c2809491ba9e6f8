"""An older copy of the database takes the place of the newer one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import SIZE, Small, attack, grow, push, refused, said, session, sign_head

from anvil.ledger.errors import RolledBack, SplitView
from anvil.ledger.recording import Ledger

CLI = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def older(small: Small, tmp_path: Path) -> Small:
    """The ledger, with a copy from before three more events put back."""
    with attack(small):
        pass
    copy = Path(shutil.copy(small.place.database, tmp_path / "copy.db"))
    grow(small)
    with attack(small):
        pass
    shutil.copy(copy, small.place.database)
    return small


def test_the_anchor_tells(older: Small, cli: CLI) -> None:
    finding = refused(older.verify(), "rolled-back", SIZE, exit_code=4)
    assert (finding.expected, finding.found) == (f"{SIZE + 3} entries", f"{SIZE} entries")
    code, report = cli(older.place.directory)
    assert (code, report["findings"][0]["index"]) == (4, SIZE)


def test_nothing_is_appended_any_more(older: Small) -> None:
    with pytest.raises(
        RolledBack, match=f"{SIZE + 3} entries had been signed for, the database holds {SIZE}"
    ):
        Ledger.open(older.place.directory)


def test_another_history_on_top_of_it_is_a_split_view(older: Small, cli: CLI) -> None:
    with attack(older) as db:
        push(db, *session(older.origin, older.key("operator"), said("another future")))
        sign_head(db, older.origin, older.key("ledger"))
    finding = refused(older.verify(), "split-view", SIZE + 1, exit_code=4)
    assert finding.expected != finding.found
    assert cli(older.place.directory)[0] == 4
    with pytest.raises(SplitView):
        Ledger.open(older.place.directory)


def test_without_an_anchor_it_says_that_it_cannot_know(older: Small) -> None:
    assert older.verify(anchored=False).exit_code == 3
