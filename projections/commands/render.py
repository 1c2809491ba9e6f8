"""`anvil render`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.commands.arguments import IndexRange
from anvil.ledger.commands.output import answer_bytes, answer_json, json_option, place, say
from anvil.ledger.errors import PublicationRefused
from anvil.ledger.files import write_whole
from anvil.projections.commands.layouts import read_template
from anvil.projections.document import DOCUMENTS, find
from anvil.projections.opened import opened
from anvil.projections.provenance import provenance, spell
from anvil.projections.rendering import draft


@click.command()
@click.argument("document", type=click.Choice(list(DOCUMENTS)))
@click.option("--campaign", help="Of which campaign; needed when there are several.")
@click.option(
    "--candidate", help="Of which candidate, by the recipe's name for it; needed when there are several."
)
@click.option("--as-of", type=IndexRange(), metavar="INDEX", help="As it was right after this event.")
@click.option(
    "--template",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A JSON template of your own, in place of the document's.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "md", "html"]),
    default="json",
    show_default=True,
    help="As which kind of text.",
)
@click.option(
    "--provenance",
    "sidecar",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write where each leaf comes from into this file.",
)
@json_option
def render(
    document: str,
    campaign: str | None,
    candidate: str | None,
    as_of: int | None,
    template: Path | None,
    form: str,
    sidecar: Path | None,
    as_json: bool,
) -> None:
    """Print a document as a draft; nothing is recorded.

    Every figure in it rests on signed events; `anvil why` says on which. The same ledger gives the same bytes.
    With --json the answer is an object that holds the text and its provenance.

    \b
    Example:
      anvil render candidate-failure.v1 --campaign laguna --format html > draft.html
    """
    kind = find(document)
    layout = None if template is None else read_template(template)
    if layout is not None and form != "json":
        raise PublicationRefused(
            "a template of your own is a JSON layout; the pages are anvil's",
            advice="Leave out --template, or use --format json.",
        )
    with opened(place(), as_of, campaign) as ledger:
        made = draft(
            ledger.record, ledger.artifacts, kind, campaign=campaign, candidate=candidate, template=layout
        )
        ledger.require_signed(made)
        members = provenance(made, ledger.state, ledger.artifacts)
        if form == "json":
            text = made.rendered.text
        else:
            from anvil.projections.pages import page

            text = page(made, ledger.state, ledger.record, form)
    if made.is_synthetic:
        say("Synthetic: recorded for a test or a demonstration. It cannot be released.")
    if sidecar is not None:
        write_whole(sidecar, spell(members).encode())
    if as_json:
        answer_json("anvil.render/1", {"format": form, "text": text, "provenance": members})
    else:
        answer_bytes(text.encode())
