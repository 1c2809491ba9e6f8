"""What the Linux kernel says of processes, sockets and cgroups (proc(5), cgroups(7)).

Everything here is a look at one moment. A process is named by its id *and* its start time, since ids
come again. Where there is no `/proc`, nothing is known, and nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")
_LISTEN = "0A"  # TCP_LISTEN, include/net/tcp_states.h


@dataclass(frozen=True)
class Process:
    """A process at one moment."""

    pid: int
    name: str
    state: str
    group: int
    start_ticks: int

    @property
    def identity(self) -> str:
        """Its id and start time, which nothing else ever has until the next boot."""
        return f"{self.pid}@{self.start_ticks}"


def boot_id() -> str | None:
    """Return the id of this boot of the machine."""
    text = _text(_PROC / "sys/kernel/random/boot_id")
    return text.strip() if text else None


def process(pid: int) -> Process | None:
    """Return a process, null when it is gone. One that has ended and was not waited for is gone too."""
    text = _text(_PROC / str(pid) / "stat")
    if text is None:
        return None
    # The name stands in brackets and may hold anything, brackets and blanks too.
    name, _, rest = text[text.index("(") + 1 :].rpartition(")")
    fields = rest.split()
    if fields[0] in ("Z", "X"):
        return None
    return Process(pid, name, fields[0], int(fields[2]), int(fields[19]))


def processes() -> Iterator[Process]:
    """Yield all processes that there are."""
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit() and (found := process(int(entry.name))):
            yield found


def is_alive(pid: int, start_ticks: int, boot: str | None) -> bool:
    """Say whether exactly this process runs."""
    found = process(pid)
    return found is not None and found.start_ticks == start_ticks and boot == boot_id()


def group_members(group: int) -> list[Process]:
    """Return the processes of a process group."""
    return [found for found in processes() if found.group == group]


def with_variable(name: str, value: str) -> list[Process]:
    """Return the processes that were started with an environment variable of this value."""
    wanted = f"{name}={value}".encode()
    found = []
    for candidate in processes():
        raw = _raw(_PROC / str(candidate.pid) / "environ")
        if raw is not None and wanted in raw.split(b"\0"):
            found.append(candidate)
    return found


def argv(pid: int) -> list[str] | None:
    """Return a process's arguments."""
    raw = _raw(_PROC / str(pid) / "cmdline")
    return None if raw is None else [part.decode("utf-8", "replace") for part in raw.split(b"\0")[:-1]]


def environment(pid: int) -> dict[str, str] | None:
    """Return the environment that a process was started with; null when it may not be read."""
    raw = _raw(_PROC / str(pid) / "environ")
    if raw is None:
        return None
    pairs = (part.decode("utf-8", "replace").partition("=") for part in raw.split(b"\0") if part)
    return {name: value for name, _, value in pairs}


def output_file(pid: int) -> Path | None:
    """Return the file that a process writes its output to, when it is a file."""
    for descriptor in ("1", "2"):
        link = _PROC / str(pid) / "fd" / descriptor
        try:
            target = link.readlink()
            if link.stat().st_nlink and target.is_file():
                return target
        except OSError:
            continue
    return None


# --- sockets ---------------------------------------------------------------------------------------------


def port_holder(port: int) -> str | None:
    """Say who listens on a TCP port of this host, on any address; null when nobody does."""
    inodes = {inode for name in ("tcp", "tcp6") for inode in _listening(_PROC / "net" / name, port)}
    if not inodes:
        return None
    for candidate in processes():
        if inodes & _sockets(candidate.pid):
            return f"{candidate.name} (process {candidate.pid})"
    return "a process that this user may not see"


def _listening(table: Path, port: int) -> Iterator[str]:
    for line in (_text(table) or "").splitlines()[1:]:
        fields = line.split()
        if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
            yield fields[9]


def _sockets(pid: int) -> set[str]:
    found = set()
    try:
        for link in (_PROC / str(pid) / "fd").iterdir():
            target = os.fspath(link.readlink())
            if target.startswith("socket:["):
                found.add(target[8:-1])
    except OSError:
        pass
    return found


# --- memory ----------------------------------------------------------------------------------------------


def oom_kills(pid: int) -> int | None:
    """Return how many processes the kernel has killed for memory in a process's cgroup; null if unknown."""
    for line in (_text(_PROC / str(pid) / "cgroup") or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            file = _CGROUPS / "memory" / path.lstrip("/") / "memory.oom_control"
        elif number == "0":
            file = _CGROUPS / path.lstrip("/") / "memory.events"
        else:
            continue
        for entry in (_text(file) or "").splitlines():
            if entry.startswith("oom_kill "):
                return int(entry.split()[1])
    return None


def _text(path: Path) -> str | None:
    raw = _raw(path)
    return None if raw is None else raw.decode("utf-8", "replace")


def _raw(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
