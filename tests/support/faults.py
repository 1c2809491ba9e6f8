"""Real processes against real files: start them, kill them, and ask what is left.

A worker is `tests/integration/faults/worker.py`. It acknowledges each append by a line, flushed to disk
after the append has returned; whatever is acknowledged must be in the ledger, however the worker ended.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anvil.ledger.anchor import Anchor
from anvil.ledger.creation import create_ledger
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.events import ObservationNoted
from anvil.ledger.places import LedgerPlace, state_directory
from anvil.ledger.recording import Ledger
from anvil.ledger.sources import DatabaseLocation
from anvil.ledger.store import Store
from anvil.ledger.verify import Expectations, Report, verify
from support.tools import ROOT

ANVIL = Path(sys.executable).with_name("anvil")
WORKER = ROOT / "tests" / "integration" / "faults" / "worker.py"
NAME = "faults.test.invalid/log"
LIMIT_S = 120


def make(directory: Path) -> Path:
    """Make a ledger in `directory` and return it."""
    create_ledger(directory, NAME)
    return directory


# --- what to record ----------------------------------------------------------------------------------


def said(text: str) -> Draft:
    """A public statement."""
    return Draft(ObservationNoted(status="declared", claims=None, public_text=text, text=None))


def secret(ledger: Ledger, text: str, blob: bytes) -> Draft:
    """A sealed statement with a private artifact; the blob is kept at once."""
    kept = Attachment("log", "text/plain", ledger.blobs.put(blob))
    event = ObservationNoted(status="retained-complete", claims=None, public_text=None, text=text)
    return Draft(event, attachments=(kept,))


# --- the command line --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def done(self) -> Ran:
        """Require that it did what was asked."""
        assert self.code == 0, f"exit {self.code}: {self.err}{self.out}"
        return self

    def refused(self, *words: str, code: int = 1) -> Ran:
        """Require one clear error: a line that says what, at most one that says what to do."""
        assert self.code == code, f"exit {self.code}, expected {code}: {self.err}{self.out}"
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert lines, "no message"
        assert lines[0].startswith("Error: "), self.err
        assert len(lines) <= 2, self.err
        assert "fault of anvil" not in self.err, self.err
        assert "Traceback" not in self.err, self.err
        for word in words:
            assert word in self.err, f"{word!r} is not in: {self.err}"
        return self


def anvil(ledger: Path, *arguments: str | Path, **more: Any) -> Ran:
    """Run a command on the ledger in a process of its own."""
    argv = [*more.pop("under", []), str(ANVIL), "--ledger", str(ledger), *map(str, arguments)]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, **more
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def observe(ledger: Path, text: str, **more: Any) -> Ran:
    """Append one public event by the command line."""
    return anvil(ledger, "observe", text, "--status", "declared", "--public", "--json", **more)


# --- workers -----------------------------------------------------------------------------------------


@dataclass
class Worker:
    """A running worker and the file with its acknowledgements."""

    process: subprocess.Popen[str]
    acks: Path

    @classmethod
    def start(
        cls, ledger: Path, acks: Path, style: str, count: int, *, under: tuple[str, ...] = (), **more: str
    ) -> Worker:
        """Start one: `style` says how it appends, `count` how often; `under` is a tracer's command line."""
        options = [f"--{name.replace('_', '-')}={value}" for name, value in more.items()]
        argv = [*under, sys.executable, str(WORKER), str(ledger), str(acks), style, str(count), *options]
        process = subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
        )
        return cls(process, acks)

    def acknowledged(self) -> list[str]:
        """Return the entry hashes that were acknowledged; a line cut off by a kill does not count."""
        return [line.split()[1] for line in self._lines("ack")]

    def failures(self) -> list[str]:
        """Return what failed appends said."""
        return [line.split(" ", 1)[1] for line in self._lines("failed")]

    def wait_for(self, count: int) -> None:
        """Wait until it has acknowledged `count` appends, or has ended."""
        until = time.monotonic() + LIMIT_S
        while len(self._lines("ack")) < count and self.process.poll() is None:
            assert time.monotonic() < until, "the worker does not get on"
            time.sleep(0.01)

    def kill(self) -> None:
        """Kill it at once, and wait until it is gone."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=LIMIT_S)

    def finish(self, code: int | None = 0) -> str:
        """Wait until it ends by itself; return what it said on stderr."""
        said = self.process.communicate(timeout=LIMIT_S)[1]
        assert code is None or self.process.returncode == code, said
        return said

    def _lines(self, kind: str) -> list[str]:
        if not self.acks.exists():
            return []
        whole = self.acks.read_text().rpartition("\n")[0].splitlines()
        return [line for line in whole if line.startswith(f"{kind} ")]


# --- what is left ------------------------------------------------------------------------------------


def judge(ledger: Path) -> Report:
    """Verify in this process, with the anchor of this machine."""
    place = LedgerPlace(ledger)
    source = DatabaseLocation.of(place).open()
    origin = source.origin
    source.close()
    return verify(DatabaseLocation.of(place), Expectations(anchored=Anchor(state_directory(), origin).read()))


def require_sound(ledger: Path, *notes: str) -> Report:
    """Require that the ledger verifies and is anchored, with no notes but `notes`; return the report."""
    report = judge(ledger)
    assert report.exit_code == 0, report.findings
    assert {finding.code for finding in report.findings} <= {"stream-open", "uncovered", *notes}, (
        report.findings
    )
    assert report.anchored_by == ["the anchor"]
    return report


@contextmanager
def reading(ledger: Path) -> Iterator[Store]:
    """The ledger's store, opened for reading."""
    store = Store.open_readonly(LedgerPlace(ledger).database)
    try:
        yield store
    finally:
        store.close()


