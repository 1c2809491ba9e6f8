"""The peak memory of a command and of every process that it starts, from /proc."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_EVERY_S = 0.05


def run_watched(command: list[str], environment: dict[str, str]) -> tuple[str, dict[int, float]]:
    """Run `command`; return what it printed and the peak resident MB of each process by its id.

    Memory that processes share counts for each of them.
    """
    peaks: dict[int, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        while True:
            _look(process.pid, peaks)
            try:
                output, _ = process.communicate(timeout=_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                continue
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return output, peaks


def _look(process: int, peaks: dict[int, float]) -> None:
    here = Path("/proc") / str(process)
    try:
        found = _PEAK.search((here / "status").read_text())
        children = (here / "task" / str(process) / "children").read_text().split()
    except OSError:
        return  # it ended between two looks
    if found is not None:
        peaks[process] = max(peaks.get(process, 0.0), int(found[1]) * 1024 / 1e6)
    for child in children:
        _look(int(child), peaks)
