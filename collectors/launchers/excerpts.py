"""Lines of an engine's log that patterns find, by their numbers in the whole log.

1. A line counts under the first pattern that finds it, and under no other. What was cut out of a log is
   not looked at; the event before says how much that was.
2. All that are found are counted. Of each pattern the first and the last are quoted: a log that repeats
   one warning for hours hides neither its beginning nor the error at its end.
3. What is quoted fits one sealed field: earlier patterns come first where room is scarce. Secrets are
   withheld before a line is shortened, so that no half of one stays.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from anvil.collectors.interface import LogPattern
from anvil.collectors.launchers.logs import BoundedLog
from anvil.collectors.withholding import NO_SECRETS, Secrets, clean_text
from anvil.ledger.events.launches import ExcerptedPattern, LogExcerpted

Patterns = Mapping[str, LogPattern]
"""Patterns by name, those that matter most first."""

END_LINES = 20
"""How many lines of a pattern are quoted from the beginning, and how many from the end."""

MAX_QUOTED = 500
"""Characters of one quoted line."""

MAX_BYTES = 48_000
"""Bytes of all quoted lines as JSON."""

_LOOKED_AT = 20_000  # characters of one line: an engine's whole configuration can be one


@dataclass(frozen=True)
class Excerpt:
    """One line of a log by its number in the whole log, from 1, and the pattern that found it."""

    line: int
    text: str
    pattern: str


@dataclass(frozen=True)
class Excerpts:
    """What patterns found: how many lines each, and those that are quoted, in their order."""

    matched: Mapping[str, int]
    quoted: tuple[Excerpt, ...]

    def event(self) -> LogExcerpted:
        """Return the event; it belongs to the `log.retained` before it."""
        counts = {name: sum(item.pattern == name for item in self.quoted) for name in self.matched}
        return LogExcerpted(
            patterns=tuple(
                ExcerptedPattern(name=name, lines=lines, quoted=counts[name])
                for name, lines in self.matched.items()
            ),
            lines=[[str(item.line), item.pattern, item.text] for item in self.quoted] or None,
        )


@dataclass
class _Found:
    """The lines of one pattern: how many, the first, and the last of the others."""

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    last: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=END_LINES))

    def add(self, number: int, text: str) -> None:
        self.count += 1
        (self.first if len(self.first) < END_LINES else self.last).append((number, text))


def excerpts(
    log: BoundedLog, patterns: Patterns, *, secrets: Secrets = NO_SECRETS, after: int = 0
) -> Excerpts:
    """Return what `patterns` find in the kept lines of `log` whose number is above `after`.

    A log of 16 MiB takes seconds: not to be done in an event loop.
    """
    found = {name: _Found() for name in patterns}
    for number, text in log.numbered():
        if number <= after:
            continue
        text = text[:_LOOKED_AT]
        lowered = text.lower()
        name = next((name for name, pattern in patterns.items() if pattern.finds(text, lowered)), None)
        if name is not None:
            found[name].add(number, text)
    return Excerpts({name: lines.count for name, lines in found.items()}, _quoted(found, secrets))


def _quoted(found: Mapping[str, _Found], secrets: Secrets) -> tuple[Excerpt, ...]:
    quoted: list[Excerpt] = []
    room = MAX_BYTES
    for name, lines in found.items():
        for number, text in (*lines.first, *lines.last):
            item = Excerpt(number, clean_text(text, secrets)[:MAX_QUOTED], name)
            size = len(json.dumps([str(number), name, item.text])) + 1
            if size <= room:
                quoted.append(item)
                room -= size
    return tuple(sorted(quoted, key=lambda item: item.line))
