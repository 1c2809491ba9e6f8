"""Imported files as `anvil status` shows them: counts, main figures, findings, and decisions that documents state.

1. Each event is named by its index in this ledger: `anvil show INDEX` shows all of it.
2. A figure is as its tool spells it, with the metric that is meant, and whether the rows give it again. Of the main
   ones people are shown medians, means and rates; programs are given all of them.
3. What a published document says was decided is somebody else's word about another run, and is said to be.
"""

from __future__ import annotations

from typing import Any

from anvil.ledger.commands.output import answer
from anvil.ledger.events.results import SourceStatistic
from anvil.ledger.statistics import percentile_of
from anvil.projections.commands.conclusions import in_lines
from anvil.projections.importedresults import COUNTS, ImportedFile, ImportedResult, figure_words, sentence


def show(file: ImportedFile) -> None:
    """Print one file."""
    answer(f"  imported: {file.format}  {file.digest[:19]}  [{file.index}]")
    for result in file.results.values():
        counts = "/".join("?" if one is None else str(one) for one in (result.passed, result.expected))
        answer(f"    {result.outcome:<12} {f'{result.what} {result.called}':<40} {counts}  [{result.index}]")
        for figure in filter(_is_brief, result.figures):
            in_lines(figure_words(figure), 6)
        for found in result.findings:
            in_lines(sentence(found), 6)
    for decision in file.decisions.values():
        of = "" if decision.candidate is None else f" of {decision.candidate}"
        in_lines(
            f"decided elsewhere{of}, as that document says: {'; '.join(decision.said)}  [{decision.index}]", 4
        )
    for said in file.sentences():
        in_lines(said, 4)


def _is_brief(figure: SourceStatistic) -> bool:
    """Say whether people are shown a figure (rule 2)."""
    return figure.unit not in COUNTS and (percentile_of(figure.statistic or "") or 0) <= 50


def members(file: ImportedFile) -> dict[str, Any]:
    """Return one file for programs."""
    return {
        "kind": file.kind,
        "format": file.format,
        "digest": file.digest,
        "index": file.index,
        "not_said": list(file.not_said),
        "withheld": list(file.withheld),
        "results": [_result(entry_hash, result) for entry_hash, result in file.results.items()],
        "decisions": [
            {
                "entry_hash": entry_hash,
                "index": decision.index,
                "candidate": decision.candidate,
                "said": list(decision.said),
                "status": "external-prior",
            }
            for entry_hash, decision in file.decisions.items()
        ],
    }


def _result(entry_hash: str, result: ImportedResult) -> dict[str, Any]:
    return {
        "entry_hash": entry_hash,
        "index": result.index,
        "what": result.what,
        "called": result.called,
        "outcome": result.outcome,
        "passed": result.passed,
        "expected": result.expected,
        "figures": [figure.model_dump(mode="json") for figure in result.figures],
        "findings": [
            {**found.model_dump(mode="json"), "sentence": sentence(found)} for found in result.findings
        ],
    }
