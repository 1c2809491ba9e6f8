"""Labels beside marks: each stands where it covers no mark and no other label, as far as there is room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

LETTER = Fraction(13, 2)
"""How wide a letter is about; a little more than most are."""
HIGH = 11
_CLEAR = 7


@dataclass(frozen=True)
class Box:
    """A rectangle of a plot."""

    x: Fraction
    y: Fraction
    width: Fraction
    height: Fraction

    def meets(self, other: Box) -> bool:
        """Say whether two rectangles cover the same place."""
        is_beside = self.x + self.width <= other.x or other.x + other.width <= self.x
        is_above = self.y + self.height <= other.y or other.y + other.height <= self.y
        return not (is_beside or is_above)


@dataclass
class Labels:
    """The places that are taken, within a plot of `width`, above `floor`."""

    width: int
    floor: int
    taken: list[Box] = field(default_factory=list)

    def mark(self, x: Fraction, y: Fraction) -> None:
        """Keep a mark's place free."""
        self.taken.append(Box(x - _CLEAR, y - _CLEAR, Fraction(2 * _CLEAR), Fraction(2 * _CLEAR)))

    def place(self, x: Fraction, y: Fraction, letters: int) -> tuple[Fraction, Fraction]:
        """Return where the label of a mark begins: its left foot. The first place that is free is taken."""
        wide = letters * LETTER
        for left, foot in _around(x, y, wide):
            box = Box(left, foot - HIGH, wide, Fraction(HIGH + 2))
            if self._is_free(box):
                self.taken.append(box)
                return left, foot
        return x + _CLEAR + 2, y - _CLEAR

    def _is_free(self, box: Box) -> bool:
        is_inside = box.x >= 0 and box.x + box.width <= self.width and box.y + box.height <= self.floor
        return is_inside and not any(box.meets(one) for one in self.taken)


def _around(x: Fraction, y: Fraction, wide: Fraction) -> Sequence[tuple[Fraction, Fraction]]:
    """Return places near a mark, the best first: right of it, left of it, above and below, then further off."""
    right, left, middle = x + _CLEAR + 2, x - wide - _CLEAR - 2, x - wide / 2
    near = [(right, y + 4), (left, y + 4), (right, y - 7), (left, y - 7), (middle, y - 11), (right, y + 14)]
    far = [(side, y + step) for step in (-20, 22, -34, 36, -48) for side in (right, left, middle)]
    return [*near, (left, y + 14), (middle, y + 20), *far]
