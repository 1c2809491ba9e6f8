"""A verifier in JavaScript, written from docs/format.md alone, comes to the verdicts of `anvil verify`.

`verify.mjs` and `format.mjs` beside this file share nothing with anvil but that document.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.needs("node")

ANVIL = Path(sys.executable).with_name("anvil")
VERIFIER = Path(__file__).with_name("verify.mjs")
NOT_NUMBERED = {"other-ledger", "file-damaged", "tree-differs"}
"""Findings that concern no single entry; which index they get is nobody's rule."""

Verdict = tuple[int, set[tuple[str, int | None]]]


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A restored ledger, as exported for an auditor: keys added, rotated and revoked, a redaction, disclosures.

    Beside it lies `public`, the same as exported for everybody.
    """
    place = tmp_path_factory.mktemp("independent")
    env = os.environ | {"ANVIL_STATE": str(place / "state"), "ANVIL_KEYS": str(place / "keys")}

    def anvil(*args: str | Path) -> Any:
        done = _run(ANVIL, *args, env=env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in args else None

    attachment = place / "answer.txt"
    attachment.write_text("42\n", encoding="utf-8")
    at = ("--ledger", place / "first")
    anvil("init", "--origin", "ledger.test.invalid/node", place / "first")
    anvil(*at, "observe", "zürich-7 is up 😀", "--status", "declared", "--subject", "attempt=a1")
    kept = ("--status", "retained-complete", "--attach", attachment)
    answered = anvil(*at, "observe", "It answered.", *kept, "--json")
    anvil(*at, "observe", "Anybody may read this.", "--public", "--status", "declared")
    anvil(*at, "key", "rotate", "collector")
    added = anvil(*at, "key", "new", "operator", "--json")
    anvil(*at, "key", "revoke", added["key"], "--cause", "lost", "--last-good", "9")
    anvil(*at, "redact", "3", "--reason", "It named a host.")
    anvil(*at, "disclose", answered["entry_hash"], "attachment-1", "--digest-only", "--yes")
    anvil(*at, "disclose", answered["entry_hash"], "attachment-1", "--reason", "It is a number.", "--yes")
    anvil(*at, "backup", place / "copy.db")
    anvil("restore", place / "copy.db", place / "second", "--blobs", place / "first/blobs")
    at = ("--ledger", place / "second")
    attachment.write_text("43\n", encoding="utf-8")
    lost = anvil(*at, "observe", "Lost.", "--status", "retained-complete", "--attach", attachment, "--json")
    digest = hashlib.sha256(b"43\n").hexdigest()
    (place / "second/blobs/sha256" / digest[:2] / digest[2:]).unlink()
    anvil(*at, "note", "missing", str(lost["index"]), "--reason", "The disk died.")
    anvil(*at, "observe", "--attach", place / "copy.db", "--to", str(lost["index"]))
    anvil(*at, "key", "rotate", "ledger")
    attachment.write_text("44\n", encoding="utf-8")
    gone = anvil(*at, "observe", "Gone.", *kept, "--json")
    anvil(*at, "disclose", gone["entry_hash"], "attachment-1", "--yes")
    anvil(*at, "redact", str(gone["index"]), "--reason", "It is the wrong number.")
    anvil("--ledger", place / "second", "export", "--audit", place / "export")
    anvil("--ledger", place / "second", "export", place / "public")
    return place / "export"


def _run(*argv: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, env=env)


def _verdict(done: subprocess.CompletedProcess[str]) -> Verdict:
    report = json.loads(done.stdout)
    assert report["exit_code"] == done.returncode
    found = {
        (each["code"], None if each["code"] in NOT_NUMBERED else each["index"]) for each in report["findings"]
    }
    return done.returncode, found


def _of_anvil(folder: Path, vkey: str) -> Verdict:
    return _verdict(_run(ANVIL, "verify", "--tiles", folder, "--key", vkey, "--workers", "1", "--json"))


def _of_node(folder: Path, vkey: str) -> Verdict:
    return _verdict(_run("node", VERIFIER, folder, vkey, "--openings", "--json"))


def _vkey(folder: Path) -> str:
    return (folder / "log.vkey").read_text(encoding="utf-8").split()[0]


def _first(folder: Path, pattern: str) -> Path:
    return next(path for path in sorted(folder.glob(pattern)) if path.is_file())


def _answer(folder: Path) -> Path:
    digest = hashlib.sha256(b"42\n").hexdigest()
    return folder / "blobs/sha256" / digest[:2] / digest[2:]


def _change(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    path.chmod(0o644)
    path.write_bytes(data.replace(old, new, 1))


def _entries(folder: Path) -> list[bytes]:
    data, found = _first(folder, "tile/entries/*/*").read_bytes(), []
    while data:
        end = 2 + int.from_bytes(data[:2])
        found.append(data[:end])
        data = data[end:]
    return found


def _write(folder: Path, entries: list[bytes]) -> None:
    _first(folder, "tile/entries/*/*").write_bytes(b"".join(entries))


def _signature_of_another(folder: Path) -> None:
    entries = _entries(folder)
    ours, other = (entry[entry.index(b'"sig":') :] for entry in (entries[5], entries[6]))
    entries[5] = entries[5].replace(ours, other)
    _write(folder, entries)


def _swapped(folder: Path) -> None:
    entries = _entries(folder)
    entries[7], entries[8] = entries[8], entries[7]
    _write(folder, entries)


def _spelled_otherwise(folder: Path) -> None:
    entries = _entries(folder)
    body = entries[4][2:].replace(b'"payload":', b'"payload": ')
    entries[4] = len(body).to_bytes(2) + body
    _write(folder, entries)


def _hash_changed(folder: Path) -> None:
    path = _first(folder, "tile/0/*/*")
    data = bytearray(path.read_bytes())
    data[32 * 7] ^= 1
    path.write_bytes(data)


def _root_changed(folder: Path) -> None:
    lines = (folder / "checkpoint").read_text(encoding="utf-8").split("\n")
    lines[2] = "A" * 43 + "="
    (folder / "checkpoint").write_text("\n".join(lines), encoding="utf-8")


def _opening_gone(folder: Path) -> None:
    path = folder / "openings.ndjson"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[1:]), encoding="utf-8")


TAMPERINGS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "nothing": (lambda folder: None, {"unanchored"}),
    "the signature of another entry": (_signature_of_another, {"tampered"}),
    "entries swapped": (_swapped, {"tampered", "chain-broken"}),
    "an entry spelled otherwise": (_spelled_otherwise, {"non-canonical"}),
    "a hash changed": (_hash_changed, {"tampered"}),
    "the root changed": (_root_changed, {"checkpoint-invalid"}),
    "no entries": (lambda folder: _first(folder, "tile/entries/*/*").unlink(), {"file-damaged"}),
    "an opening gone": (_opening_gone, set()),
    "a salt changed": (
        lambda folder: _change(folder / "openings.ndjson", b'"salt": "', b'"salt": "00'),
        {"sealed-altered"},
    ),
    "an artifact changed": (
        lambda folder: _change(_answer(folder), b"42", b"43"),
        {"artifact-altered"},
    ),
    "no openings": (lambda folder: (folder / "openings.ndjson").unlink(), {"not-checked"}),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_both_verifiers_agree(export: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(export, copy)
    change, expected = TAMPERINGS[name]
    change(copy)
    vkey = _vkey(export)
    code, found = _of_node(copy, vkey)
    assert (code, found) == _of_anvil(copy, vkey)
    assert expected <= {code for code, _ in found}
    assert (code == 3) == (name in {"nothing", "no openings"})


ARTIFACTS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "nothing": (lambda folder: None, {"redacted", "lost"}),
    "changed": (
        lambda folder: _change(_answer(folder), b"42", b"43"),
        {"artifact-altered"},
    ),
    "gone": (lambda folder: _answer(folder).unlink(), {"artifact-missing"}),
    "all gone": (lambda folder: shutil.rmtree(folder / "blobs"), {"not-checked"}),
}


@pytest.mark.parametrize("name", ARTIFACTS)
def test_both_verifiers_agree_on_disclosed_bytes_without_openings(
    export: Path, tmp_path: Path, name: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(export.with_name("public"), copy)
    assert [path.read_bytes() for path in copy.glob("blobs/sha256/*/*")] == [b"42\n"]
    change, expected = ARTIFACTS[name]
    change(copy)
    vkey = _vkey(export)
    code, found = _of_node(copy, vkey)
    assert (code, found) == _of_anvil(copy, vkey)
    assert expected <= {code for code, _ in found}
    assert (code == 3) == (name in {"nothing", "all gone"})


def test_both_verifiers_know_another_ledger(export: Path) -> None:
    other = "ledger.test.invalid/story-00000000+ae088c38+AYE5dw6ofRdfVqNUZsNMfszLjYqRtO43ol32D1uPybOU"
    code, found = _of_node(export, other)
    assert (code, found) == _of_anvil(export, other)
    assert code == 1
    assert ("other-ledger", None) in found
