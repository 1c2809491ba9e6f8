"""Comparisons: figures of the same name that stand side by side, one column for each candidate.

1. What is compared is what the document puts side by side. A difference is shown where the document has one;
   none is computed here, since figures that were rounded are not computed with.
2. A difference is read as "B against A" when exactly two candidates stand side by side and its name ends in, or
   is, the name of exactly one of them. Otherwise it keeps the name that the document gives it.
3. Faster and slower follow from a difference's sign and from which value of its metric is better; of what is no
   time and no rate neither is said. Where its interval has 0 in it, no difference is shown and none is named. Where the document states no difference, the figure that is faster than those
   beside it is said to be so, by the numbers as they are printed, and not by how much; where intervals meet, not even that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from anvil.projections.figures import STATUSES
from anvil.projections.pages.metrics import Metric, metric, of_difference
from anvil.projections.pages.view import Shown

DIFFERENCE = "_delta_percent"
UNSURE = "No interval and no number of requests is stated for these figures."
"""What is said of figures that nothing says it of."""


@dataclass(frozen=True)
class Difference:
    """One figure of a difference, in percent, and what it means.

    `word` is `faster`, `slower`, `equal`, `not shown` or nothing; `sense` says what there is less or more of.
    """

    figure: Shown
    word: str
    sense: str = ""

    @property
    def plus(self) -> str:
        """The sign that a number above 0 does not have."""
        return "+" if self.figure.number is not None and self.figure.number > 0 else ""

    @property
    def words(self) -> str:
        """What it means, in words; empty where nothing is said of it."""
        if self.word == "not shown":
            return "no difference is shown"
        return f"{self.sense}: {self.word}" if self.sense else self.word


@dataclass(frozen=True)
class Row:
    """One metric: a figure for each column that has it, and for each difference that has it."""

    name: str
    metric: Metric
    cells: tuple[Shown | None, ...]
    differences: tuple[Difference | None, ...]

    @property
    def figures(self) -> tuple[Shown, ...]:
        """All of its figures, differences last."""
        against = (one.figure for one in self.differences if one is not None)
        return (*(cell for cell in self.cells if cell is not None), *against)

    @property
    def fastest(self) -> Shown | None:
        """The figure that is faster than all beside it (rule 3); None where none is, or it is not told apart."""
        known = [cell for cell in self.cells if cell is not None and cell.number is not None]
        ordered = sorted(known, key=_number, reverse=self.metric.better == "higher")
        if not self.metric.is_speed or len(ordered) < 2 or ordered[0].number == ordered[1].number:
            return None
        first, *others = ordered
        is_apart = not any(first.sure and one.sure and first.sure.meets(one.sure) for one in others)
        return first if is_apart else None

    @property
    def is_compared(self) -> bool:
        """Whether more than one column has it, so that there is something to see side by side."""
        return sum(cell is not None for cell in self.cells) > 1


@dataclass(frozen=True)
class Comparison:
    """Figures side by side."""

    name: str
    columns: tuple[str, ...]
    facts: tuple[tuple[str, Shown], ...]
    """What holds for all columns, such as the protocol."""
    others: tuple[tuple[str, tuple[Shown | None, ...]], ...]
    """Lines that are no metric: how many runs, what the outcome was."""
    rows: tuple[Row, ...]
    differences: tuple[str, ...]
    """What each difference is called (rule 2)."""

    @property
    def runs(self) -> tuple[str, ...]:
        """How many runs stand behind each column, as printed; empty where nothing is said."""
        found = dict(self.others).get("runs", (None,) * len(self.columns))
        return tuple("" if cell is None or cell.is_null else cell.text for cell in found)

    @property
    def unsure(self) -> str:
        """What is said where it has numbers and nothing says how sure any of them is."""
        known = [one for row in self.rows for one in row.figures if one.number is not None]
        return UNSURE if known and not any(one.sure for one in known) else ""

    @property
    def evidence(self) -> tuple[Shown, ...]:
        """A figure for each status that its differences have, or its cells where it has none; the weakest last."""
        found = [one.figure for row in self.rows for one in row.differences if one is not None]
        found = found or [figure for row in self.rows for figure in row.figures]
        known = {shown.status: shown for shown in found if not shown.is_null}
        return tuple(known[status] for status in STATUSES if status in known)


def compared(name: str, members: Mapping[str, Any]) -> Comparison:
    """Return an object of the document as a comparison: its members are columns, differences, or facts."""
    facts = tuple((key, value) for key, value in members.items() if isinstance(value, Shown))
    objects = {key: value for key, value in members.items() if isinstance(value, Mapping)}
    differences = {key: value for key, value in objects.items() if key.endswith(DIFFERENCE)}
    columns = {key: value for key, value in objects.items() if key not in differences}
    return beside(name, columns, facts, differences)


def beside(
    name: str,
    columns: Mapping[str, Mapping[str, Any]],
    facts: tuple[tuple[str, Shown], ...] = (),
    differences: Mapping[str, Mapping[str, Shown]] | None = None,
) -> Comparison:
    """Return columns side by side: each figure by its name, null where a column has it as null."""
    against = differences or {}
    names = list(dict.fromkeys(key for column in columns.values() for key in column))
    rows, others = [], []
    for key in names:
        cells = tuple(_figure(column.get(key)) for column in columns.values())
        found = metric(key)
        if found is None:
            others.append((key, cells))
        else:
            rows.append(Row(key, found, cells, tuple(_difference(found, one) for one in against.values())))
    called = tuple(_called(key, tuple(columns)) for key in against)
    return Comparison(name, tuple(columns), facts, tuple(others), tuple(rows), called)


def _number(shown: Shown) -> Fraction:
    return shown.number or Fraction(0)


def _figure(value: Any) -> Shown | None:
    return value if isinstance(value, Shown) else None


def _difference(of: Metric, members: Mapping[str, Shown]) -> Difference | None:
    figure = next((value for key, value in members.items() if of_difference(key) == of.kind), None)
    if figure is None or figure.number is None or not of.is_speed:
        return None if figure is None else Difference(figure, "")
    if figure.sure is not None and figure.sure.has_zero:
        return Difference(figure, "not shown")
    if figure.number == 0:
        return Difference(figure, "equal")
    less, more = ("less time", "more time") if of.better == "lower" else ("lower rate", "higher rate")
    is_less = figure.number < 0
    word = "faster" if is_less == (of.better == "lower") else "slower"
    return Difference(figure, word, less if is_less else more)


def _called(name: str, columns: tuple[str, ...]) -> str:
    """Return what a difference is called (rule 2)."""
    stem = name.removesuffix(DIFFERENCE)
    meant = [one for one in columns if one == stem or one.endswith((f"_{stem}", f"-{stem}"))]
    if len(columns) != 2 or len(meant) != 1:
        return name
    other = columns[0] if meant[0] == columns[1] else columns[1]
    return f"{meant[0]} against {other}"
