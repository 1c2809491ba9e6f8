"""Figures of the tools beside the same made again from the rows, and in words how each differs from ours of that name.

A figure is made again from the rows of its own file; of AIPerf's summary and lm-eval's results from those of the
file of the same run that has rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from anvil.collectors.importers import importer_of
from anvil.ledger import statistics
from anvil.ledger.events import LoadImported, SuiteImported
from anvil.ledger.events.results import SourceStatistic
from anvil.ledger.rowtable import RowTable, converted

SHOWN = ("mean", "median_interpolated", "nearest_rank_p50", "linear_p50", "linear_p90", "nearest_rank_p90")
ROWS_OF: Mapping[str, str] = {"aiperf.json": "aiperf.jsonl", "lm-eval.json": "lm-eval.jsonl"}
"""A file without rows to the one that has them."""

_OTHERWISE = "none of our metrics"
_DIFFERS: Mapping[tuple[str, str], str] = {
    ("vllm", "ttft"): "to the first chunk with a choice, the role's too; a connection within",
    ("vllm", "itl"): "between such chunks, up to the finish reason's",
    ("vllm", "e2e"): "to the last such chunk, not the end of the stream",
    ("sglang", "ttft"): "to the first text; a connection opened within",
    ("sglang", "itl"): "between texts, pooled over requests",
    ("guidellm", "tpot"): "from the start of the request, weighted by tokens",
    ("aiperf", "ttfo"): "first output of any kind; ours only without a connection within",
    ("aiperf", "last_output"): "to the last output, not the end of the stream",
    ("aiperf", "gap"): "between chunks, pooled over requests",
    ("lm-eval", "metric"): "of the harness; no metric of load",
}


@dataclass(frozen=True)
class Compared:
    """One figure: theirs as they spell it, ours exact, or null where no rows give it."""

    tool: str
    called: str
    theirs: str
    ours: Fraction | None
    meaning: str

    @property
    def is_same(self) -> bool:
        """Whether ours is theirs, to one part in 10^9."""
        theirs = statistics.exact(self.theirs)
        return self.ours is not None and abs(theirs - self.ours) <= abs(theirs) / 10**9

    def line(self) -> str:
        """Return it as a line of the table."""
        ours = "-" if self.ours is None else statistics.rounded(self.ours, 6)
        mark = "=" if self.is_same else " " if self.ours is None else "≠"
        return f"{self.tool:<9} {self.called:<52.52} {self.theirs:>22.22} {mark} {ours:>18}  {self.meaning}"


def compared(files: Mapping[str, Path]) -> Iterator[Compared]:
    """Yield the figures of all files that are shown and can be made again."""
    taken = {name: list(_results(path)) for name, path in files.items()}
    for name, results in taken.items():
        for number, (event, rows) in enumerate(results):
            given = taken[ROWS_OF[name]][number][1] if name in ROWS_OF else rows
            for figure in event.statistics:
                if figure.number is None or figure.statistic not in SHOWN:
                    continue
                column = "metric" if isinstance(event, SuiteImported) else figure.column
                ours = None if given is None or column is None else _made(figure, given, column)
                if ours is not None:
                    yield Compared(
                        event.tool, figure.called, figure.number, ours, _meaning(event.tool, figure, column)
                    )


def unlike(files: Mapping[str, Path]) -> list[str]:
    """Return the figures that an import itself found otherwise in its rows."""
    return [
        f"{name}: {figure.called} is {figure.number}, and its rows give it otherwise"
        for name, path in files.items()
        for event, _ in _results(path)
        for figure in event.statistics
        if figure.remade == "differs"
    ]


def _results(path: Path) -> Iterator[tuple[LoadImported | SuiteImported, RowTable | None]]:
    content = path.read_bytes()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    for said in importer_of(content, None).take_apart(content, digest).said:
        if isinstance(said.event, LoadImported | SuiteImported):
            yield said.event, said.rows


def _made(figure: SourceStatistic, rows: RowTable, column: str) -> Fraction | None:
    held = rows.column(column)
    value = None if held is None or figure.statistic is None else rows.statistic(figure.statistic, column)
    return None if held is None or value is None else converted(value, held.unit, figure.unit)


def _meaning(tool: str, figure: SourceStatistic, column: str | None) -> str:
    if figure.definition is not None:
        return figure.definition
    return _DIFFERS.get((tool, column or ""), _OTHERWISE)
