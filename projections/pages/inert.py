"""Text in Markdown that shows as it is, in CommonMark, in GFM and on pages that add meaning of their own.

1. Every mark that begins something inside a line is escaped with a backslash, and at the start of the
   text also what would begin a block: no heading, list, rule, link, image, tag, cell or emphasis. What begins
   nothing stays as it is, so that names and numbers read well: `a_b`, `-22.6`.
2. Some sites look at the finished text for mentions, issue numbers, addresses and emoji names, where a
   backslash is gone by then. Text that holds any of these becomes a code span, which they leave alone.
3. A vertical bar ends a table cell even inside a code span, so it stands between two of them.
"""

from __future__ import annotations

import re

_MARKS = {ord(mark): f"\\{mark}" for mark in "\\`*{}[]<>|~&$^!"}
_EMPHASIS = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_BLOCK_START = re.compile(r"^(\s*)(?:([=#:])|([-+])(?![A-Za-z0-9])|([0-9]*)([.)])(?!\S))")
_NOTICED = re.compile(
    r"@|#|://|\bwww\.|:[a-zA-Z0-9_+-]+:|\bGH-\d|\b(?:javascript|data|mailto):", re.IGNORECASE
)
_BLANKS = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


def markdown(value: object) -> str:
    """Return a value as inline Markdown that shows its text and is nothing else."""
    text = _BLANKS.sub(" ", str(value))
    if not _NOTICED.search(text):
        return _BLOCK_START.sub(r"\1\4\\\2\3\5", _EMPHASIS.sub(r"\\_", text.translate(_MARKS)))
    return "\\|".join(fenced(part) for part in text.split("|"))


def fenced(text: str) -> str:
    """Return text of one line as code, whatever stands in it."""
    if not text.strip():
        return text
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{padding}{text}{padding}{fence}"
