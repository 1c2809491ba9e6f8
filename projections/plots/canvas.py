"""A canvas: the one place that knows the library that writes SVG.

1. Texts are escaped by the library, attributes here, since it leaves them as they are.
2. A length is written in tenths, rounded once from an exact number: no float decides about bytes.
3. No identifier is made up: nothing refers to a mark but the page, by its pointer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import drawsvg
from markupsafe import Markup, escape

from anvil.ledger.statistics import rounded

Length = int | Fraction


class Canvas:
    """A drawing of `width` by `height` units that is called `title`, and described by `description`."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self._drawing = drawsvg.Drawing(
            width, height, class_="drawn", role="img", aria_label=_attribute(f"{title}. {description}")
        )
        self._open: list[Any] = [self._drawing]

    def group(self, title: str, pointer: str, class_: str) -> None:
        """Begin a group: what is drawn until `end` shows one figure, and `title` says which."""
        made = drawsvg.Group(class_=class_, data_pointer=_attribute(pointer))
        made.append_title(title)
        self._open[-1].append(made)
        self._open.append(made)

    def end(self) -> None:
        """End the group."""
        self._open.pop()

    def text(
        self, text: str, x: Length, y: Length, class_: str, parts: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Write one line of text from its foot at `x`, `y`; `parts` go on in it, each with a class of its own."""
        line = drawsvg.Text("", None, _length(x), _length(y), class_=class_)
        for words, own in ((text, ""), *parts):
            if words:
                line.append(drawsvg.TSpan(_flat(words), **({"class_": own} if own else {})))
        self._open[-1].append(line)

    def rectangle(self, x: Length, y: Length, width: Length, height: Length, **how: str) -> None:
        """Draw a rectangle. `how` is its `class_` or its `fill`."""
        self._open[-1].append(
            drawsvg.Rectangle(_length(x), _length(y), _length(width), _length(height), **how)
        )

    def line(self, x: Length, y: Length, to_x: Length, to_y: Length, class_: str) -> None:
        """Draw a line."""
        self._open[-1].append(
            drawsvg.Line(_length(x), _length(y), _length(to_x), _length(to_y), class_=class_)
        )

    def path(self, steps: str, class_: str) -> None:
        """Draw a path of ours; `steps` never hold anything from outside."""
        self._open[-1].append(drawsvg.Path(d=steps, class_=class_))

    def markup(self) -> Markup:
        """Return it as an element for a page."""
        drawn = self._drawing.as_svg(header="", skip_js=True, skip_css=True)
        return Markup(f"{drawn.strip()}\n")  # noqa: S704  # escaped by rule 1


def place(x: Length, y: Length) -> str:
    """Return a place as a path names it."""
    return f"{_length(x)} {_length(y)}"


def _length(value: Length) -> str:
    text = rounded(Fraction(value), 1)
    return text.removesuffix(".0")


def _attribute(text: str) -> str:
    return str(escape(_flat(text)))


def _flat(text: str) -> str:
    """Return text in one line, which the library would else take apart."""
    return " ".join(text.splitlines())
