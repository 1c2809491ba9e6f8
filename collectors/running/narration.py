"""What a person sees while a run goes on, on stderr: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any, Protocol, TextIO, cast

from anvil.ledger.events.checks import CheckCompleted
from anvil.ledger.events.suites import SuiteCompleted, spell_stability

Judged = CheckCompleted | SuiteCompleted

_SELDOM_S = 30.0
_SPINNER = 2  # columns before what is said


class Narrator(Protocol):
    """Told what is going on."""

    def say(self, text: str) -> None:
        """Something happened."""

    def begin(self, text: str) -> None:
        """Something begins that takes a while."""

    def progress(self, text: str) -> None:
        """What takes a while is so far; told often."""

    def judged(self, name: str, event: Judged) -> None:
        """A check or a suite has its verdict."""

    def close(self) -> None:
        """Nothing more is said."""


class PlainNarrator:
    """One line for each thing, for logs and pipes."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._last_s = time.monotonic()

    def say(self, text: str) -> None:
        """Print a line with the time since the beginning; a reader that has gone does not end the run."""
        self._last_s = time.monotonic()
        with suppress(OSError):
            print(f"{self._tally.elapsed():>7}  {text}", file=sys.stderr, flush=True)  # noqa: T201  # its work

    def begin(self, text: str) -> None:
        """Print a line."""
        self.say(text)

    def progress(self, text: str) -> None:
        """Print a line when none was printed for a while."""
        if time.monotonic() - self._last_s >= _SELDOM_S:
            self.say(text)

    def judged(self, name: str, event: Judged) -> None:
        """Print the verdict."""
        self.say(self._tally.judged(name, event))

    def close(self) -> None:
        """Do nothing."""


class _Terminal:
    """A terminal that may go away while the run that it watched is ended in order."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class LiveNarrator:
    """A spinner with what is running, and a line for each verdict above it."""

    def __init__(self) -> None:
        from rich.console import Console

        self._tally = Tally()
        self._console = Console(file=cast("TextIO", _Terminal(sys.stderr)), highlight=False)
        self._status = self._console.status("starting")
        self._status.start()

    def say(self, text: str) -> None:
        """Print a line above the spinner."""
        self._console.print(f"{self._tally.elapsed():>7}  {text}", markup=False)

    def begin(self, text: str) -> None:
        """Show beside the spinner what is running, and the tally so far."""
        self.progress(f"{text}  ({self._tally})")

    def progress(self, text: str) -> None:
        """Show it beside the spinner, on one line: what has no room is cut off."""
        from rich.text import Text

        line = Text(text)
        line.truncate(max(1, self._console.width - _SPINNER), overflow="ellipsis")
        self._status.update(line)

    def judged(self, name: str, event: Judged) -> None:
        """Print the verdict above the spinner."""
        self.say(self._tally.judged(name, event))

    def close(self) -> None:
        """Take the spinner away."""
        self._status.stop()


class SilentNarrator:
    """For a process without stderr: nobody is told, and the run goes on."""

    def say(self, text: str) -> None:
        """Do nothing."""

    def begin(self, text: str) -> None:
        """Do nothing."""

    def progress(self, text: str) -> None:
        """Do nothing."""

    def judged(self, name: str, event: Judged) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Tally:
    """How many checks and suites came to what, and how long it has been."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._counts: dict[str, int] = {}

    def elapsed(self) -> str:
        """Return the time since the beginning as minutes and seconds."""
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        return f"{minutes}:{seconds:02d}"

    def judged(self, name: str, event: Judged) -> str:
        """Count a verdict and return the line that says it."""
        self._counts[event.outcome] = self._counts.get(event.outcome, 0) + 1
        why = f"  {event.failure}" if event.failure else ""
        if isinstance(event, SuiteCompleted):
            why = f"  {spell_stability(event.is_stable, event.required_rate)}{why}"
        return f"{event.outcome:<12} {name:<24} {event.passed}/{event.expected}{why}"

    def __str__(self) -> str:
        return (
            ", ".join(f"{count} {outcome}" for outcome, count in sorted(self._counts.items()))
            or "no verdict yet"
        )


def narrator() -> Narrator:
    """Return what fits where stderr goes; Python has none when it was closed before the start."""
    if sys.stderr is None:
        return SilentNarrator()
    return LiveNarrator() if sys.stderr.isatty() else PlainNarrator()
