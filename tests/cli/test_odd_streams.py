"""Standard streams that are closed or full, and arguments that are no plain files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import Anvil

ANVIL = Path(sys.executable).with_name("anvil")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which `anvil` is the command."""
    return subprocess.run(
        ["sh", "-c", line.replace("anvil", str(ANVIL), 1)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", ["log", "log --json", "status", "verify", "checkpoint"])
def test_a_full_output_is_named_and_no_fault_of_ours(ledger: Anvil, command: str) -> None:
    ran = shell(f"anvil {command} > /dev/full")
    assert ran.returncode == 1
    assert "cannot be written to standard output: No space left on device" in ran.stderr
    assert "fault of anvil" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


def test_what_was_done_before_a_full_output_is_done(ledger: Anvil) -> None:
    before = ledger("verify", "--json").json["size"]
    ran = shell("anvil observe seen --status declared > /dev/full")
    assert "The command did its work before it answered" in ran.stderr
    assert ledger("verify", "--json").json["size"] == before + 3, "opened, observed, closed"


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_closed_stream_changes_nothing(ledger: Anvil, closed: str) -> None:
    assert shell(f"anvil verify {closed}").returncode == 0
    assert shell(f"anvil observe seen --status declared {closed}").returncode == 0
    assert ledger("verify").code == 0, "nothing was written where a stream used to be"


def test_no_words_come_from_a_closed_input(ledger: Anvil) -> None:
    ran = shell("anvil observe - --status declared <&-")
    assert (ran.returncode, "there are no words in it" in ran.stderr) == (2, True)


def test_only_a_plain_file_is_attached(ledger: Anvil, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in ("/dev/zero", "/dev/null", pipe):
        ran = ledger("observe", "seen", "--status", "imported-artifact", "--attach", path)
        assert ran.code == 1
        assert f"{path} cannot be kept: it is no plain file" in ran.err


def test_only_a_plain_file_is_imported(ledger: Anvil, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in ("/dev/zero", pipe):
        ran = ledger("import", path)
        assert ran.code == 1
        assert f"{path} cannot be read: it is no plain file" in ran.err


def test_only_a_plain_file_of_a_sensible_size_is_a_recipe(ledger: Anvil, tmp_path: Path) -> None:
    assert "it is no plain file" in ledger("recipe", "check", "/dev/zero").err
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (1 << 21))
    assert "has more than 1,048,576 bytes" in ledger("recipe", "check", large).err


@pytest.mark.parametrize("command", ["show", "prove", "redact --reason x", "log --from", "log --last"])
def test_an_index_beyond_every_log_is_wrong_usage(ledger: Anvil, command: str) -> None:
    ran = ledger(*command.split(), "99999999999999999999999")
    assert ran.code == 2
    assert "is not in the range" in ran.err
