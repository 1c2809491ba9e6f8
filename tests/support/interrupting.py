"""`anvil run` in a process of its own, to which a signal is sent when it says that it has come so far."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from support.running import Bench

ANVIL = Path(sys.executable).with_name("anvil")


def interrupt(
    bench: Bench, when: str, number: signal.Signals, *, arguments: Sequence[str] = (), **recipe: object
) -> str:
    """Run in a process of its own, send a signal when the narration says `when`, return what it said."""
    argv = [str(ANVIL), "run", str(bench.recipe(**recipe)), *arguments]  # type: ignore[arg-type]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        said = []
        for line in child.stderr:
            said.append(line)
            if when in line:
                time.sleep(0.3)
                child.send_signal(number)
                break
        said.append(child.communicate(timeout=60)[1])
        assert child.returncode == 128 + number, said
    return "".join(said)


def begin(bench: Bench, *arguments: str) -> subprocess.Popen[str]:
    """Begin a run in a process of its own."""
    argv = [str(ANVIL), "--ledger", str(bench.ledger), "run", *arguments]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def until(child: subprocess.Popen[str], when: str) -> None:
    """Read what a run says until it has come so far."""
    assert child.stderr is not None
    assert any(when in line for line in child.stderr), f"it never said {when!r}"
