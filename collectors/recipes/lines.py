"""Where each key of a TOML document stands: a locator beside `tomllib`, which gives values only.

1. It is run on a document that `tomllib` has read already, so it need not refuse anything: it only
   has to find keys, and to step over strings, arrays and inline tables (TOML 1.0.0).
2. A key, a table's header and an element of an array each have the line they begin on, from 1.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Mapping

from anvil.collectors.recipes.problems import KeyPath

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


class _Scanner:
    """Walks once over a document and notes the line of each key path."""

    def __init__(self, text: str, read: Callable[[str], str]) -> None:
        self.text = text
        self.read = read
        self.at = 0
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.found: dict[KeyPath, int] = {(): 1}
        self.elements: dict[KeyPath, int] = {}

    def document(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self.found

    def begin(self) -> None:
        """Step over one value that is the whole document."""
        self._skip(_BLANK)
        self._value(())

    def _line(self) -> int:
        return bisect_right(self.ends, self.at - 1) + 1

    def _note(self, path: KeyPath) -> None:
        self.found.setdefault(path, self._line())

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _take(self, pattern: re.Pattern[str]) -> str:
        start = self.at
        return self.text[start : self._skip(pattern)]

    def _header(self) -> KeyPath:
        """Return the table that a header opens: the newest element, where it names an array of tables."""
        is_array = self.text.startswith("[[", self.at)
        line_start = self.at
        self.at += 2 if is_array else 1
        keys = self._keys()
        end, self.at = self.at + (2 if is_array else 1), line_start
        path: KeyPath = ()
        for position, name in enumerate(keys):
            path = (*path, name)
            if is_array and position == len(keys) - 1:
                self._note(path)
                self.elements[path] = self.elements.get(path, -1) + 1
            if path in self.elements:
                path = (*path, self.elements[path])
            self._note(path)
        self.at = end
        return path

    def _keys(self) -> tuple[str, ...]:
        """Return a dotted key, bare or quoted."""
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            if self.text[self.at] in "\"'":
                keys.append(self.read(self._take(_STRING)))
            else:
                keys.append(self._take(_BARE))
            self._skip(_SPACE)
            if not keys[-1] or not self.text.startswith(".", self.at):
                return tuple(keys)
            self.at += 1

    def _pair(self, table: KeyPath) -> None:
        start = self.at
        keys = self._keys()
        after, self.at = self.at, start
        for count in range(1, len(keys) + 1):
            self._note((*table, *keys[:count]))
        self.at = after + 1  # the equals sign; in JSON a colon
        self._value((*table, *keys))

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        opening = self.text[self.at]
        if opening in "\"'":
            self._skip(_STRING)
        elif opening == "[":
            self._members(path, "]")
        elif opening == "{":
            self._members(path, "}")
        else:
            self._skip(_SCALAR)

    def _members(self, path: KeyPath, closing: str) -> None:
        """Step over an array or an inline table, noting what is in it."""
        self.at += 1
        position = 0
        while self.text[self._skip(_BLANK)] != closing:
            if self.text[self.at] == ",":
                self.at += 1
            elif closing == "]":
                self._note((*path, position))
                self._value((*path, position))
                position += 1
            else:
                self._pair(path)
        self.at += 1


def key_lines(text: str) -> Mapping[KeyPath, int]:
    """Return the line of each key path of a document that `tomllib` accepts."""
    return _Scanner(text, lambda quoted: str(tomllib.loads(f"x={quoted}")["x"])).document()


def json_key_lines(text: str) -> Mapping[KeyPath, int]:
    """Return the line of each key path of a JSON object that `json` accepts.

    To a reader that steps over values JSON is an inline table of TOML with other signs between key and value.
    """
    scanner = _Scanner(text, json.loads)
    scanner.begin()
    return scanner.found


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """Return the line of the longest beginning of `path` that stands in the document."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1
