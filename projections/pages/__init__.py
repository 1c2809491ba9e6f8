"""Pages: a document and its provenance as Markdown or as one self-contained HTML file.

1. A page shows what the document says and nothing else; it is made of the same leaves. The evidence
   status stands at every figure, and what the document rests on and lacks stands before its figures.
2. The layouts are anvil's own, `templates/NAME.md.j2` and `NAME.html.j2`; a document without one is shown
   by its outline, in `document.md.j2` and `document.html.j2`.
3. Every text is inert. In HTML Jinja2 escapes what is printed; in Markdown `inert.markdown` does.
4. The HTML has no script and asks for nothing: its policy forbids both.
"""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined

from anvil.projections.pages.inert import markdown
from anvil.projections.pages.outline import outline
from anvil.projections.pages.view import view
from anvil.projections.provenance import State
from anvil.projections.record import Record
from anvil.projections.rendering import Draft


def page(draft: Draft, state: State, record: Record, form: str, fingerprint: str | None = None) -> str:
    """Return the page of a draft, `form` being `md` or `html`.

    With `fingerprint`, that of the ledger's verifier key, it is the page of a publication.

    Raises:
        ValueError: there is no such form.
    """
    if form not in ("md", "html"):
        raise ValueError(f"no page is made as {form!r}")
    environment = Environment(
        autoescape=form == "html",  # noqa: S701  # in Markdown `finalize` escapes
        undefined=StrictUndefined,
        finalize=markdown if form == "md" else None,
        loader=FunctionLoader(_layout),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    shown = {**view(draft, state, record), "fingerprint": fingerprint}
    layout = environment.get_template(layout_of(draft.document.name, form))
    return layout.render(shown, outline=outline(shown["document"]), campaign=draft.campaign)


def layout_of(name: str, form: str) -> str:
    """Return the name of the layout that a document's page is made with: its own, or the outline (rule 2)."""
    own = f"{name}.{form}.j2"
    return own if files("anvil.templates").joinpath(own).is_file() else f"document.{form}.j2"


def _layout(name: str) -> str:
    return files("anvil.templates").joinpath(name).read_text(encoding="utf-8")
