"""The tables of docs/load.md, from the classes of the lines in attempt records and rows."""

from __future__ import annotations

import ast

from generate_events import documented

from anvil.collectors.load.findings import FINDINGS
from anvil.collectors.load.prompts import PromptLine
from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.collectors.reports.counters import METRICS
from anvil.ledger.lines import Line
from anvil.ledger.rows import Row, RunRow
from anvil.ledger.telemetry import GpuSample, TelemetryHead

_WORDS = {
    "bool": "true or false",
    "str": "text",
    "None": "null",
    "Count": "integer",
    "Moment": "integer",
    "Counts": "list of integers",
    "Moments": "list of integers",
    "Bytes": "bytes, in base64",
    "Clock": "`kernel` or `client`",
    "Outcome": "`completed`, `failed` or `stopped`",
    "FailureClass": "[failure class](checks.md#failure-classes)",
    "Unmeasurable": "[reason](#figures)",
    "Word": "`Word`",
    "Label": "`Label`",
    "ThrottleReason": "reason",
    "Absences": "list of GPU, field and reason",
    "ReasoningChannel": "[channel](events.md#reasoningchannel)",
}


def load_blocks() -> dict[str, str]:
    """Return what is generated inside docs/load.md, by name."""
    return {
        "record-run": _table(RunRecord),
        "record-request": _table(RequestRecord),
        "rows-run": _table(RunRow),
        "rows-request": _table(Row),
        "telemetry-head": _table(TelemetryHead),
        "telemetry-sample": _table(GpuSample),
        "prompt-line": _table(PromptLine),
        "findings": _findings(),
        "engine-counters": _counters(),
    }


def _findings() -> str:
    rows = ["| label | is | meaning |", "|---|---|---|"]
    return "\n".join(
        [*rows, *(f"| `{label}` | {grave} | {text} |" for label, (grave, text) in FINDINGS.items())]
    )


def _counters() -> str:
    rows = [
        "| name | " + " | ".join(f"`{engine}`" for engine in METRICS) + " |",
        "|---|" + "---|" * len(METRICS),
    ]
    for name in dict.fromkeys(metric.name for metrics in METRICS.values() for metric in metrics):
        cells = []
        for metrics in METRICS.values():
            found = [metric for metric in metrics if metric.name == name]
            cells.append(" or ".join(f"`{spelling}`" for metric in found for spelling in metric.spellings))
        rows.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _table(cls: type[Line]) -> str:
    rows = ["| member | value | meaning |", "|---|---|---|"]
    for name, annotation, text in documented(cls):
        rows.append(f"| `{cls.model_fields[name].alias or name}` | {_words(annotation)} | {text} |")
    return "\n".join(rows)


def _words(node: ast.expr) -> str:
    """Return an annotation in words.

    Raises:
        KeyError: there are no words for it.
    """
    if isinstance(node, ast.BinOp):
        return f"{_words(node.left)} or {_words(node.right)}"
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        match ast.unparse(node.value):
            case "Annotated":
                return _words(inner[0])
            case "tuple":
                return f"list of {_words(inner[0])}"
            case "Literal":
                return " or ".join(f"`{ast.literal_eval(item)}`" for item in inner)
            case _:
                pass
    return _WORDS[ast.unparse(node)]
