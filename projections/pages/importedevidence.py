"""What other tools measured, in the order in which a page shows it: each result, what stands side by side, and then the files.

A result is a heading, what is said of it, and a table with one line for each figure. Nothing is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anvil.projections.pages.outline import Block, outline
from anvil.projections.pages.view import Shown, items

SECTION = "imported_evidence"
_KINDS = {"checks": "Check", "suites": "Suite", "loads": "Load"}


def blocks(document: Mapping[str, Any]) -> list[Block]:
    """Return the section of a document as blocks; none where it has no such section."""
    section = document.get(SECTION)
    if section is None:
        return []
    made: list[Block] = []
    for name, word in _KINDS.items():
        for result in items(section[name]):
            made += _result(f"{word} {result['called'].text} of {result['tool'].text}", result)
    for compared in section.get("comparisons", ()):
        made += _result(f"{compared['treatment'].text} against {compared['control'].text}", compared)
    for number, file in enumerate(items(section["files"]), 1):
        made += [Block("heading", f"File {number}: {file['kind'].text}", 3), *outline(file, 4)]
    return made


def _result(title: str, result: Mapping[str, Any]) -> list[Block]:
    heading = Block("heading", title, 3)
    told = {key: value for key, value in result.items() if isinstance(value, Shown)}
    listed = {key: value for key, value in result.items() if key not in told}
    return [heading, *outline(told, 4), *outline(listed, 4)]
