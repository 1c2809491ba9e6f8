"""Lookup columns that somebody altered: a draft is made by them, and nothing is released from them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.command import run_here
from support.laguna import laguna
from support.published_folders import DOCUMENT, ORIGIN

from anvil.ledger.drafts import Draft
from anvil.ledger.events import EventRetracted
from anvil.ledger.schema import STATEMENTS, TRIGGERS


@pytest.mark.parametrize(
    "change",
    [
        "event = 'gap.noted/1' WHERE event = 'event.retracted/1'",
        "campaign = 'another' WHERE [index] = (SELECT MAX([index]) - 4 FROM entries)",
        "stream = 'another' WHERE event = 'event.retracted/1'",
    ],
)
def test_an_event_that_is_hidden_by_its_columns_refuses_the_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], change: str
) -> None:
    monkeypatch.chdir(tmp_path)
    made = laguna(tmp_path / "anvil-ledger", ORIGIN)
    made.add(Draft(EventRetracted(target=made.observed[0].entry_hash, reason="It was another host.")))
    with closing(sqlite3.connect(made.place.database, isolation_level=None)) as db:
        for trigger in TRIGGERS:
            db.execute(f"DROP TRIGGER {trigger}")
        db.execute(f"UPDATE entries SET {change}")
        for trigger in TRIGGERS:
            db.execute(STATEMENTS[trigger])
    ran = run_here(capfdbinary, "release", DOCUMENT, "--out", "published")
    assert ran.code == 1
    assert "column of entry" in ran.err
    assert not Path("published").exists()
    assert run_here(capfdbinary, "verify").code == 1
