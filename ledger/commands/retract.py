"""`anvil retract`."""

from __future__ import annotations

import click

from anvil.ledger.citations import Citations, Cited
from anvil.ledger.commands.arguments import EventParam, reason_option
from anvil.ledger.commands.output import answer, answer_json, json_option, place
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.drafts import Draft
from anvil.ledger.errors import LedgerError
from anvil.ledger.events import EventRetracted, PublicationReleased, PublicationWithdrawn, build
from anvil.ledger.recording import Ledger
from anvil.ledger.streams import record


@click.command()
@click.argument("index", type=EventParam())
@reason_option
@json_option
def retract(index: str, reason: str, as_json: bool) -> None:
    """Take an event back: it stays in the log and supports nothing.

    Decisions and waivers that rest on it are shown as stale from then on. What is about the ledger itself,
    keys, streams, redactions and retractions, is not taken back. To delete private bytes, use `anvil redact`. What was
    published is withdrawn: `anvil withdraw`.

    \b
    Example:
      anvil retract 17 --reason "It was measured on another engine."
    """
    require_publishable(place(), {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        cited = Citations(ledger).to_retract(index)
        _require_no_publication(cited)
        event = build(EventRetracted, {"target": cited.entry_hash, "reason": reason})
        whole = Draft(event, cited.header.subject)

        def require() -> None:  # of two at the same moment one is recorded
            Citations(ledger).to_retract(index)

        signer = ledger.signer("operator")
        recorded = record(ledger, signer, [whole], purpose="retraction", require=require)[0]
    if as_json:
        members = {"index": recorded.index, "entry_hash": recorded.entry_hash, "retracted": cited.index}
        answer_json("anvil.retract/1", members)
    else:
        answer(f"Retracted event {cited.index} ({cited.event.type}), recorded at index {recorded.index}")


def _require_no_publication(cited: Cited) -> None:
    """Refuse to retract what was published or withdrawn: copies are out, and a retraction tells their readers nothing.

    Raises:
        LedgerError: the event released something, or withdrew it.
    """
    if isinstance(cited.event, PublicationReleased):
        raise LedgerError(
            f"event {cited.index} released a publication, of which copies may be anywhere: it is not retracted",
            advice=f"Withdraw it: `anvil withdraw {cited.index}`.",
        )
    if isinstance(cited.event, PublicationWithdrawn):
        raise LedgerError(
            f"event {cited.index} withdrew a publication, and what was withdrawn stays withdrawn",
            advice="Release the document again: that is a new publication.",
        )
