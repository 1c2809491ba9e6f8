"""Pages: a document and its provenance as Markdown or as one self-contained HTML file.

1. A page shows what the document says and nothing else; it is made of the same leaves. The answers that a
   reader looks for stand first, with what the document rests on and lacks; then its figures; then their support.
2. The evidence status stands at every figure. What is drawn stands in a table too.
3. The layouts are anvil's own, `templates/NAME.md.j2` and `NAME.html.j2`, one of each for every document.
4. Every text is inert. In HTML Jinja2 escapes what is printed; in Markdown `inert.markdown` does.
5. The HTML has no script and asks for nothing: its policy forbids both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from anvil.projections.pages import failure, lanes, summary, written
from anvil.projections.pages.checking import commands
from anvil.projections.pages.glossary import used
from anvil.projections.pages.limits import told
from anvil.projections.pages.view import view
from anvil.projections.provenance import State
from anvil.projections.record import Record
from anvil.projections.rendering import Draft

PARTS: dict[str, Callable[[Mapping[str, Any], Sequence[str]], dict[str, Any]]] = {
    "candidate-failure.v1": failure.parts,
    "sanitized-qualification-summary.v1": summary.parts,
    "qwen38-27b-qualification-summary.v1": lanes.parts,
}
"""Document to what its layouts print besides its leaves, made of these and of the sentences of its evidence limit."""


def page(draft: Draft, state: State, record: Record, form: str, fingerprint: str | None = None) -> str:
    """Return the page of a draft, `form` being `md` or `html`.

    With `fingerprint`, that of the ledger's verifier key, it is the page of a publication.

    Raises:
        ValueError: there is no such form.
    """
    if form not in ("md", "html"):
        raise ValueError(f"no page is made as {form!r}")
    shown = {**view(draft, state, record), "fingerprint": fingerprint}
    shown |= PARTS[draft.document.name](shown["document"], shown["limits"])
    shown["told"] = told(shown["limits"], shown.get("besides", ()), shown["anchors"])
    shown["commands"] = commands(draft, state.size - 1, shown["leaves"])
    shown["words"] = used(
        (*(one.text for one in shown["leaves"]), *(one.pointer for one in shown["leaves"]), *shown["limits"])
    )
    environment = _written() if form == "md" else _drawn(shown.get("order", ()))
    return environment.get_template(f"{draft.document.name}.{form}.j2").render(shown)


def _written() -> Environment:
    environment = _environment(autoescape=False, finalize=written.finalized)
    environment.globals.update(written.functions())
    return environment


def _drawn(order: tuple[str, ...]) -> Environment:
    from anvil.projections.pages.drawing import Drawing  # it loads what draws, which Markdown needs not

    environment = _environment(autoescape=True)
    environment.globals.update(Drawing(order).functions())
    return environment


def _environment(**options: Any) -> Environment:
    return Environment(  # noqa: S701  # in Markdown `finalize` escapes
        undefined=StrictUndefined,
        loader=FunctionLoader(_layout),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )


def _layout(name: str) -> str:
    return files("anvil.templates").joinpath(name).read_text(encoding="utf-8")
