"""One JSON file as `tomlfile` gives a TOML file: bytes, what they say, and the line of each key.

1. The text is UTF-8 and JSON (RFC 8259). ``NaN`` and ``Infinity`` are none of it.
2. An object that has one key twice is refused: which one counts depends on the reader.
"""

from __future__ import annotations

import json
from typing import Any

from anvil.collectors.recipes.lines import json_key_lines
from anvil.collectors.recipes.problems import FileRefused, Problem
from anvil.collectors.recipes.tomlfile import TomlFile


class _Doubled(ValueError):
    """An object has one key twice."""


def read_json_file(content: bytes, source: str, kind: str) -> TomlFile:
    """Return a file that was read, with the line of each key.

    Raises:
        FileRefused: the bytes are not UTF-8, not JSON, or no object.
    """

    def refused(line: int, what: str, write: str) -> FileRefused:
        return FileRefused(source, (Problem(line, what, write),), kind=kind)

    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise refused(line, "this is not UTF-8", "Save the file as UTF-8") from error
    try:
        document = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        lines = json_key_lines(text) if isinstance(document, dict) else {}
    except json.JSONDecodeError as error:
        what = f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise refused(error.lineno, what, "Write it as RFC 8259 says; see json.org") from error
    except RecursionError as error:
        raise refused(1, "this is nested too deeply", "Write fewer brackets within brackets") from error
    except ValueError as error:
        raise refused(1, str(error), "Write each key once, and numbers in figures") from error
    if not isinstance(document, dict):
        raise refused(1, "this is no JSON object", "Write an object: { … }")
    return TomlFile(source, kind, content, document, lines)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        doubled = next(name for name in names if names.count(name) > 1)
        raise _Doubled(f"one object has the key {doubled[:60]!r} twice")
    return members


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
