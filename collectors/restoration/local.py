"""Gates that are looked at on the host itself: a file, a command, the shared memory.

1. A file is read when it is a plain one. Its digest is published only where the recipe names it: that of a
   configuration could be tried for the secrets in it.
2. A command is started without a shell, in a process group of its own, which is killed at its deadline. At most
   `MAX_OUTPUT` bytes of what it prints are kept, cleaned of secrets.
3. Shared memory that nobody uses: files of ours in ``/dev/shm`` that no process has open or mapped, and System V
   segments of ours that nobody is attached to.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from contextlib import suppress
from pathlib import Path

from anvil.collectors.recipes.gates import GatePlace, RestorationGate
from anvil.collectors.restoration.state import Kept, State
from anvil.collectors.withholding import Secrets, clean_text
from anvil.ledger.files import open_plain

MAX_OUTPUT = 1 << 20
_CHUNK = 1 << 20


def look_at_file(gate: RestorationGate, place: GatePlace) -> State:
    """Return which bytes a file has."""
    if place.path is None:
        return State(problem="the site names no path for this gate")
    sha256, size = hashlib.sha256(), 0
    try:
        with open_plain(Path(place.path).expanduser()) as file:
            while chunk := file.read(_CHUNK):
                sha256.update(chunk)
                size += len(chunk)
    except FileNotFoundError:
        return State({"digest": "no file", "size": "0"})
    except OSError as error:
        return State(problem=f"{place.path} cannot be read: {error.strerror}")
    digest = f"sha256:{sha256.hexdigest()}"
    return State({"digest": digest, "size": str(size)}, digest if digest == gate.digest else None)


async def look_at_command(place: GatePlace, secrets: Secrets) -> State:
    """Return how a command ended and what it printed."""
    if not place.argv:
        return State(problem="the site names no argv for this gate")
    try:
        child = await asyncio.create_subprocess_exec(
            *place.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return State(problem=f"{place.argv[0]} cannot be started: {error}")
    try:
        async with asyncio.timeout(place.deadline_s):
            output = await _read(child)
            code = await child.wait()
    except TimeoutError:
        return State({"exit-code": f"none within {place.deadline_s} s"})
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
        child._transport.close()  # type: ignore[attr-defined]  # asyncio closes it late, and warns of it
    kept = clean_text(output.decode("utf-8", "replace"), secrets).encode()
    facts = {"exit-code": str(code), "output": f"sha256:{hashlib.sha256(output).hexdigest()}"}
    return State(facts, code if code >= 0 else None, seen_in=(Kept("output", "text/plain", kept),))


async def _read(child: asyncio.subprocess.Process) -> bytes:
    """Return what a command prints, to its end; what is over the limit is read and left out."""
    assert child.stdout is not None  # noqa: S101  # asked for above
    parts: list[bytes] = []
    left = MAX_OUTPUT
    while chunk := await child.stdout.read(1 << 16):
        parts.append(chunk[: max(left, 0)])
        left -= len(chunk)
    return b"".join(parts)


# --- shared memory ------------------------------------------------------------------------------------


def look_at_memory(shm: Path = Path("/dev/shm"), proc: Path = Path("/proc")) -> State:  # noqa: S108  # it is looked at
    """Return the shared memory that nobody uses: name to bytes."""
    try:
        candidates = {
            entry.path: entry.stat(follow_symlinks=False).st_size
            for entry in os.scandir(shm)
            if entry.is_file(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
        }
    except OSError as error:
        return State(problem=f"{shm} cannot be read: {error.strerror}")
    used = _used(proc, set(candidates)) if candidates else set()
    unused = {path: size for path, size in candidates.items() if path not in used} | _segments(proc)
    return State({path: str(size) for path, size in unused.items()}, sum(unused.values()))


def _used(proc: Path, paths: set[str]) -> set[str]:
    """Return those of the files that some process has mapped or open."""
    used: set[str] = set()
    for process in (path for path in proc.iterdir() if path.name.isdigit()):
        with suppress(OSError):
            for line in (process / "maps").read_text(encoding="utf-8", errors="replace").splitlines():
                used.add(line.partition("/")[2])
        with suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    used.add(os.readlink(descriptor).lstrip("/"))  # noqa: PTH115  # no path of a file
    return {path for path in paths if path.lstrip("/") in used}


def _segments(proc: Path) -> dict[str, int]:
    """Return the System V segments of ours that nobody is attached to (proc(5), ``sysvipc/shm``)."""
    try:
        head, *rows = (proc / "sysvipc" / "shm").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return {}
    names = head.split()
    found: dict[str, int] = {}
    for row in rows:
        values = dict(zip(names, row.split(), strict=False))
        if values.get("nattch") == "0" and values.get("uid") == str(os.geteuid()):
            found[f"sysv {values.get('shmid')}"] = int(values.get("size", "0"))
    return found
