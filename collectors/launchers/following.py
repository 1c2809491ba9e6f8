"""Following a container's log into the spool.

1. A thread reads what the container engine gives and appends it to the spool's file, so that the log
   is ours even when the container is not there any more.
2. Each message comes with its time. The time of the last one written, and how many of that time were
   written, is the cursor: after a break, or in the next run after a crash, following goes on behind it.
   The file is cut to what the cursor covers first, so nothing is there twice. Times repeat: the pieces of
   a line that is longer than 16 KiB have one time, and podman tells whole seconds.
3. A container with a terminal has no message borders: after a break its log is read from the start.
4. When the container has ended, its log is read once more from the cursor on, and the thread ends. A stream can break
   a moment before the container ends, and looks complete then: only one that began after the end is.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any, BinaryIO

from anvil.collectors.launchers.containers import log_messages, stream_errors
from anvil.collectors.launchers.logs import LogFile

_NOTE_EVERY_S = 1.0
_COUNT_EVERY_BYTES = 1 << 20
_PAUSE_S = 0.5


class Follower:
    """Follows one container's log. `is_over` is set when there is nothing more to come."""

    def __init__(
        self, connect: Callable[[], Any], container: str, log: LogFile, *, has_terminal: bool = False
    ) -> None:
        self.is_over = threading.Event()
        self.problem = ""
        """Why the log could not be followed to its end; empty when it could, or still is."""
        self._connect = connect
        self._container = container
        self._log = log
        self._has_terminal = has_terminal
        if not has_terminal:
            log.expect_again()  # what an earlier follower wrote behind its cursor
        self._is_stopped = threading.Event()
        self._has_ended = False
        """Whether the container was seen to have ended (rule 4)."""
        self._messages: Any = None
        self._moment, _, count = log.cursor.partition(" ")
        self._written = int(count or 0)
        """How many messages of that moment are in the file."""
        self._seen = 0
        """How many of them came since following began."""
        self._uncounted = 0
        self._noted = time.monotonic()
        self._thread = threading.Thread(target=self._run, name=f"anvil-log-{container[:12]}", daemon=True)

    def start(self) -> None:
        """Begin, or go on where an earlier follower ended."""
        self._thread.start()

    def stop(self) -> None:
        """Leave off, and wait a little for the thread."""
        self._is_stopped.set()
        self._close_messages()
        if self._thread.is_alive():
            self._thread.join(5)

    def _close_messages(self) -> None:
        messages, self._messages = self._messages, None
        if messages is not None:
            with suppress(*stream_errors(), AttributeError):  # it may have ended by itself
                messages.close()

    def _run(self) -> None:
        try:
            client = self._connect()
        except stream_errors() as error:
            self.problem = f"the log cannot be read: {error}"
            self.is_over.set()
            return
        try:
            while not self._is_stopped.is_set() and not self._follow(client):
                self._is_stopped.wait(0 if self._has_ended else _PAUSE_S)
        finally:
            client.close()
            self.is_over.set()

    def _follow(self, client: Any) -> bool:
        """Follow once, and say whether that was all."""
        try:
            self._seen = 0
            self._messages = log_messages(
                client, self._container, since=_second(self._moment), has_terminal=self._has_terminal
            )
            self._cut()  # not before the engine has agreed to give it again
            with self._log.path.open("ab", buffering=0) as file:
                for message in self._messages:
                    self._take(message, file)
            self._close_messages()
            self._settle()
            # A stream that broke ends like one that is complete; only the container's state tells.
            status = client.api.inspect_container(self._container)["State"]["Status"]
        except stream_errors() as error:
            self._settle()
            if self._is_stopped.is_set():
                return True
            if getattr(error, "status_code", None) in (404, 409, 501) or "configured logging" in str(error):
                self.problem = f"the log cannot be read: {error}"
                return True
            return False
        had_ended, self._has_ended = self._has_ended, status in ("exited", "dead", "created")
        return had_ended and self._has_ended

    def _cut(self) -> None:
        if self._has_terminal:
            os.truncate(self._log.path, 0)
        else:
            self._log.cut_to_cursor()

    def _take(self, message: bytes, file: BinaryIO) -> None:
        if not self._has_terminal:
            stamp, _, message = message.partition(b" ")
            if not self._is_new(stamp.decode("ascii", "replace")):
                return
        self._log.append(file, message, f"{self._moment} {self._written}")
        self._uncounted += len(message)
        if self._uncounted >= _COUNT_EVERY_BYTES or time.monotonic() - self._noted >= _NOTE_EVERY_S:
            self._settle()

    def _is_new(self, moment: str) -> bool:
        """Say whether a message is not in the file yet, and count it."""
        if moment < self._moment:
            return False
        if moment > self._moment:
            self._moment, self._written, self._seen = moment, 0, 0
        self._seen += 1
        if self._seen <= self._written:
            return False
        self._written += 1
        return True

    def _settle(self) -> None:
        if self._has_terminal:
            self._log.count()
        else:
            self._log.note()
        self._uncounted = 0
        self._noted = time.monotonic()


def _second(moment: str) -> int | None:
    """Return the second from which the engine is asked to go on; what is there already is skipped here."""
    return int(datetime.fromisoformat(moment[:19] + "+00:00").timestamp()) if moment else None
