"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

from anvil.ledger import files
from anvil.ledger.errors import LedgerError
from anvil.ledger.files import make_private_directory, read_plain, write_whole


def refuse(*_: object) -> NoReturn:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("step", ["flush", "rename"])
def test_the_old_file_stays_when_the_disk_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr(*{"flush": (files, "flush"), "rename": (Path, "rename")}[step], refuse)
    with pytest.raises(LedgerError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_is_not_there_or_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for parent in ("absent", "file"):
        with pytest.raises(LedgerError, match="could not be written"):
            write_whole(tmp_path / parent / "x", b"")


def test_a_private_directory_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(LedgerError, match="could not be made"):
            make_private_directory(path)


def test_a_file_is_replaced_whole_flushed_before_it_is_renamed_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    rename, fsync = Path.rename, os.fsync
    monkeypatch.setattr(Path, "rename", lambda a, b: (steps.append("rename"), rename(a, b))[1])
    monkeypatch.setattr(
        os, "fsync", lambda fd: (steps.append(f"fsync {Path(f'/proc/self/fd/{fd}').is_dir()}"), fsync(fd))
    )
    write_whole(tmp_path / "file", b"new")
    assert steps == ["fsync False", "rename", "fsync True"]
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_file_has_its_mode_from_the_first_moment(tmp_path: Path, mode: int) -> None:
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "file", b"", mode=mode)
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_every_directory_that_is_made_is_private_and_none_that_was_there_is_changed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private_directory(tmp_path / "a" / "b" / "c")
    make_private_directory(tmp_path / "a" / "b" / "c")
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "a", tmp_path / "a/b", tmp_path / "a/b/c")}
    assert modes == {"a": 0o700, "b": 0o700, "c": 0o700}
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_file_of_just_so_many_bytes_is_read_and_a_longer_one_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_plain(path, 5) == b"12345"
    with pytest.raises(OSError, match="it has more than 4 bytes"):
        read_plain(path, 4)
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "none", 4)
    with pytest.raises(FileNotFoundError, match="no plain file"):
        read_plain(tmp_path, 4)
