"""Lines that fit the terminal they are printed on.

1. Only what a person reads on a terminal is folded; what goes into a file or another program stays as it is, unless
   ``COLUMNS`` asks for a width.
2. A line is broken between words. What follows stands below the value that the line gives, or is indented a
   little further than its beginning.
3. No word is ever cut: a digest, a key or a path that does not fit stands on a line of its own, so that it can be
   copied.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import TextIO

NARROWEST = 40
"""Columns that are always used; on less a line is left to the terminal."""

_VALUE_BEFORE = 34
_FURTHER = 4
_NAMED = re.compile(r" *\S(?:.*?\S)??(?: {2,}|: |\| )(?=\S)")


def columns(stream: TextIO) -> int | None:
    """Return how many columns a stream has; None where nothing is to be folded (rule 1)."""
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return None
    return max(NARROWEST, shutil.get_terminal_size().columns)


def folded(text: str, width: int | None) -> str:
    """Return a text whose lines have at most `width` columns, apart from words that are longer (rules 2 and 3)."""
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def hung(words: Iterable[str], width: int | None, indent: int, further: int) -> Iterator[str]:
    """Yield lines of words that stay whole, spaces within them too: the first line begins at `indent`, others `further`.

    For what has a label that `folded` cannot tell from a value. A word that is wider than `width` has a line of its own.
    """
    line = ""
    for word in words:
        joined = f"{line} {word}" if line.strip() else " " * indent + word
        if width is not None and line.strip() and len(joined) > width:
            yield line
            joined = " " * further + word.lstrip()
        line = joined
    yield line


def _parts(line: str, width: int) -> Iterator[str]:
    named = _NAMED.match(line)
    beginning = len(line) - len(line.lstrip(" "))
    indent = named.end() if named and named.end() <= min(_VALUE_BEFORE, width // 2) else beginning + _FURTHER
    while len(line) > width:
        after = len(line) - len(line.lstrip(" "))  # a break in what a line begins with breaks nothing
        at = line.rfind(" ", after, width + 1)
        if at < 0:
            at = line.find(" ", width)
        if at < 0:
            break
        yield line[:at].rstrip()
        rest = line[at:].lstrip()
        line = " " * max(0, min(indent, width - len(rest.split(" ", 1)[0]))) + rest
    yield line
