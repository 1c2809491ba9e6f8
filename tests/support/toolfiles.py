"""The files of `tests/importers/files`, which real tools wrote: whole, taken apart, and changed in one place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from anvil.collectors.importers import importer_of
from anvil.collectors.importers.interface import Taken
from anvil.ledger.events import LoadImported, SuiteImported
from anvil.ledger.rowtable import RowTable

FOLDER = Path(__file__).parents[1] / "importers" / "files"
KINDS = {
    "vllm-detailed.json": "vllm-bench",
    "vllm-plain.json": "vllm-bench",
    "sglang-details.jsonl": "sglang-bench",
    "sglang-plain.jsonl": "sglang-bench",
    "guidellm.json": "guidellm",
    "aiperf.json": "aiperf",
    "aiperf.jsonl": "aiperf",
    "lm-eval.json": "lm-eval",
    "lm-eval.jsonl": "lm-eval",
}
"""File to the kind that it is found to be."""

DIGEST = "sha256:" + "0" * 64

Path_ = Sequence[str | int]


@lru_cache(maxsize=16)
def whole(name: str) -> bytes:
    """Return a file."""
    return (FOLDER / name).read_bytes()


def values(name: str) -> Any:
    """Return the value of a JSON file, or the list of the lines' values, with floats."""
    text = whole(name).decode()
    return [json.loads(line) for line in text.splitlines()] if name.endswith("l") else json.loads(text)


def spelled(name: str, value: Any) -> bytes:
    """Return values as a file like `name`."""
    lines = value if name.endswith("l") else [value]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def changed(name: str, path: Path_, to: Any) -> bytes:
    """Return a file with one member made something else."""
    value = values(name)
    part = value
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = to
    return spelled(name, value)


def without(name: str, path: Path_) -> bytes:
    """Return a file with one member left out."""
    value = values(name)
    part = value
    for step in path[:-1]:
        part = part[step]
    del part[path[-1]]
    return spelled(name, value)


def taken(content: bytes) -> Taken:
    """Return a file taken apart, by the importer that recognises it."""
    return importer_of(content, None).take_apart(content, DIGEST)


def loads(content: bytes) -> list[tuple[LoadImported, RowTable | None]]:
    """Return the loads of a file, each with its rows."""
    said = taken(content).said
    return [(one.event, one.rows) for one in said if isinstance(one.event, LoadImported)]


def suites(content: bytes) -> list[tuple[SuiteImported, RowTable | None]]:
    """Return the suites of a file, each with its rows."""
    said = taken(content).said
    return [(one.event, one.rows) for one in said if isinstance(one.event, SuiteImported)]
