"""Bars: one metric, one bar for each candidate, under its name and its value."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from markupsafe import Markup

from anvil.projections.plots.canvas import Canvas
from anvil.projections.plots.patterns import fill
from anvil.projections.plots.point import Point
from anvil.projections.plots.scale import Scale, up_to

WIDTH = 320
LINE = 15
THICK = 14
APART = 12
LETTERS = 46
"""Letters that a line holds."""


def bars(title: str, points: Sequence[Point]) -> Markup:
    """Return bars from 0, as long as their numbers; a point without one is an empty frame with its reason."""
    scale = up_to((point.number for point in points if point.number is not None), WIDTH - 2)
    heights = [LINE * len(_lines(point)) + THICK + APART for point in points]
    canvas = Canvas(WIDTH, sum(heights), title, f"{len(points)} bars that begin at 0")
    y = 0
    for point, height in zip(points, heights, strict=True):
        canvas.group(point.title, point.pointer, "point")
        _bar(canvas, point, y, scale)
        canvas.end()
        y += height
    return canvas.markup()


def _bar(canvas: Canvas, point: Point, y: int, scale: Scale) -> None:
    lines = _lines(point)
    canvas.rectangle(0, y, WIDTH, LINE * len(lines) + THICK, class_="hit")
    for number, (words, parts) in enumerate(lines, 1):
        canvas.text(words, 0, y + number * LINE - 4, "name", parts)
    top = y + LINE * len(lines)
    if point.number is None:
        canvas.rectangle(Fraction(1, 2), top, WIDTH - 1, THICK, class_="gap")
    else:
        canvas.rectangle(
            0,
            top,
            scale.at(point.number),
            THICK,
            fill=fill(point.series, is_variant=point.is_variant),
            class_="bar",
        )
    canvas.line(0, top - 2, 0, top + THICK + 2, "axis")


def _lines(point: Point) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the lines over a bar: its name, its value and its status, in one line where they fit."""
    value = f"no value: {point.text}" if point.number is None else point.value
    status = (f"  {point.word}", f"status {point.status}")
    if len(point.label) + len(value) + len(point.word) + 4 <= LETTERS:
        return [(f"{point.label}  ", ((value, "value"), status))]
    kept = [point.label[at : at + LETTERS] for at in range(0, len(point.label), LETTERS)]
    told = [value[at : at + LETTERS] for at in range(0, len(value), LETTERS)]
    fits = len(told[-1]) + len(point.word) + 2 <= LETTERS
    lines: list[tuple[str, tuple[tuple[str, str], ...]]] = [(words, ()) for words in kept]
    lines += [("", ((words, "value"),)) for words in told[:-1]]
    return (
        [*lines, ("", ((told[-1], "value"), status))]
        if fits
        else [*lines, ("", ((told[-1], "value"),)), ("", (status,))]
    )
