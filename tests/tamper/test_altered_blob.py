"""The bytes of an artifact are altered, removed or replaced; see also `test_flipped_byte_blob`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import LOG, SAMPLES, SEALED, Small, refused

CLI = Callable[..., tuple[int, dict[str, Any]]]


def blob(small: Small, content: bytes) -> Path:
    return next(p for p in small.place.blobs.rglob("*") if p.is_file() and p.read_bytes() == content)


@pytest.mark.parametrize("content", [LOG, SAMPLES])
@pytest.mark.parametrize("change", [b"", b"x", LOG + b"\n", SAMPLES[:-1], LOG * 100])
def test_other_bytes(small: Small, content: bytes, change: bytes) -> None:
    blob(small, content).write_bytes(change)
    finding = refused(small.verify(), "artifact-altered", SEALED)
    assert f", {len(content)} bytes" in str(finding.expected)


@pytest.mark.parametrize("content", [LOG, SAMPLES])
def test_removed(small: Small, content: bytes, cli: CLI) -> None:
    blob(small, content).unlink()
    refused(small.verify(), "artifact-missing", SEALED)
    code, report = cli(small.place.directory)
    assert (code, [(f["code"], f["index"]) for f in report["findings"]]) == (
        1,
        [("artifact-missing", SEALED)],
    )


def test_one_takes_the_place_of_the_other(small: Small) -> None:
    blob(small, LOG).write_bytes(SAMPLES)
    refused(small.verify(), "artifact-altered", SEALED)


def test_the_whole_store_is_removed(small: Small) -> None:
    import shutil

    shutil.rmtree(small.place.blobs)
    report = small.verify()
    assert [f.code for f in report.findings] == ["artifact-missing", "artifact-missing"]
    refused(report, "artifact-missing", SEALED)


def test_a_directory_in_its_place(small: Small, cli: CLI) -> None:
    path = blob(small, LOG)
    path.unlink()
    path.mkdir()
    refused(small.verify(), "artifact-missing", SEALED)
    assert cli(small.place.directory)[0] == 1


def test_a_link_to_equal_bytes_is_the_same_bytes(small: Small, tmp_path: Path) -> None:
    path = blob(small, LOG)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert small.verify().exit_code == 0


def test_a_link_that_leads_nowhere(small: Small) -> None:
    path = blob(small, LOG)
    path.unlink()
    path.symlink_to("/nowhere/at/all")
    refused(small.verify(), "artifact-missing", SEALED)


def test_a_pipe_in_its_place_does_not_hang(small: Small, cli: CLI) -> None:
    import os

    path = blob(small, LOG)
    path.unlink()
    os.mkfifo(path)
    refused(small.verify(), "artifact-missing", SEALED)
    assert cli(small.place.directory)[0] == 1


def test_a_device_in_its_place_does_not_hang(small: Small, cli: CLI) -> None:
    path = blob(small, LOG)
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(small.verify(), "artifact-missing", SEALED)
    assert cli(small.place.directory)[0] == 1
