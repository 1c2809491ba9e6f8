"""The environment of document templates: what makes a layout by anybody safe and provable.

A template is plain Jinja2 text that renders to JSON. `render` takes it through four steps, each in a
module of its own:

1. `gate`: the syntax tree passes an allow-list, or is refused with the line.
2. `tracing`: the tree is run in a sandbox that knows figures only. What it prints is not text but a
   row of pieces: the template's own text, and figures.
3. `assembling`: the pieces are read as JSON. A figure is a whole leaf or a whole key. The only
   literal leaf is the top-level `schema`.
4. Each leaf and each key that came from a figure carries its own support and that of every
   condition and loop around it: the *provenance*.
"""

from __future__ import annotations

from anvil.projections.environment.assembling import Leaf, Rendered, assemble
from anvil.projections.environment.gate import MAX_TEMPLATE, TemplateRefused, admit
from anvil.projections.environment.tracing import trace
from anvil.projections.figures import Group

__all__ = ["MAX_TEMPLATE", "Leaf", "Rendered", "TemplateRefused", "render"]


def render(name: str, source: str, root: Group) -> Rendered:
    """Return the document that the template `source`, called `name` in messages, makes of `root`.

    Raises:
        TemplateRefused: it tries to print what is not a figure, or prints no JSON; with its line.
    """
    return assemble(name, trace(name, admit(name, source), root))
