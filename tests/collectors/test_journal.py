"""The journal of a run: private, locked while the run lives, readable after whatever cut it short."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from anvil.collectors.journal import Journal, KeptLine, left_behind
from anvil.ledger.errors import CollectorError

STREAM = "20261130T102700Z-0123456789abcdef"
LINE = KeptLine({"attempt": "a1"}, "retrieval", "retrieval-1k", "r1.response", "sha256:" + "0" * 64, 3)


def test_a_living_run_is_left_alone_and_a_dead_one_is_found(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journals", STREAM)
    journal.write(LINE)
    assert list(left_behind(tmp_path / "journals")) == []
    journal.leave()
    (found,) = left_behind(tmp_path / "journals")
    assert (found.stream, found.lines) == (STREAM, (LINE,))
    assert list(left_behind(tmp_path / "journals")) == []  # somebody collects it already
    found.finish()
    assert list((tmp_path / "journals").iterdir()) == []


def test_it_is_private_and_of_one_run(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journals", STREAM)
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.path.parent.stat().st_mode) == 0o700
    journal.finish()
    (tmp_path / "journals" / f".{STREAM}.new").touch()
    with pytest.raises(CollectorError, match="cannot be begun"):
        Journal.create(tmp_path / "journals", STREAM)


def test_a_line_that_was_cut_short_hides_no_other(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path, STREAM)
    journal.write(LINE)
    journal.leave()
    whole = journal.path.read_bytes()
    for cut in range(len(whole)):
        journal.path.write_bytes(whole + whole[:cut] + whole)
        (found,) = left_behind(tmp_path)
        assert found.lines == (LINE, LINE)
        os.close(found.descriptor)
