"""The tables of docs/load.md, from the classes of the lines in attempt records and rows."""

from __future__ import annotations

import ast

from generate_events import documented

from anvil.collectors.load.record import RequestRecord, RunRecord
from anvil.ledger.lines import Line
from anvil.ledger.rows import Row, RunRow

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
    "ReasoningChannel": "[channel](events.md#reasoningchannel)",
}


def load_blocks() -> dict[str, str]:
    """Return what is generated inside docs/load.md, by name."""
    return {
        "record-run": _table(RunRecord),
        "record-request": _table(RequestRecord),
        "rows-run": _table(RunRow),
        "rows-request": _table(Row),
    }


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
