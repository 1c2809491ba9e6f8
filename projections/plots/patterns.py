"""What sets series apart: a pattern for each, so that colour is not needed, and a shape.

The patterns stand once in a page, before its plots, which refer to them by name.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from markupsafe import Markup

from anvil.projections.plots.canvas import Canvas, Length, place

SERIES = 6
"""After so many series patterns and shapes come again; names stand beside them all the same."""

_TILE = '<rect class="tint s{n}" width="8" height="8"/>'
_TILES = (
    '<rect class="s{n}" width="8" height="8"/>',
    _TILE + '<rect class="s{n}" width="4" height="8"/>',
    _TILE + '<circle class="s{n}" cx="4" cy="4" r="2.4"/>',
    _TILE + '<rect class="s{n}" width="8" height="4"/>',
    _TILE + '<rect class="s{n}" width="2" height="8"/><rect class="s{n}" width="8" height="2"/>',
    _TILE + '<rect class="s{n}" width="4" height="4"/><rect class="s{n}" x="4" y="4" width="4" height="4"/>',
)
_TURNED = {1: ' patternTransform="rotate(45)"', 4: ' patternTransform="rotate(45)"'}

_R = Fraction(5)


def patterns() -> Markup:
    """Return the element that a page holds once."""
    made = "".join(
        f'<pattern id="series-{n}" width="8" height="8" patternUnits="userSpaceOnUse"{_TURNED.get(n, "")}>'
        f"{tile.format(n=n)}</pattern>"
        for n, tile in enumerate(_TILES)
    )
    return Markup(f'<svg class="patterns" aria-hidden="true"><defs>{made}</defs></svg>\n')  # noqa: S704  # all ours


def fill(series: int) -> str:
    """Return what a bar of a series is filled with."""
    return f"url(#series-{series % SERIES})"


def shape(canvas: Canvas, series: int, x: Length, y: Length, *, is_filled: bool) -> None:
    """Draw the mark of a series; one that is not filled is crossed out."""
    class_ = f"s{series % SERIES} {'full' if is_filled else 'hollow'}"
    canvas.path(_SHAPES[series % SERIES](Fraction(x), Fraction(y)), class_)
    if not is_filled:
        canvas.path(f"M{place(x - 7, y - 7)}L{place(x + 7, y + 7)}", "cross")
        canvas.path(f"M{place(x - 7, y + 7)}L{place(x + 7, y - 7)}", "cross")


def _circle(x: Fraction, y: Fraction) -> str:
    return f"M{place(x - _R, y)}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"


def _polygon(*corners: tuple[int, int]) -> Callable[[Fraction, Fraction], str]:
    def drawn(x: Fraction, y: Fraction) -> str:
        return "M" + "L".join(place(x + dx, y + dy) for dx, dy in corners) + "z"

    return drawn


_SHAPES = (
    _circle,
    _polygon((-5, -5), (5, -5), (5, 5), (-5, 5)),
    _polygon((0, -6), (6, 5), (-6, 5)),
    _polygon((0, -6), (6, 0), (0, 6), (-6, 0)),
    _polygon((-6, -5), (6, -5), (0, 6)),
    _polygon(
        (-6, -2),
        (-2, -2),
        (-2, -6),
        (2, -6),
        (2, -2),
        (6, -2),
        (6, 2),
        (2, 2),
        (2, 6),
        (-2, 6),
        (-2, 2),
        (-6, 2),
    ),
)
