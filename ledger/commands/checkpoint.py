"""`anvil checkpoint`."""

from __future__ import annotations

import click

from anvil.ledger.commands.output import answer_bytes, answer_json, json_option, place
from anvil.ledger.note import SignedNote
from anvil.ledger.recording import Ledger


@click.command()
@click.option(
    "--adopt", is_flag=True, help="This machine has no anchor for the ledger: you vouch that it is whole."
)
@json_option
def checkpoint(adopt: bool, as_json: bool) -> None:
    """Sign and print the state of the log.

    Keep what it prints somewhere else, or give it to somebody: `anvil verify --checkpoint FILE` then
    shows whether the log still contains it. After a ledger was moved to another machine, nothing there
    knows how far it had come; --adopt begins anew from what is there, on your word.

    \b
    Example:
      anvil checkpoint > 2026-11-30.checkpoint
    """
    with Ledger.open(place().directory, adopt=adopt) as ledger:
        note = ledger.checkpoint()
    if as_json:
        answer_json("anvil.checkpoint/1", {"checkpoint": note.decode(), "text": SignedNote.parse(note).text})
    else:
        answer_bytes(note)
