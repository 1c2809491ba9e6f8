"""What a Markdown page is put together from: figures with their marks, and tables that line up.

1. A figure is its text, the sign of its status and the number of its support: `554.3 ○12`.
2. A table's columns are as wide as their widest cell, so that they line up in a terminal; a cell wider than
   `WIDEST` sticks out of its column rather than widening all the others.
3. What stands in a plot of the HTML page stands in these tables.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anvil.ledger.wording import counted
from anvil.projections.pages.answers import Line
from anvil.projections.pages.comparisons import Comparison, Difference
from anvil.projections.pages.inert import fenced, markdown
from anvil.projections.pages.lanes import Rung
from anvil.projections.pages.limits import Told
from anvil.projections.pages.matrix import Cell, Matrix
from anvil.projections.pages.outline import Block
from anvil.projections.pages.seen import Seen
from anvil.projections.pages.setup import Differing
from anvil.projections.pages.view import Shown

WIDEST = 52
_MARKS = {"passed": "✓ ", "failed": "✗ ", "incomplete": "… ", "said": ""}
_NOT_STATED = "not stated"
_LEGEND = (
    "✓ passed; ✗ failed, in whole or in part; … incomplete: it came to no verdict, which is neither passed nor failed; what "
    "has no such mark is said in words that are not judged here; *not stated* is no failure: the document says nothing there."
)


class Inert(str):
    """Markdown that is inert already."""

    __slots__ = ()


def finalized(value: object) -> str:
    """Return what is printed as inert Markdown, once."""
    return value if isinstance(value, Inert) else markdown(value)


def figure(shown: Shown, unit: str = "") -> Inert:
    """Return a figure with its mark (rule 1), and that it is the words of a decision that is stale."""
    return Inert(f"{_figure(shown, unit)}{_stale([shown])}")


def _figure(shown: Shown, unit: str = "") -> str:
    behind = f" {markdown(unit)}" if unit and not shown.is_null else ""
    return f"{markdown(shown.text)}{behind} {shown.sign}{shown.note}"


def _stale(shown: Sequence[Shown]) -> str:
    """Return which decisions are stale whose words these are, each once."""
    found = dict.fromkeys(one.stale for one in shown if one.stale is not None)
    return "".join(
        f" (**stale: {markdown(one.in_short)}**; see Decision {one.index} under “How strong is the evidence?”)"
        for one in found
    )


def code(text: str) -> Inert:
    """Return text as code."""
    return Inert(fenced(text))


def mark(shown: Shown) -> Inert:
    """Return the mark of a figure alone."""
    return Inert(f"{shown.sign}{shown.note}")


def measured(shown: Shown, unit: str = "") -> Inert:
    """Return a figure with its mark, and how sure it is."""
    sure = f" ({shown.sure.words})" if shown.sure else ""
    return Inert(f"{figure(shown, unit)}{sure}")


def difference(one: Difference) -> Inert:
    """Return a difference with its sign, what it means, and how sure it is."""
    words = f", {one.words}" if one.words else ""
    sure = f" ({one.figure.sure.words})" if one.figure.sure else ""
    return Inert(f"{one.plus}{figure(one.figure, '%')}{words}{sure}")


def joined(shown: Shown | Sequence[Shown]) -> Inert:
    """Return figures in one cell. An empty list is one figure that says so."""
    if isinstance(shown, Shown):
        return figure(shown)
    return Inert(", ".join(map(_figure, shown)) + _stale(shown) or _NOT_STATED)


def listing(shown: Shown | Sequence[Shown]) -> Inert:
    """Return figures as a list."""
    return Inert("\n".join(f"- {figure(one)}" for one in ([shown] if isinstance(shown, Shown) else shown)))


def observed(observations: Sequence[Seen]) -> Inert:
    """Return what people saw as a list: what it is about, what they say, how strong it is."""
    lines = []
    for one in observations:
        about = ", ".join(figure(shown) for shown in one.about) or "the campaign"
        said = "; ".join(figure(shown) for shown in one.said)
        lines.append(f"- {about}: {said}; evidence {figure(one.status)}")
    return Inert("\n".join(lines))


def strength(legend: Sequence[dict[str, Any]]) -> Inert:
    """Return how many figures have which status."""
    rows = [(f"{i['sign']} {i['word']}", i["count"], f"{i['meaning']} ({i['status']})") for i in legend]
    return table(("Evidence", "Figures", "Means"), rows)


def loads(told: Told) -> Inert:
    """Return how many requests stand behind each load."""
    head = ("Load of", "Protocol", "Cells", "Requests completed in each", "Runs")
    rows = [(one.of, one.protocol, ", ".join(one.cells), one.requests, one.runs) for one in told.loads]
    return table(head, rows)


def noting(noted: tuple[str, str, str] | None) -> Inert:
    """Return what is said of notes behind the words that bring them; nothing where there are none."""
    return Inert("" if noted is None else f" ({noted[0]} {noted[2]})")


def on(count: Shown, product: Shown, size: Shown, unit: str, copies: str) -> Inert:
    """Return what it ran on."""
    if count.is_null or count.text == "0":
        return Inert(f"{'' if count.is_null else 'GPUs: '}{figure(count)}")
    behind = f"; {copies}" if copies else ""
    return Inert(f"{figure(count)} \N{MULTIPLICATION SIGN} {figure(product)}, {figure(size, unit)}{behind}")


def placed(hardware: Mapping[str, Shown]) -> Inert:
    """Return how it was placed, as an item of a list; nothing where that is not known."""
    topology = hardware["topology"]
    return Inert("" if topology.is_null else f"- Placed: {figure(topology)}\n")


def settings(differing: Sequence[Differing]) -> Inert:
    """Return the settings in which lanes differ."""
    made = []
    for one in differing:
        values = (f"{markdown(name)} {_stated(shown)}" for name, shown in one.values)
        made.append(f"{markdown(one.name.replace('_', ' '))} ({'; '.join(values)})")
    return Inert("; ".join(made))


def answer(line: Line) -> Inert:
    """Return one line of what is faster."""
    sides = (
        f"{markdown(side.name)} {measured(side.figure, side.unit)}{', ' if side.word else ''}{side.word}"
        for side in line.sides
    )
    return Inert(f"{markdown(line.words)} ({markdown(line.hint)}): {'; '.join(sides)}")


def meanings(verdicts: Sequence[tuple[str, str]]) -> Inert:
    """Return what the words of verdicts mean, as items of a list."""
    return Inert("\n".join(f"- *{markdown(word)}*: {markdown(meaning)}" for word, meaning in verdicts))


def differences(comparison: Comparison, number: int) -> Inert:
    """Return one difference of a comparison, metric by metric."""
    found = [(row, row.differences[number]) for row in comparison.rows]
    rows = [(row.metric.full, difference(one)) for row, one in found if one is not None]
    drawn = table((comparison.differences[number], comparison.name), rows)
    return Inert(f"{drawn}\n\n{evidence_of(comparison)}")


def alone(comparison: Comparison) -> Inert:
    """Return the figures of a comparison under its name, as a list, metric by metric."""
    lines = [
        f"- {markdown(row.metric.full)}: {measured(cell, row.metric.unit)}"
        for row in comparison.rows
        for cell in row.cells
        if cell is not None
    ]
    if not lines:
        return Inert("")
    name = markdown(comparison.name.replace("_", " "))
    return Inert("\n".join([f"{name}:", "", *lines, "", evidence_of(comparison)]))


def evidence_of(comparison: Comparison) -> Inert:
    """Return how strong the evidence of a comparison's figures is, and whether nothing says how sure they are."""
    if not comparison.evidence:
        return Inert("")
    return Inert(f"Evidence of these figures: {_evidence(comparison)}. {comparison.unsure}".rstrip())


