"""`anvil weights`: what it prints, what it records, and what it exits with."""

from __future__ import annotations

from pathlib import Path

from support.command import Anvil
from support.snapshots import REVISION, good_cache

from anvil.ledger.store import Store
from anvil.projections.seen import read_events


def test_a_good_snapshot_exits_with_0_and_is_not_recorded(anvil: Anvil, tmp_path: Path) -> None:
    cache = good_cache(tmp_path)
    ran = anvil("weights", cache.repository)
    assert ran.code == 0, ran.err
    assert "Nothing was found." in ran.out
    assert REVISION in ran.out
    assert "/s, on " in ran.err


def test_findings_exit_with_1_and_name_the_file(anvil: Anvil, tmp_path: Path) -> None:
    cache = good_cache(tmp_path)
    (cache.snapshot / "model.py").write_text("import os\n")
    ran = anvil("weights", cache.snapshot, "--json")
    assert ran.code == 1
    assert ran.json["schema"] == "anvil.weights/1"
    assert ran.json["found"] == [{"kind": "code", "file": "model.py"}]
    assert "FOUND: code" in anvil("weights", cache.snapshot).out


def test_it_is_recorded_under_a_campaign(ledger: Anvil, tmp_path: Path) -> None:
    cache = good_cache(tmp_path)
    ran = ledger("weights", cache.snapshot, "--campaign", "c1", "--candidate", "tiny", "--json")
    assert ran.code == 0, ran.err
    store = Store.open_readonly(Path("anvil-ledger") / "ledger.db")
    seen = [item for item in read_events(store) if item.header.event == "weights.inspected/1"]
    store.close()
    assert [item.entry_hash for item in seen] == [ran.json["entry_hash"]]
    assert (seen[0].header.subject.campaign, seen[0].header.subject.candidate) == ("c1", "tiny")


def test_misuse(anvil: Anvil, tmp_path: Path) -> None:
    assert anvil("weights", tmp_path / "nowhere").code == 1
    assert anvil("weights", tmp_path, "--candidate", "x").code == 2
    assert anvil("weights", tmp_path, "--campaign", "Not A Label").code == 2
