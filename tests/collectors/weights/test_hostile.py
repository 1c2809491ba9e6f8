"""Hostile files: each is found for what it is, none ends the look, and none is read more than it must."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from support.hostile_models import FILES

from anvil.collectors.weights.findings import counted
from anvil.collectors.weights.gguf import read_gguf
from anvil.collectors.weights.inspection import Inspection, inspect
from anvil.collectors.weights.recording import event_of, inventory_of
from anvil.collectors.weights.safetensors import read_safetensors


def look(place: Path) -> Inspection:
    return inspect(place, now_ns=1 << 62)


@pytest.mark.parametrize(
    ("kind", "name", "content"), [row[1:] for row in FILES], ids=[row[0] for row in FILES]
)
def test_a_hostile_file(
    kind: str, name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "snapshot"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes(content)
    seen = look(folder)
    assert kind in counted(seen.found), seen.found
    assert not (tmp_path / "unpickled").exists()
    assert event_of(seen).findings
    assert inventory_of(seen)
    if kind != "git-folder":
        assert seen.digests[name].sha256 is not None  # whatever it is, it can be named


def test_a_tar_of_python_is_only_named(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(__file__, "evil.py")
    assert counted(look(tmp_path).found) == {"archive": 1}


# --- nothing is read more than it must ----------------------------------------------------------------------


class Counting(io.BytesIO):
    """Bytes that count how many of them were asked for."""

    asked = 0

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert size >= 0
        self.asked += size
        return super().read(size)


REFUSED_EARLY = {"claims-gigabytes", "claims-all-bits", "claims-past-its-end", "six-bytes", "empty"}
GGUF_ROWS = [row for row in FILES if row[2].endswith(".gguf")]


@pytest.mark.parametrize("row", [r for r in FILES if r[0] in REFUSED_EARLY], ids=lambda row: row[0])
def test_a_header_that_cannot_be_is_not_read(row: tuple[str, str, str, bytes]) -> None:
    file = Counting(row[3])
    read_safetensors(file, len(row[3]))
    assert file.asked <= 8


@pytest.mark.parametrize("row", GGUF_ROWS, ids=lambda row: row[0])
def test_a_gguf_header_is_never_read_past_what_is_there(row: tuple[str, str, str, bytes]) -> None:
    file = Counting(row[3])
    read_gguf(file, len(row[3]))
    assert file.asked <= len(row[3])
