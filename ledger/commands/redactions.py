"""`anvil redactions`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from anvil.ledger.commands.output import answer, answer_json, json_option, visible
from anvil.ledger.errors import MalformedPublication
from anvil.ledger.publication import layout
from anvil.ledger.terminal import columns, hung

_NAMED = 7
"""The column below which the kinds stand."""


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@json_option
def redactions(folder: Path, as_json: bool) -> None:
    """Show what was withheld behind a publication: of which kind, by which rule, how many.

    Never a value, a part of one, its length or its digest. `anvil verify --publication` says whether the
    report is the one that was released.

    \b
    Example:
      anvil redactions published/
    """
    try:
        report = json.loads(layout.read(folder, layout.REDACTIONS))
        lines = list(_told(report))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise MalformedPublication(f"{layout.REDACTIONS} is no redaction report: {error!r:.200}") from error
    if as_json:
        answer_json("anvil.redactions/1", {name: value for name, value in report.items() if name != "schema"})
    else:
        for line in lines or ["Nothing was withheld."]:
            answer(line)


def _told(report: dict[str, Any]) -> Iterator[str]:
    for item in report["withheld"]:
        pointers = item["pointers"]
        words = [f"{visible(one)}," for one in pointers[:3]]
        words[-1:] = [word.rstrip(",") for word in words[-1:]]
        words += [f"and {len(pointers) - 3} more"] if len(pointers) > 3 else []
        yield visible(f"{item['count']:>5}  {item['class']} ({item['rule']})")
        yield from hung(("behind", *words), columns(sys.stdout), _NAMED, _NAMED + len("behind "))
    if report["in_all_events"]:
        yield "In all events that go along:"
    for item in report["in_all_events"]:
        yield visible(f"{item['count']:>5}  {item['class']} ({item['rule']})")