def side_by_side(comparison: Comparison) -> Inert:
    """Return what holds for all columns, then the columns side by side with the differences behind them."""
    facts = [f"- {markdown(name.replace('_', ' '))}: {figure(shown)}" for name, shown in comparison.facts]
    rows: list[list[object]] = [
        [name.replace("_", " "), *map(_stated, cells), *("" for _ in comparison.differences)]
        for name, cells in comparison.others
    ]
    for row in comparison.rows:
        cells = (_stated(cell, row.metric.unit) for cell in row.cells)
        against = (difference(one) if one else _NOT_STATED for one in row.differences)
        rows.append([row.name.replace("_", " "), *cells, *against])
    if not comparison.columns:
        return Inert("\n".join(facts))
    drawn = table((comparison.name, *comparison.columns, *comparison.differences), rows)
    return Inert("\n".join([*facts, "", drawn] if facts else [drawn]))


def outcomes(matrix: Matrix, corner: str) -> Inert:
    """Return which checks passed."""
    if not matrix.rows:
        return Inert("The document has no outcome of a check or a suite.")
    drawn = table((corner, *matrix.columns), [(name, *map(_outcome, cells)) for name, cells in matrix.rows])
    return Inert(f"{drawn}\n\n{_LEGEND}")


def attempts_table(rows: Sequence[Sequence[Cell | None]]) -> Inert:
    """Return what each attempt came to."""
    head = ("Attempt", "Health", "Checks as served", "Checks, thinking off")
    return table(head, [(number, *map(_outcome, cells)) for number, cells in enumerate(rows, 1)])


