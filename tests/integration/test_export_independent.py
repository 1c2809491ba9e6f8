"""A real ledger, exported, is accepted by golang.org/x/mod and openssl, and its tampered copies are not."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from support.go import TlogVerify
from support.sized import ledger_of_size

from anvil.ledger.checkpoint import open_checkpoint
from anvil.ledger.exporting import export, prove
from anvil.ledger.note import SignedNote, VerifierKey
from anvil.ledger.places import LedgerPlace
from anvil.ledger.sources import TilesLocation
from anvil.ledger.verify import Expectations, verify

ED25519_SPKI = bytes.fromhex("302a300506032b6570032100")


def exported(tmp_path: Path, size: int) -> tuple[LedgerPlace, Path, VerifierKey]:
    place = ledger_of_size(tmp_path / "ledger", size)
    target = tmp_path / "tiles"
    assert export(place, target).size == size
    return place, target, VerifierKey.parse(place.verifier_key.read_text().strip())


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 0xFF
    path.write_bytes(raw)


def accepted_and_tampered_refused(tmp_path: Path, tlogverify: TlogVerify, size: int) -> None:
    place, tiles, key = exported(tmp_path, size)
    assert tlogverify.log(tiles).startswith("OK")
    report = verify(TilesLocation(tiles), Expectations(keys=(key,)))
    assert {f.code for f in report.findings if f.severity != "note"} == {"unanchored"}
    assert (report.size, report.exit_code) == (size, 3)

    for name in ("0.entry", "proof"):
        (tmp_path / name).unlink(missing_ok=True)
    entry, proof = prove(place, size - 1)
    (tmp_path / "entry").write_bytes(entry)
    (tmp_path / "proof").write_bytes(proof.to_bytes())
    assert tlogverify.proof(tiles / "log.vkey", tmp_path / "proof", tmp_path / "entry").startswith("OK")
    flip(tmp_path / "entry", len(entry) // 2)
    assert tlogverify.proof(tiles / "log.vkey", tmp_path / "proof", tmp_path / "entry").startswith("FAIL")

    files = sorted(p for p in tiles.rglob("*") if p.is_file() and p.name != "log.vkey")
    for victim in {files[0], files[-1], tiles / "checkpoint", *files[:: max(1, len(files) // 6)]}:
        name = victim.relative_to(tiles)
        copy = tmp_path / "copy"
        shutil.copytree(tiles, copy)
        flip(copy / name, (copy / name).stat().st_size // 2)
        assert tlogverify.log(copy).startswith("FAIL"), name
        assert verify(TilesLocation(copy), Expectations(keys=(key,)), workers=1).exit_code == 1, name
        shutil.rmtree(copy)


@pytest.mark.needs("go")
@pytest.mark.parametrize("size", [1, 255, 256, 257, 1000])
def test_go_accepts_the_export_and_refuses_tampered_copies(
    tmp_path: Path, tlogverify: TlogVerify, size: int
) -> None:
    accepted_and_tampered_refused(tmp_path, tlogverify, size)


@pytest.mark.soak
@pytest.mark.needs("go")
def test_go_accepts_an_export_of_70000(tmp_path: Path, tlogverify: TlogVerify) -> None:
    accepted_and_tampered_refused(tmp_path, tlogverify, 70_000)


@pytest.mark.needs("openssl")
def test_openssl_accepts_the_checkpoint_of_a_real_ledger(tmp_path: Path) -> None:
    _, tiles, key = exported(tmp_path, 5)
    note = SignedNote.parse((tiles / "checkpoint").read_bytes())
    assert open_checkpoint((tiles / "checkpoint").read_bytes(), [key]).size == 5
    files = {"key.der": ED25519_SPKI + key.public_key.raw, "text": note.text.encode()}
    files["signature"] = note.signatures[0].signature
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    argv = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "key.der", "-rawin"]
    argv += ["-in", "text", "-sigfile", "signature"]
    assert subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=30).returncode == 0
    (tmp_path / "text").write_bytes(note.text.replace("5", "6", 1).encode())
    assert subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=30).returncode != 0


def test_an_export_is_brought_up_to_date_in_place(tmp_path: Path) -> None:
    place, tiles, key = exported(tmp_path, 300)
    full = tiles / "tile/entries/000"
    before = full.stat().st_mtime_ns
    again = export(place, tiles)
    partial = ["tile/0/001.p/44", "tile/entries/001.p/44", "tile/1/000.p/1"]
    assert (again.size, again.files, full.stat().st_mtime_ns) == (300, len(partial), before)
    assert all((tiles / name).is_file() for name in partial)
    assert verify(TilesLocation(tiles), Expectations(keys=(key,))).exit_code == 3


def test_an_export_does_not_mix_two_ledgers(tmp_path: Path) -> None:
    _, tiles, _ = exported(tmp_path, 3)
    other = ledger_of_size(tmp_path / "other", 4)
    with pytest.raises(Exception, match="holds the export of 3 entries"):
        export(other, tiles)
