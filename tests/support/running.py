"""Runs of `anvil run` with small engines of ours, and what they leave in the ledger.

bench.recipe(behave="traceback")        # writes mine.toml; its engine is running/engine.py
ran = bench.run("mine.toml")            # `anvil run mine.toml`, in this process
bench.types()                           # the types of the events, by stream, in order
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anvil.ledger.artifacts import blob_of
from anvil.ledger.blobs import BlobStore
from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.recording import Ledger
from anvil.ledger.store import Store
from anvil.projections.seen import Seen, read_events
from support.command import Ran
from support.launching import free_port
from support.tools import ROOT

ENGINE = ROOT / "tests" / "running" / "engine.py"
CHECKS = ("identity", "structured-json")


@dataclass
class Bench:
    """A folder with a ledger, recipes, and a command line."""

    directory: Path
    anvil: Callable[..., Ran]
    ports: dict[str, int] = field(default_factory=dict)

    @property
    def ledger(self) -> Path:
        return self.directory / "anvil-ledger"

    def recipe(
        self,
        *,
        behave: str | Mapping[str, str] = "serve",
        checks: Sequence[str] = CHECKS,
        more: str = "",
        engine: str = "tiny",
        lines: str = "",
        ready_s: int = 20,
        argv: Sequence[str] = (),
    ) -> Path:
        """Write a recipe: one attempt `a1`, or one for each key of `behave`; `lines` go into every engine."""
        behaviours = {"a1": behave} if isinstance(behave, str) else behave
        blocks = [_HEAD]
        for key, word in behaviours.items():
            port = self.ports.setdefault(key, free_port())
            blocks.append(_engine(key, engine, word, port, argv, lines))
        blocks.append(f"[deadlines]\nready_s = {ready_s}\nfirst_byte_s = 5\nidle_gap_s = 2\nstop_s = 5\n")
        blocks += [f'[[checks]]\nid = "{check}"\n' for check in checks]
        path = self.directory / "mine.toml"
        path.write_text("\n".join([*blocks, more]))
        return path

    def run(self, *arguments: object) -> Ran:
        return self.anvil("--ledger", self.ledger, "run", *arguments)

    # --- what is in the ledger -------------------------------------------------------------------------

    def seen(self) -> list[Seen]:
        """Every event, with its sealed values."""
        store = Store.open_readonly(self.ledger / "ledger.db")
        try:
            return list(read_events(store, opened=True))
        finally:
            store.close()

    def types(self, purpose: str = "run") -> list[list[str]]:
        """The types of events in each stream of a purpose, without their versions."""
        streams: dict[str, list[str]] = {}
        for seen in self.seen():
            kind = seen.header.event.partition("/")[0]
            if kind == "stream.opened" and seen.event.purpose == purpose:  # type: ignore[union-attr]
                streams[seen.header.stream] = []
            if seen.header.stream in streams:
                streams[seen.header.stream].append(kind)
        return list(streams.values())

    def events(self, kind: type[Any]) -> list[Any]:
        """The events of one class."""
        return [seen.event for seen in self.seen() if isinstance(seen.event, kind)]

    def verdicts(self, attempt: str | None = None) -> dict[str, tuple[str, str | None]]:
        """Outcome and failure of each check; each must have left exactly one event."""
        found: dict[str, tuple[str, str | None]] = {}
        for seen in self.seen():
            if isinstance(seen.event, CheckCompleted) and attempt in (None, seen.header.subject.attempt):
                assert seen.event.selected_as not in found, f"{seen.event.selected_as} has two results"
                found[seen.event.selected_as] = (seen.event.outcome, seen.event.failure)
        return found

    def artifacts(self) -> list[tuple[str, str, str]]:
        """Each artifact that an event names: the event's type, its name, its digest."""
        found = []
        with Ledger.open(self.ledger) as ledger:
            for seen in self.seen():
                for artifact in seen.header.artifacts:
                    blob = blob_of(ledger.store, artifact)
                    assert blob is not None
                    assert ledger.blobs.measure(blob.digest) == blob
                    found.append((seen.header.event.partition("/")[0], artifact.name, blob.digest))
        return found

    def body(self, name: str) -> bytes:
        """The bytes of the newest artifact of a name."""
        digest = next(digest for _, found, digest in reversed(self.artifacts()) if found == name)
        return BlobStore(self.ledger / "blobs").get(digest)

    def require_nothing_unnamed(self) -> None:
        """Require that every blob is named by an event."""
        kept = set(BlobStore(self.ledger / "blobs").digests())
        assert kept == {digest for _, _, digest in self.artifacts()}

    def require_whole(self) -> None:
        """Require that `anvil verify` is content and every blob is named."""
        ran = self.anvil("--ledger", self.ledger, "verify")
        assert ran.code == 0, ran.out + ran.err
        self.require_nothing_unnamed()

    def require_nothing_running(self) -> None:
        """Require that no engine, spool or journal of ours is left."""
        for port in self.ports.values():
            assert not processes_with(f"--port {port}"), f"an engine at {port} runs"
        runs = self.ledger / "runs"
        left = [path.name for path in runs.glob("*/*")]
        assert not left, left


def processes_with(text: str) -> list[str]:
    """The command lines of processes that hold a text."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if text in line and ENGINE.name in line]


_HEAD = """format = "anvil.recipe/1"
name = "mine"
campaign = "mine"
about = "A recipe for tests"

[hardware]
gpus = 0

[candidates.tiny]
model = "org/tiny"
quantization = "none"
thinking = "none"
"""


def _engine(key: str, engine: str, behave: str, port: int, argv: Sequence[str], lines: str) -> str:
    command = [
        "{python}",
        "-P",
        "-u",
        str(ENGINE),
        "--port",
        "{port}",
        "--behave",
        behave,
        "--model",
        "{model}",
        *argv,
    ]
    listed = ", ".join(f"'{element}'" for element in command)
    return f"""[engines.{key}]
engine = "{engine}"
launcher = "process"
argv = [{listed}]
port = {port}
{lines}

[[attempts]]
key = "{key}"
candidate = "tiny"
engine = "{key}"
served_model = "org/tiny"
"""
