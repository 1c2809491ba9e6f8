"""Measure 12: how soon a ladder that was killed with SIGKILL asks its engine again.

A server of ours answers; `anvil run` is killed in the middle of a rung, and `anvil run --resume` goes on. The time
runs from the start of that command to its first request for tokens: what the killed run left is collected first,
the ledger is opened and checked, and what is left is worked out. Each resumed run is killed in turn and is what the
next one goes on with.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import monotonic
from typing import IO
from unittest.mock import patch

from measure import Row, Setting

from anvil.ledger.creation import create_ledger
from anvil.ledger.events import RecipeDeclared
from anvil.ledger.places import LedgerPlace
from anvil.ledger.store import Store

ROUNDS = 7
TESTS = Path(__file__).resolve().parent.parent / "tests"
ANVIL = str(Path(sysconfig.get_path("scripts")) / "anvil")

_RECIPE = """format = "anvil.recipe/1"
name = "ladder"
campaign = "bench"
about = "A ladder to be killed on"
protocols = [{ id = "context-ladder", parameters = { input_tokens = [100, 200], depths = [50], repetitions = 1 } }]

[hardware]
gpus = 0

[candidates.tiny]
model = "org/tiny"
quantization = "none"
thinking = "none"

[engines.e]
engine = "tiny"
launcher = "attach"
argv = []

[[attempts]]
key = "a1"
candidate = "tiny"
engine = "e"
served_model = "org/tiny"
"""

_SERVE = """
import time
from support.endpoint import Chat, Server
def chat(asked):
    print(time.monotonic(), flush=True)
    time.sleep(0.2 if asked.get("stream") else 0)
    return Chat(content="Paris is it", completion_tokens=3)
with Server(chat=chat, model="org/tiny") as server:
    print(server.base_url, flush=True)
    input()
"""


def measure(setting: Setting) -> list[Row]:
    folder = setting.folder / "resume"
    folder.mkdir()
    (folder / "ladder.toml").write_text(_RECIPE)
    places = {name: str(folder / name.lower()) for name in ("ANVIL_STATE", "ANVIL_KEYS", "ANVIL_LEDGER")}
    with patch.dict(os.environ, places), _server() as (url, asked):
        place = create_ledger(folder / "anvil_ledger", "bench.test.invalid").place
        _kill_within(folder, [str(folder / "ladder.toml"), "--base-url", url])
        _first_since(asked, 0)
        taken = []
        for _ in range(ROUNDS):
            start = monotonic()
            _kill_within(folder, ["--resume", _newest(place), "--base-url", url])
            taken.append(_first_since(asked, start) - start)
    name = "a ladder that was killed, from `anvil run --resume` to its first request"
    return [Row(name, median(taken), "s", 1.0)]


def _kill_within(folder: Path, arguments: list[str]) -> None:
    """Begin a run, and kill it in the middle of a rung."""
    command = [ANVIL, "run", *arguments]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        said = []
        for line in child.stderr:
            said.append(line)
            if "run 1 of 1" in line:
                break
        else:
            raise RuntimeError("".join(said))
        child.send_signal(signal.SIGKILL)


@contextmanager
def _server() -> Iterator[tuple[str, IO[str]]]:
    """Serve; yield the address, and a file of the moments at which tokens were asked for."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip(), server.stdout
        finally:
            server.terminate()


def _first_since(asked: IO[str], start: float) -> float:
    """Return the first moment after `start` at which tokens were asked for."""
    while (moment := float(asked.readline())) < start:
        pass
    return moment


def _newest(place: LedgerPlace) -> str:
    """Return the stream of the newest run."""
    store = Store.open_readonly(place.database)
    try:
        return store.of_types([RecipeDeclared.event_type])[-1].stream
    finally:
        store.close()
