"""What is shown while a cell goes on, by itself and on a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
from typing import Any

import pytest
from support.endpoint import Chat, Server
from support.interrupting import ANVIL
from support.running import Bench

from anvil.collectors.load.loop import Progress
from anvil.collectors.protocols import Cell
from anvil.collectors.running.pace import Pace, spell_s

SECOND = 1_000_000_000
CELL = Cell("rung-3", 1, 10, 1, 64)


def test_what_comes_has_a_rate() -> None:
    pace = Pace(CELL)
    pace.began()
    assert pace.line(Progress(0, 0, SECOND), 10) == "0/10 done"
    assert pace.line(Progress(0, 25, 3 * SECOND // 2), 10) == "0/10 done, 50 tokens/s"


def test_while_prompts_are_read_there_is_no_rate_of_nothing() -> None:
    pace = Pace(CELL)
    pace.began()
    assert pace.line(Progress(0, 0, 12 * SECOND, 1, 12 * SECOND), 10) == "0/10 done, prefill for 12 s"
    assert pace.line(Progress(0, 5, 13 * SECOND, 3, 13 * SECOND), 10) == "0/10 done, 5 tokens/s"


def test_what_is_left_is_told_by_what_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(time, "monotonic_ns", lambda: now[0])
    pace = Pace(CELL)
    pace.began()
    now[0] = 100 * SECOND
    assert pace.line(Progress(1, 8, 100 * SECOND, 1, SECOND), 10) == "1/10 done, 15 min 0 s left, 0 tokens/s"
    assert pace.line(Progress(1, 8, 101 * SECOND, 1, 2 * SECOND), 10).endswith("left, prefill for 2 s")
    pace.ended(10)
    assert pace.left_s(0) == 0


@pytest.mark.parametrize(("seconds", "spelled"), [(0.4, "0 s"), (61, "1 min 1 s"), (7260, "2 h 1 min")])
def test_times_as_people_say_them(seconds: float, spelled: str) -> None:
    assert spell_s(seconds) == spelled


LADDER = """[[protocols]]
id = "context-ladder"
parameters = { input_tokens = [100], depths = [50], repetitions = 1 }
"""


def slow(asked: Any) -> Chat:
    time.sleep(1.2 if asked.get("stream") else 0)
    return Chat(content="Paris is it", completion_tokens=3)


def test_on_a_terminal_of_80_columns_it_is_one_line(bench: Bench) -> None:
    with Server(chat=slow, model="org/tiny") as server:
        argv = [str(ANVIL), "run", str(bench.recipe(checks=[], more=LADDER)), "--base-url", server.base_url]
        child, said = under_a_terminal(argv, columns=80)
    assert child.wait(60) == 0, said
    lines, _, _ = said.partition("\x1b[?25h")  # then the cursor is shown again, and the line taken away
    assert "\x1b[1A" not in lines, "the cursor went up: a line was wrapped"
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)
    assert "a1: context-ladder rung-1, run 1 of 1: 0/2 done" in shown
    assert "prefill for 1 s" in shown
    assert "about 0" not in shown
    _, all_done, later = shown.rpartition("run 1 of 1: 2/2 done")
    assert all_done, "the last that was shown of the run is that something is left"
    assert " left" not in later.splitlines()[0], "all is done, and some time is said to be left"
    assert "a1: canary" in later
    assert "a1: keeping what is left" in later, "what goes on after the last step is not shown"


def test_when_all_is_done_nothing_is_left() -> None:
    pace = Pace(CELL)
    pace.began()
    assert pace.line(Progress(10, 0, SECOND), 10) == "10/10 done"


def under_a_terminal(argv: list[str], columns: int) -> tuple[subprocess.Popen[bytes], str]:
    """Run a command with a terminal as its stderr, and return all that it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environ = {**os.environ, "TERM": "xterm-256color"}
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_INTERACTIVE"):
        environ.pop(name, None)
    child = subprocess.Popen(argv, stderr=theirs, stdout=subprocess.DEVNULL, env=environ)
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        said += piece
    os.close(ours)
    return child, said.decode(errors="replace")
