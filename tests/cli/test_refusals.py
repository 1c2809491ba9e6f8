"""Every error a person can cause: one clear message, the documented exit code, no traceback."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Anvil

STATUS = ("--status", "declared")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["verify"], 3, "there is no ledger"),
        (["log"], 3, "there is no ledger"),
        (["observe", "x", *STATUS], 3, "anvil init"),
        (["checkpoint"], 3, "there is no ledger"),
        (["export", "out"], 3, "there is no ledger"),
        (["backup", "b.db"], 3, "there is no ledger"),
        (["nonsense"], 2, "No such command"),
        (["verify", "--tiles", "."], 2, "--tiles needs --key"),
        (["verify", "--blobs", "."], 2, "--blobs goes with --tiles"),
        (["verify", "missing.db"], 2, "does not exist"),
        (["verify", "."], 2, ". is a folder"),
        (["verify", "--key", "nonsense"], 2, "neither a verifier key nor a file"),
        (["verify", "--key", "a+b+c"], 2, "no verifier key"),
        (["init"], 2, "--origin"),
        (["init", "--origin", "Not An Origin"], 1, "cannot be the name of a ledger"),
        (["init", "--origin", "https://example.com"], 1, "without scheme"),
    ],
)
def test_without_a_ledger(anvil: Anvil, arguments: list[str], code: int, says: str) -> None:
    ran = anvil(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert not Path("anvil-ledger").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["observe", "x"], 2, "--status"),
        (["observe", "x", "--status", "certain"], 2, "retained-complete"),
        (["observe", "x", "--status", "retained-complete"], 1, "no file is attached"),
        (["observe", "two\nlines", "--public", *STATUS], 1, "one line"),
        (["observe", "turned \u202e round", "--public", *STATUS], 1, "U+202E"),
        (["observe", "x" * 1001, "--public", *STATUS], 1, "at most 1000"),
        (["observe", "x" * (1 << 20), *STATUS], 1, "Attach long text"),
        (["observe", "", "--public", *STATUS], 2, "no words"),
        (["observe", " \n", *STATUS], 2, "no words"),
        (["observe", "caf\udce9", *STATUS], 2, "not UTF-8"),
        (["observe", "x", *STATUS, "--subject", "colour=red"], 2, "campaign="),
        (["observe", "x", *STATUS, "--subject", "campaign=No Good"], 2, "no label"),
        (["observe", "x", *STATUS, "--subject", "campaign=a", "--subject", "campaign=b"], 2, "each once"),
        (["observe", "x", *STATUS, "--attach", "missing.txt"], 2, "does not exist"),
        (["show", "99"], 1, "there is no entry 99"),
        (["show", "-1"], 2, "-1"),
        (["prove", "99"], 1, "there is no entry 99"),
        (["redact", "99", "--reason", "x"], 1, "there is no entry 99"),
        (["redact", "0", "--reason", "x"], 1, "nothing in event 0 can be redacted"),
        (["redact", "0", "--reason", "x", "--field", "text"], 1, "no sealed field or artifact 'text'"),
        (["init", "--origin", "x.test.invalid"], 1, "is in use"),
        (["key", "rotate", "nobody"], 1, "names 0 keys"),
        (["key", "revoke", "root", "--cause", "lost"], 1, "root key cannot be revoked"),
        (["key", "revoke", "ledger", "--cause", "lost"], 1, "rotate it first"),
        (["key", "revoke", "collector", "--cause", "lost", "--last-good", "99"], 1, "99 entries"),
        (["key", "new", "operator", "--agent", "me"], 1, "SSH_AUTH_SOCK"),
        (["key", "new", "operator", "--encrypt"], 1, "ANVIL_PASSPHRASE"),
        (["verify", "--since", "junk"], 3, "no verifier state"),
        (["verify", "--checkpoint", "junk"], 3, "not one of"),
        (["verify", "--checkpoint", "missing"], 3, "cannot be read"),
        (["verify", "--key", "junk"], 2, "no verifier key"),
        (["export", "full"], 1, "holds other files"),
        (["export", "--audit", "anvil-ledger"], 1, "is a ledger"),
        (["backup", "junk"], 1, "never replaces"),
        (["restore", "junk", "new"], 3, "not an SQLite database"),
        (["verify", "junk"], 3, "not an SQLite database"),
        (["verify", "junk", "--tiles", ".", "--key", "anvil-ledger/log.vkey"], 2, "one after the other"),
        (["verify", "junk", "--proof", "junk", "--entry", "junk"], 2, "go together"),
    ],
)
def test_with_a_ledger(ledger: Anvil, arguments: list[str], code: int, says: str) -> None:
    Path("junk").write_bytes(b"this is no file of ours\n" * 50)
    Path("full").mkdir()
    (Path("full") / "x").touch()
    ran = ledger(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert ledger("verify", "--json").json["size"] == 2, "nothing was recorded"


def test_a_state_that_cannot_be_kept_is_no_fault_of_the_ledger(ledger: Anvil) -> None:
    ran = ledger("verify", "--since", "no-such-folder/my.state")
    assert (ran.code, ran.out) == (3, "")
    assert "could not be kept" in ran.err


def test_what_cannot_be_signed_leaves_no_blob(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("a.txt").write_text("very private")
    monkeypatch.setenv("ANVIL_KEYS", "no-keys-here")
    assert ledger("observe", "x", *STATUS, "--attach", "a.txt").code == 1
    assert not [path for path in Path("anvil-ledger/blobs").rglob("*") if path.is_file()]


def test_a_reader_that_went_away_is_no_finding(ledger: Anvil) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from anvil.ledger.cli import main; main()", "verify"]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_a_database_that_is_no_ledger(anvil: Anvil) -> None:
    Path("anvil-ledger").mkdir()
    with sqlite3.connect("anvil-ledger/ledger.db") as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    for command in (["verify"], ["log"], ["observe", "x", *STATUS]):
        ran = anvil(*command)
        assert ran.code == 3
        assert "not an anvil ledger" in ran.err


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"\xff" * 5000, b"[]"])
def test_a_file_that_is_no_database(anvil: Anvil, content: bytes) -> None:
    Path("anvil-ledger").mkdir()
    Path("anvil-ledger/ledger.db").write_bytes(content)
    for command in (["verify"], ["log"], ["observe", "x", *STATUS]):
        ran = anvil(*command)
        assert ran.code == 3, (command, ran)
        assert ran.err.startswith("Error: ")


def test_the_private_keys_are_elsewhere(ledger: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANVIL_KEYS", "no-keys-here")
    ran = ledger("observe", "x", *STATUS)
    assert ran.code == 1
    assert "none of the 1 current operator keys" in ran.err
    assert ledger("verify").code == 0, "reading needs no private key"


def test_a_private_key_that_others_can_read_is_not_used(ledger: Anvil, home: Path) -> None:
    for path in (home / "keys").rglob("operator-*.pem"):
        path.chmod(0o644)
    ran = ledger("observe", "x", *STATUS)
    assert ran.code == 1
    assert "chmod 600" in ran.err


def test_encrypted_keys_need_their_passphrase(anvil: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANVIL_PASSPHRASE", "correct horse")
    assert anvil("init", "--origin", "x.test.invalid", "--encrypt").code == 0
    assert anvil("observe", "x", *STATUS).code == 0
    monkeypatch.setenv("ANVIL_PASSPHRASE", "wrong")
    assert "passphrase" in anvil("observe", "x", *STATUS).err
    monkeypatch.delenv("ANVIL_PASSPHRASE")
    ran = anvil("observe", "x", *STATUS)
    assert (ran.code, "Set ANVIL_PASSPHRASE" in ran.err) == (1, True)


def test_debug_shows_where_an_error_comes_from(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from anvil.ledger.cli import main

    with pytest.raises(SystemExit):
        main(["--debug", "--ledger", str(tmp_path / "nowhere"), "log"])
    assert "Traceback" in capfd.readouterr().err