def rungs(ladder: Sequence[tuple[str, Sequence[Rung]]]) -> Inert:
    """Return the ladders, one line for each rung."""
    head = ("Lane", "Actual prompt tokens", "Time to first token", "Outcome")
    rows = [
        (name, figure(rung.size), measured(rung.time, "s"), _outcome(rung.outcome))
        for name, members in ladder
        for rung in members
    ]
    return table(head, rows)


def outlined(blocks: Sequence[Block]) -> Inert:
    """Return the blocks of an outline."""
    made: list[str] = []
    for block in blocks:
        if block.kind == "heading":
            made.append(f"\n{'#' * block.level} {markdown(block.name)}\n")
        elif block.kind == "figure" and block.figure is not None:
            made.append(f"- {markdown(block.name)}: {figure(block.figure)}")
        elif block.kind == "list":
            made.append(listing(block.figures))
        else:
            rows = [(name, *map(joined, cells)) for name, cells in block.rows]
            made.append(f"\n{table(('', *block.columns), rows)}\n")
    return Inert("\n".join(made).strip("\n"))


def support(notes: Sequence[dict[str, Any]]) -> Inert:
    """Return the notes: the events that figures rest on, by index."""
    return Inert("\n".join(f"{note['number']}. {_events_of(note)}" for note in notes))


def event_list(events: Sequence[dict[str, Any]]) -> Inert:
    """Return each event that a note names, with its artifacts."""
    made = []
    for event in events:
        made.append(f"- {event['index']}: {markdown(event['type'])}, {event['at']}, {event['hash']}")
        for one in event["artifacts"]:
            told = ", ".join(markdown(one[key]) for key in ("name", "media_type", "shown_as"))
            made.append(f"  - artifact {told}")
    return Inert("\n".join(made))


def table(head: Sequence[object], rows: Sequence[Sequence[object]]) -> Inert:
    """Return a table whose columns line up (rule 2)."""
    cells = [[finalized(cell) for cell in line] for line in (head, *rows)]
    widths = [max(3, *(min(_width(line[at]), WIDEST) for line in cells)) for at in range(len(head))]
    first, *others = [_line(line, widths) for line in cells]
    return Inert("\n".join([first, f"|{'|'.join('-' * (width + 2) for width in widths)}|", *others]))


def functions() -> dict[str, Callable[..., Any]]:
    """Return what a layout can call, by name."""
    offered: tuple[Callable[..., Any], ...] = (
        code, figure, mark, measured, joined, listing, observed, strength, loads, noting, on, placed, settings, answer, meanings,
        differences, alone, evidence_of, side_by_side, outcomes, attempts_table, rungs, outlined, support, event_list,
    )  # fmt: skip
    return {function.__name__: function for function in offered}


def _events_of(note: dict[str, Any]) -> str:
    runs = (str(first) if first == last else f"{first} to {last}" for first, last in note["runs"])
    count = note["artifacts"]
    return f"events {', '.join(runs)}" + (f", {counted(count, 'artifact')}" if count else "")


def _stated(cell: Shown | None, unit: str = "") -> str:
    return _NOT_STATED if cell is None else measured(cell, unit)


def _evidence(comparison: Comparison) -> str:
    return ", ".join(f"{shown.sign} {shown.word}" for shown in comparison.evidence) or "they have no value"


def _outcome(cell: Cell | None) -> str:
    if cell is None:
        return _NOT_STATED
    if cell.is_listed:
        return Inert(f"{_MARKS[cell.mark]}passed {cell.figure.sign}{cell.figure.note}")
    beside = f", {cell.beside}" if cell.beside else ""
    return Inert(f"{_MARKS[cell.mark]}{figure(cell.figure)}{beside}")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(mark) in "WF" for mark in text)
    return len(text) + wide - sum(unicodedata.combining(mark) > 0 for mark in text)
