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

_NEUTRAL = "v"
"""The class of what belongs to no series."""

_R = Fraction(5)


def patterns() -> Markup:
    """Return the element that a page holds once."""
    made = "".join(
        f'<pattern id="{name}-{n}" width="8" height="8" patternUnits="userSpaceOnUse"{_TURNED.get(n, "")}>'
        f"{tile.format(n=n if name == 'series' else _NEUTRAL)}</pattern>"
        for name in ("series", "variant")
        for n, tile in enumerate(_TILES)
    )
    return Markup(f'<svg class="patterns" aria-hidden="true"><defs>{made}</defs></svg>\n')  # noqa: S704  # all ours


def fill(series: int, *, is_variant: bool = False) -> str:
    """Return what a bar of a series is filled with; that of a variant is grey, in a pattern of its own."""
    return f"url(#{'variant' if is_variant else 'series'}-{series % SERIES})"


def shape(
    canvas: Canvas, series: int, x: Length, y: Length, *, is_filled: bool, is_crossed: bool = False
) -> None:
    """Draw the mark of a series, filled or hollow, and crossed out or not."""
    class_ = f"s{series % SERIES} {'full' if is_filled else 'hollow'}"
    canvas.path(_SHAPES[series % SERIES](Fraction(x), Fraction(y)), class_)
    if is_crossed:
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