def missing(ledger: Path, entry_hashes: list[str]) -> list[str]:
    """Return which of the entries are not in the ledger."""
    with reading(ledger) as store:
        return [name for name in entry_hashes if store.index_of(bytes.fromhex(name)) is None]


def anchored_size(ledger: Path) -> int:
    """Return up to which size the anchor of this machine goes; 0 when there is none."""
    with reading(ledger) as store:
        held = Anchor(state_directory(), store.origin()).read()
    return 0 if held is None else held.checkpoint.size


def size(ledger: Path) -> int:
    """Return how many entries there are."""
    with reading(ledger) as store:
        return store.size()


# --- disks ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disk:
    """A small file system of its own, which can be filled and made read-only."""

    path: Path

    @property
    def free(self) -> int:
        """How many bytes are free."""
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_bsize

    def fill(self, leave: int) -> None:
        """Leave only so many bytes free."""
        with (self.path / ".filler").open("ab") as file:
            file.write(bytes(max(0, self.free - leave)))

    def make_room(self) -> None:
        """Take back what `fill` took."""
        (self.path / ".filler").unlink(missing_ok=True)

    def freeze(self) -> None:
        """Make it read-only."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.path)], check=True)

    def names(self) -> list[str]:
        """What lies in it."""
        return sorted(path.name for path in self.path.iterdir() if path.name != ".filler")


@contextmanager
def disk(path: Path, kib: int) -> Iterator[Disk]:
    """Mount a file system of `kib` KiB; a test that does so `needs("mount")`."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(path)], check=True)
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)  # a failed test may hold a file open


# --- crashes at a chosen moment --------------------------------------------------------------------------


def dying(call: str, number: int) -> tuple[str, ...]:
    """The command line of a tracer that kills a process as it makes a system call for the `number`-th time.

    The call itself is not made. A test that uses it `needs("strace")`.
    """
    # Not with --seccomp-bpf: from such a stop no signal is delivered.
    injected = ("-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}")
    return ("strace", "-f", "-qq", "-o", os.devnull, *injected)


def leave_wal(place: Path, acks: Path, count: int = 5, **more: str) -> list[str]:
    """Append, be killed, and leave a pending write-ahead log; return what was acknowledged."""
    worker = Worker.start(place, acks, "single", count, end="kill", **more)
    worker.finish(code=-signal.SIGKILL)
    assert (place / "ledger.db-wal").stat().st_size
    return worker.acknowledged()
