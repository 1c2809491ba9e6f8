"""The tables of docs/importing.md, from the importers: kinds, and what the names of each kind are mapped to."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import get_args

from anvil.collectors.importers import KINDS, bakeoff, benchmark, multimodal, preflight
from anvil.ledger.events.results import FindingName
from anvil.projections.importedresults import SENTENCES


def importing_blocks() -> dict[str, str]:
    """Return what is generated inside docs/importing.md, by name."""
    return {
        "kinds": _kinds(),
        "benchmark-metrics": _metrics(),
        "benchmark-statistics": _statistics(),
        "preflight-checks": _checks(),
        "findings": _findings(),
    }


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _kinds() -> str:
    return _table(
        ("kind", "what it reads"),
        (
            (f"`{kind}`", ", ".join(f"`{known}`" for known in importer.knows))
            for kind, importer in KINDS.items()
        ),
    )


def _metrics() -> str:
    protocols = [(name, "disabled") for name in benchmark.PROTOCOLS] + [("capacity-v3", "otherwise")]
    heads = ["column", "in the file", *(f"`{name}`, thinking {how}" for name, how in protocols[2:])]
    rows = []
    for column, (called, unit) in benchmark.TIMED.items():
        meant = [benchmark.definitions(name, how).get(column) for name, how in protocols[2:]]
        cells = [f"`{one}`" if one else "none" for one in meant]
        rows.append([f"`{column}`", f"`{called}` ({unit})", *cells])
    return _table(heads, rows)


def _statistics() -> str:
    words = [(f"`…_{word}`", f"`{name}`") for word, name in benchmark.STATISTICS.items()]
    totals = [
        (f"`{called}`", f"`{statistic}` of `{column}`")
        for called, (statistic, column, _) in benchmark.TOTALS.items()
    ]
    media = [(f"`{called}` (multimodal)", f"`{name}`") for called, name in multimodal.STATISTICS.items()]
    chat = [
        (f"`{called}` (bake-off, chat)", f"`{name}`, not made again" if name else "none")
        for called, (name, _) in bakeoff.CHAT.items()
    ]
    return _table(("in the file", "our statistic"), [*words, *totals, *media, *chat])


def _checks() -> str:
    return _table(
        ("key", "our check"), ((f"`{key}`", f"`{check}`") for key, check in preflight.CHECKS.items())
    )


def _findings() -> str:
    unknown = set(SENTENCES) ^ set(get_args(FindingName))
    if unknown:
        sys.exit(f"findings without a sentence: {unknown}")
    return _table(("finding", "what is said"), ((f"`{name}`", text) for name, text in SENTENCES.items()))
