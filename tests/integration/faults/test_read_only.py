"""A disk that cannot be written: reading works and sees pending rows, appending gives one clear error."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support import faults

OBEYING = () if os.geteuid() else ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""What takes from root the right to write where nobody may."""


def reads(place: Path, out: Path, entries: int, **more: Any) -> None:
    """Everything that only reads works and sees all entries."""
    before = sorted((p, p.stat().st_size) for p in place.rglob("*"))
    verified = faults.anvil(place, "verify", "--json", **more).done().json
    assert (verified["size"], verified["anchored_by"]) == (entries, ["the anchor"])
    assert faults.anvil(place, "log", "--json", **more).done().json["size"] == entries
    faults.anvil(place, "show", str(entries - 1), **more).done()
    exported = faults.anvil(place, "export", "--audit", "--json", out, **more).done().json
    assert exported["size"] == 2  # what the newest checkpoint covers
    assert sorted((p, p.stat().st_size) for p in place.rglob("*")) == before


@pytest.mark.needs("mount")
@pytest.mark.parametrize("pending", [False, True])
def test_a_read_only_mount(tmp_path: Path, pending: bool) -> None:
    with faults.disk(tmp_path / "disk", 4096) as disk:
        place = faults.make(disk.path / "ledger")
        acknowledged = faults.leave_wal(place, tmp_path / "acks") if pending else []
        disk.freeze()
        reads(place, tmp_path / "export", 8 if pending else 2)
        assert not faults.missing(place, acknowledged)
        faults.observe(place, "refused").refused("ledger.db")
        for arguments in (("checkpoint",), ("backup", tmp_path / "copy.db")):
            if faults.anvil(place, *arguments).code:
                faults.anvil(place, *arguments).refused("ledger.db")
        faults.anvil(disk.path / "other", "init", "--origin", faults.NAME).refused("Read-only file system")


@pytest.mark.parametrize("pending", [False, True])
def test_a_read_only_directory(place: Path, tmp_path: Path, pending: bool) -> None:
    acknowledged = faults.leave_wal(place, tmp_path / "acks") if pending else []
    for path in [*place.rglob("*"), place]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        reads(place, tmp_path / "export", 8 if pending else 2, under=OBEYING)
        faults.observe(place, "refused", under=OBEYING).refused("ledger.db")
        assert not faults.missing(place, acknowledged)
    finally:
        for path in [place, *place.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
