"""What other tools measured, in the order in which a page shows it: each result, what stands side by side, and then the files.

A result is a heading, what is said of it, and a table with one line for each figure. Nothing that has a value is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anvil.projections.pages.outline import Block, outline
from anvil.projections.pages.view import Shown, items

SECTION = "imported_evidence"
_COLUMNS = (
    "its name there",
    "what is meant",
    "statistic",
    "n",
    "as the tool prints it",
    "from the rows",
    "unit",
    "agreement",
    "evidence",
)
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
    listed = {key: value for key, value in result.items() if key not in (*told, "figures")}
    return [heading, *outline(told, 4), *outline(listed, 4), *_figures(items(result.get("figures", ())))]


def _figures(figures: Sequence[Mapping[str, Shown]]) -> list[Block]:
    """Return a line for each figure; what it is of, and what is meant, stand in one cell each."""
    if not figures:
        return []
    rows = [
        (
            str(number),
            (
                _cells(one["called"], one["of"]),
                _cells(one["metric"], one["meaning"]),
                (one["statistic"],),
                (one["n"],),
                (one["stated"],),
                (one["remade"],),
                (one["unit"],),
                (one["agreement"],),
                (one["status"],),
            ),
        )
        for number, one in enumerate(figures, 1)
    ]
    return [Block("heading", "figures", 4), Block("table", columns=_COLUMNS, rows=tuple(rows))]


def _cells(*shown: Shown) -> tuple[Shown, ...]:
    """Return what has a value; the first where nothing has."""
    return tuple(one for one in shown if not one.is_null) or shown[:1]
