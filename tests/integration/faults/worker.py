"""Append events and acknowledge each one; started by the tests as a process of its own.

A line ``ack HASH`` is on disk only after the append of that entry has returned; ``failed MESSAGE`` says
that an append ended in one of anvil's own errors. Any other exception ends the process with a traceback.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from anvil.ledger import sqlite
from anvil.ledger.drafts import Attachment, Draft
from anvil.ledger.errors import AnvilError
from anvil.ledger.events import ObservationNoted
from anvil.ledger.recording import Ledger, Recorded
from anvil.ledger.streams import Stream, record


class Acks:
    """The file of acknowledgements."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._sync = "strace" not in os.environ.get("FAULT_TRACER", "")  # an injected fault is not for us

    def recorded(self, recorded: list[Recorded]) -> None:
        os.write(self._file, "".join(f"ack {item.entry_hash}\n" for item in recorded).encode())
        if self._sync:
            os.fsync(self._file)

    def failed(self, error: AnvilError) -> None:
        os.write(self._file, f"failed {type(error).__name__}: {error}\n".encode())


def said(text: str) -> Draft:
    return Draft(ObservationNoted(status="declared", claims=None, public_text=text, text=None))


def sealed(ledger: Ledger, text: str) -> Draft:
    blob = Attachment("log", "text/plain", ledger.blobs.put(f"{text}\n".encode() * 500))
    return Draft(
        ObservationNoted(status="retained-complete", claims=None, public_text=None, text=text),
        attachments=(blob,),
    )


def run(options: argparse.Namespace, acks: Acks) -> None:
    name = options.name or f"w{os.getpid()}"
    if options.style == "reopen":  # as the command line does it: open, append, anchor, close
        for number in range(options.count):
            with Ledger.open(options.ledger) as ledger:
                recorded = record(
                    ledger, ledger.signer("operator"), [said(f"{name}-{number}")], purpose="run"
                )
                acks.recorded(recorded)
        return
    with Ledger.open(options.ledger) as ledger:
        signer = ledger.signer("operator")
        stream = Stream.start(ledger, signer, purpose="run")
        for number in range(options.count):
            text = f"{name}-{number}"
            try:
                if options.style == "batch":
                    acks.recorded(stream.append([said(f"{text}-{part}") for part in range(40)]))
                elif options.style == "sealed":
                    acks.recorded(stream.append([sealed(ledger, text)]))
                else:
                    acks.recorded(stream.append([said(text)]))
            except AnvilError as error:
                if not options.go_on:
                    raise
                acks.failed(error)
            time.sleep(options.pause)
        if options.end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        stream.close()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("ledger", type=Path)
    parser.add_argument("acks", type=Path)
    parser.add_argument("style", choices=("single", "batch", "sealed", "reopen"))
    parser.add_argument("count", type=int)
    parser.add_argument("--name", default="")
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--end", choices=("close", "kill"), default="close")
    parser.add_argument("--go-on", type=int, default=0)
    parser.add_argument("--busy-ms", type=int, default=sqlite.BUSY_TIMEOUT_MS)
    options = parser.parse_args()
    sqlite.BUSY_TIMEOUT_MS = options.busy_ms
    try:
        run(options, Acks(options.acks))
    except AnvilError as error:
        sys.stderr.write(f"Error: {type(error).__name__}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
