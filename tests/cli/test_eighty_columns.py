"""What commands print on a terminal of eighty columns: lines that fit, and no digest cut."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from support.command import Anvil
from support.laguna import laguna

COLUMNS = 80
DOCUMENT = ("render", "candidate-failure.v1")
CUT_DIGEST = re.compile(r"\b[0-9a-f]{33,63}\b")


def on_a_terminal(*arguments: object) -> list[str]:
    """Run `anvil` with all three streams on a terminal; return the lines that it shows."""
    terminal, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [str(Path(sys.executable).with_name("anvil")), *map(str, arguments)]
    shown = b""
    with subprocess.Popen(command, stdin=other, stdout=other, stderr=other, env=environment):
        os.close(other)
        try:
            while piece := os.read(terminal, 65536):
                shown += piece
        except OSError:  # the terminal of a process that has ended
            pass
    os.close(terminal)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")
    return [line.rpartition("\r")[2] for line in text.split("\n")]  # a bar is drawn over the one before


def require_fitting(lines: list[str]) -> None:
    assert lines
    for line in lines:
        assert len(line) <= COLUMNS or len(line.split()) == 1, line
        assert not CUT_DIGEST.search(line), line


@pytest.fixture
def campaign(anvil: Anvil) -> Anvil:
    """A ledger with a campaign of many attempts, and a document of it."""
    laguna(Path("anvil-ledger"))
    Path("draft.json").write_text(anvil(*DOCUMENT).out)
    return anvil


@pytest.mark.usefixtures("campaign")
@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("status", "--disk"),
        ("log",),
        ("show", 5),
        ("show", 12),
        ("why", "draft.json", "/attempts/1/failure"),
        ("why", "draft.json", "/attempts/0/health"),
        ("why", "draft.json", "/date"),
        ("verify",),
        ("verify", "anvil-ledger"),
        (
            "observe",
            "It answered.",
            "--status",
            "operator-observed-incomplete",
            "--subject",
            "campaign=No Label",
        ),
        ("key", "list"),
        ("recipe", "check", "quickstart"),
        ("import", "--help"),
        ("status", "--campaign", "a-campaign-of-a-name-that-is-long-and-that-nobody-has-ever-recorded-in-it"),
        ("why", "draft.json", "/attempts/0/preflight_no_thinking"),
        ("decide", "current", "--rests-on", 1, "--reason", "It is refused, and the error has a long line."),
    ],
    ids=lambda command: " ".join(map(str, command))[:40],
)
def test_lines_fit_and_digests_are_whole(command: tuple[object, ...]) -> None:
    require_fitting(on_a_terminal(*command))


def test_an_argument_is_shown_as_it_is_passed(anvil: Anvil) -> None:
    lines = on_a_terminal("recipe", "show", "qwen38-27b-vllm-262k")
    argv = {f"    {line}" for line in anvil("recipe", "show", "qwen38-27b-vllm-262k").out.split("\n    ")}
    assert '    {"method": "mtp", "num_speculative_tokens": 3}' in lines
    require_fitting([line for line in lines if line not in argv])


@pytest.mark.usefixtures("campaign")
def test_a_step_of_a_chain_keeps_its_event_and_hangs_below_its_rule() -> None:
    lines = on_a_terminal("why", "draft.json", "/candidate")
    at = lines.index("  recipe.declared/1 candidates.0.model = poolside/Laguna-XS-2.1-NVFP4")
    assert lines[at + 1] == "      (event 3)"
    lines = on_a_terminal("why", "draft.json", "/attempts/0/preflight_no_thinking")
    at = lines.index("  checks with thinking disabled: passed of carried out, and those that did not =")
    assert lines[at + 1] == "      2/4; structured-json failed, tools-batch 0/20 failed"
    assert not any(line.rstrip().endswith("(event") for line in lines)


def test_what_a_publication_withholds_is_told_in_columns(anvil: Anvil) -> None:
    laguna(Path("anvil-ledger"), "example.com/laguna")
    assert anvil("release", "candidate-failure.v1", "--out", "published").code == 0
    lines = on_a_terminal("redactions", "published")
    require_fitting(lines)
    at = next(number for number, line in enumerate(lines) if line.endswith("/attempts/1/health,"))
    assert lines[at].startswith("       behind /attempts/1/engine")
    assert lines[at + 1] == "              /attempts/1/evidence_status and 1 more"


@pytest.mark.usefixtures("campaign")
def test_into_a_file_each_event_is_a_line(anvil: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert len(anvil("log").out.splitlines()) == len(anvil("log", "--json").json["events"])
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    require_fitting(anvil("why", "draft.json", "/attempts/1/failure").out.splitlines())
