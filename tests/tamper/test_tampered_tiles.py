"""Exported files are tampered with: each of them flipped, cut, removed, swapped, or of another ledger."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import ATTACKER, SEALED, SIZE, Small, attack, grow, small_ledger

from anvil.ledger.checkpoint import Checkpoint, sign_checkpoint
from anvil.ledger.exporting import export

CLI = Callable[..., tuple[int, dict[str, Any]]]
TILE, BUNDLE = f"tile/0/000.p/{SIZE}", f"tile/entries/000.p/{SIZE}"
FILES = ["checkpoint", TILE, BUNDLE]


class Exported:
    """An export, the checkpoint that its reader kept, and the command that checks it."""

    def __init__(self, small: Small, directory: Path, cli: CLI) -> None:
        self.small, self.directory, self._cli = small, directory, cli
        export(small.place, directory, audit=True)
        self.kept = directory.with_name("kept.checkpoint")
        self.kept.write_bytes(small.checkpoint())

    def path(self, name: str) -> Path:
        return self.directory / name

    def verify(self, *more: object) -> tuple[int, dict[str, Any]]:
        key = ("--key", self.small.vkey, "--checkpoint", self.kept)
        return self._cli(None, "--tiles", self.directory, *(more or key))

    def refused(self, *codes: str) -> list[int | None]:
        """Check that it is refused with one of the verdicts; return the indices named."""
        exit_code, report = self.verify()
        assert exit_code != 0
        findings = [f for f in report.get("findings", []) if f["severity"] in ("fatal", "failure")]
        assert findings or "error" in report
        if codes and findings:
            assert {f["code"] for f in findings} & set(codes), findings
        return [f["index"] for f in findings]


@pytest.fixture
def exported(small: Small, tmp_path: Path, cli: CLI) -> Exported:
    files = Exported(small, tmp_path / "export", cli)
    assert files.verify()[0] == 0
    return files


@pytest.mark.parametrize("name", FILES)
def test_a_byte_is_flipped(exported: Exported, name: str) -> None:
    raw = exported.path(name).read_bytes()
    for at in range(0, len(raw), max(1, len(raw) // 25)):
        exported.path(name).write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        exported.refused()


@pytest.mark.soak
@pytest.mark.parametrize("name", FILES)
def test_every_byte_is_flipped(exported: Exported, name: str) -> None:
    raw = exported.path(name).read_bytes()
    for at in range(len(raw)):
        for bits in (0xFF, 0x01, 0x20, 0x80):
            exported.path(name).write_bytes(raw[:at] + bytes([raw[at] ^ bits]) + raw[at + 1 :])
            exported.refused()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("keep", [0, 1, -1, -32])
def test_a_file_is_cut(exported: Exported, name: str, keep: int) -> None:
    exported.path(name).write_bytes(exported.path(name).read_bytes()[:keep])
    exported.refused()


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_longer(exported: Exported, name: str) -> None:
    exported.path(name).write_bytes(exported.path(name).read_bytes() + b"\x00")
    exported.refused()


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_removed(exported: Exported, name: str) -> None:
    exported.path(name).unlink()
    exported.refused()


def test_a_leaf_hash_is_altered(exported: Exported) -> None:
    raw = bytearray(exported.path(TILE).read_bytes())
    raw[SEALED * 32] ^= 1
    exported.path(TILE).write_bytes(raw)
    assert exported.refused("tampered") == [SEALED]


def test_two_files_change_places(exported: Exported) -> None:
    tile, bundle = exported.path(TILE).read_bytes(), exported.path(BUNDLE).read_bytes()
    exported.path(TILE).write_bytes(bundle)
    exported.path(BUNDLE).write_bytes(tile)
    exported.refused()


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_ledger(exported: Exported, name: str, tmp_path: Path) -> None:
    other = small_ledger(tmp_path / "other")
    export(other.place, tmp_path / "other-export", audit=True)
    shutil.copy(tmp_path / "other-export" / name, exported.path(name))
    exported.refused()


def test_every_file_of_another_ledger(exported: Exported, tmp_path: Path) -> None:
    other = small_ledger(tmp_path / "other")
    shutil.rmtree(exported.directory)
    export(other.place, exported.directory, audit=True)
    exported.refused("other-ledger")


def test_an_older_export(exported: Exported, tmp_path: Path) -> None:
    grow(exported.small)
    exported.kept.write_bytes(exported.small.checkpoint())
    assert exported.verify()[0] == 4
    code, report = exported.verify("--key", exported.small.vkey)
    assert (code, report["findings"][-1]["code"]) == (3, "unanchored")


@pytest.mark.parametrize("size", [1, SIZE - 1, SIZE + 1, 10**6, 2**62])
@pytest.mark.parametrize("stolen", [False, True])
def test_a_checkpoint_for_another_size(exported: Exported, size: int, stolen: bool) -> None:
    key = exported.small.key("ledger") if stolen else ATTACKER
    note = sign_checkpoint(Checkpoint(exported.small.origin, size, b"\x01" * 32), [key])
    exported.path("checkpoint").write_bytes(note)
    exported.refused()


def test_no_key_no_verdict(exported: Exported) -> None:
    assert exported.verify("--workers", 1)[0] == 2


def test_a_vkey_beside_the_files_is_not_believed(exported: Exported, tmp_path: Path) -> None:
    other = small_ledger(tmp_path / "other")
    code, report = exported.verify("--key", other.vkey)
    assert code == 1
    assert "other-ledger" in {f["code"] for f in report["findings"]}


def test_a_blob(exported: Exported) -> None:
    for path in exported.path("blobs").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes() + b"x")
    assert exported.refused("artifact-altered") == [SEALED, SEALED]
    shutil.rmtree(exported.path("blobs") / "sha256")
    assert exported.refused("artifact-missing") == [SEALED, SEALED]


def test_an_export_of_a_tampered_database(small: Small, tmp_path: Path, cli: CLI) -> None:
    with attack(small) as db:
        db.execute('UPDATE entries SET leaf_hash = zeroblob(32) WHERE "index" = ?', [SEALED])
    assert SEALED in Exported(small, tmp_path / "export", cli).refused("tampered")
