"""A ladder: how long it took for each size of a prompt, and whether it passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from markupsafe import Markup

from anvil.projections.plots.canvas import Canvas
from anvil.projections.plots.labels import Labels
from anvil.projections.plots.patterns import shape
from anvil.projections.plots.point import Point
from anvil.projections.plots.scale import Scale, rounded_up, spelled

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 42, 26, 30, 40
LINE = 16


@dataclass(frozen=True)
class Rung:
    """One size: the point of its time, how large it was, and what became of it."""

    point: Point
    size: Fraction | None
    outcome: str
    """As the document prints it."""
    has_passed: bool
    is_incomplete: bool = False
    """Whether it came to no verdict: no pass, and no failure either."""


def ladder(title: str, across: str, rungs: Sequence[Rung], up: str = "") -> Markup:
    """Return a mark for each rung at its size (`across` says of what) and its time (`up`, and its unit), both axes from 0.

    Straight dashes join the rungs of a series, to be told apart and for nothing else. A rung without a time
    stands on the axis, crossed out; one without a size is named below. One that is incomplete is hollow and not crossed out.
    """
    names = dict.fromkeys((rung.point.series, rung.point.label) for rung in rungs)
    lost = [rung for rung in rungs if rung.size is None]
    foot = TOP + len(names) * LINE
    height = HEIGHT + (len(names) + len(lost)) * LINE
    wide = rounded_up((r.size for r in rungs if r.size is not None), WIDTH - LEFT - RIGHT, 4)
    high = rounded_up((r.point.number for r in rungs if r.point.number is not None), HEIGHT - TOP - BOTTOM, 5)
    canvas = Canvas(WIDTH, height, title, f"{len(rungs)} rungs; both axes begin at 0")
    for number, (series, label) in enumerate(names):
        shape(canvas, series, 8, 10 + number * LINE, is_filled=True)
        canvas.text(label, 20, 14 + number * LINE, "name")
    unit = f"{up}{rungs[0].point.unit}" if rungs else ""
    floor = foot + HEIGHT - TOP - BOTTOM
    _axes(canvas, wide, high, floor, (unit, across))
    for series, _label in names:
        _joined(canvas, [r for r in rungs if r.point.series == series], wide, high, floor)
    labels = Labels(WIDTH, floor)
    places = [
        (rung, LEFT + wide.at(rung.size), floor - high.at(rung.point.number or Fraction(0)))
        for rung in rungs
        if rung.size is not None
    ]
    for _, x, y in places:
        labels.mark(x, y)
    for rung, x, y in sorted(places, key=lambda one: -one[2]):  # so that labels that are moved move up
        _mark(canvas, rung, x, y, labels)
    for number, rung in enumerate(lost):
        canvas.group(_title(rung), rung.point.pointer, "point")
        canvas.text(
            f"{rung.point.label}: no size is stated; {rung.point.value} {rung.point.word}",
            0,
            floor + 46 + number * LINE,
            "name",
        )
        canvas.end()
    return canvas.markup()


def _axes(canvas: Canvas, wide: Scale, high: Scale, floor: int, units: tuple[str, str]) -> None:
    for tick in high.ticks():
        y = floor - high.at(tick)
        canvas.line(LEFT, y, WIDTH - RIGHT, y, "axis" if tick == 0 else "grid")
        canvas.text(spelled(tick), LEFT - 6, y + 4, "tick end")
    for tick in wide.ticks():
        x = LEFT + wide.at(tick)
        canvas.line(x, floor, x, floor + 4, "axis")
        canvas.text(spelled(tick), x, floor + 17, "tick middle")
    canvas.text(units[0], 0, floor - high.length - 14, "tick")
    canvas.text(units[1], WIDTH - RIGHT, floor + 33, "tick end")


def _joined(canvas: Canvas, rungs: Sequence[Rung], wide: Scale, high: Scale, floor: int) -> None:
    known = [r for r in rungs if r.size is not None and r.point.number is not None]
    places = sorted((r.size or Fraction(0), r.point.number or Fraction(0)) for r in known)
    for (x, y), (to_x, to_y) in pairwise(places):
        canvas.line(
            LEFT + wide.at(x), floor - high.at(y), LEFT + wide.at(to_x), floor - high.at(to_y), "join"
        )


def _mark(canvas: Canvas, rung: Rung, x: Fraction, y: Fraction, labels: Labels) -> None:
    canvas.group(_title(rung), rung.point.pointer, "point")
    is_filled = rung.has_passed and rung.point.number is not None
    is_crossed = not is_filled and not rung.is_incomplete
    shape(canvas, rung.point.series, x, y, is_filled=is_filled, is_crossed=is_crossed)
    words = "no value" if rung.point.number is None else rung.point.text
    left, foot = labels.place(x, y, len(words) + len(rung.point.word) + 1)
    canvas.text(words, left, foot, "value", ((f" {rung.point.word}", f"status {rung.point.status}"),))
    canvas.end()


def _title(rung: Rung) -> str:
    size = "no size stated" if rung.size is None else f"{rung.size} tokens"
    return f"{size}, {rung.outcome}. {rung.point.title}"
