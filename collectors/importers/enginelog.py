"""`engine-log`: a log that an engine wrote, with the figures that our readers of reports find in it.

1. It is no JSON, and one of the readers of `anvil.collectors.reports` finds a figure in it; the one that finds most
   reads it.
2. A figure is a statement whose place is the number of its line, from 0: `$[33]`. The lines stay in the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from anvil.collectors.importers.evidence import made
from anvil.collectors.importers.identity import Identity
from anvil.collectors.importers.interface import ImportRefused, Said, Taken
from anvil.collectors.reports import READERS, Report, read_report
from anvil.ledger.events import StatementImported
from anvil.ledger.events.imports import StatedValue

FORMATS = {f"{engine}-log": engine for engine in READERS}


class EngineLogImporter:
    """Reads logs of the engines that have a reader."""

    kind = "engine-log"

    @property
    def knows(self) -> Sequence[str]:
        """The logs that it reads."""
        return list(FORMATS)

    def recognises(self, content: bytes) -> bool:
        """Say whether a reader finds something in it (rule 1)."""
        return _report(content) is not None

    def take_apart(self, content: bytes, digest: str) -> Taken:
        """Return what a log says.

        Raises:
            ImportRefused: no reader finds anything in it.
        """
        report = _report(content)
        if report is None:
            raise ImportRefused(
                "it is no log in which a figure was found", advice=f"Known are: {', '.join(FORMATS)}."
            )
        identity = Identity(digest)
        identity.add("engine", report.reader)
        said = [*identity.statements(), *(_said(digest, report, line) for line in _lines(report))]
        return Taken(
            f"{report.reader}-log", "raw-evidence", "text/plain", None, identity.not_said(), tuple(said)
        )


def _report(content: bytes) -> Report | None:
    if content.lstrip()[:1] in (b"{", b"["):
        return None
    reports = [report for engine in READERS if (report := read_report(engine, content)) is not None]
    best = max(reports, key=lambda report: len(report.figures))
    return best if best.figures else None


def _lines(report: Report) -> list[int]:
    return sorted({figure.line for figure in report.figures if figure.line is not None})


def _said(digest: str, report: Report, line: int) -> Said:
    values = {
        figure.name: StatedValue(
            name=figure.name,
            text=figure.word,
            number=None if figure.number is None else str(figure.number),
            truth=None,
            texts=None,
        )
        for figure in report.figures
        if figure.line == line
    }
    fields = {
        "source": digest,
        "nature": "raw-evidence",
        "topic": "report",
        "name": None,
        "within": None,
        "claimed_status": None,
        "values": tuple(values.values()),
    }
    return Said(made(StatementImported, f"$[{line - 1}]", fields))
