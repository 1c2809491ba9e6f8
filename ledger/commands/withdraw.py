"""`anvil withdraw`."""

from __future__ import annotations

from pathlib import Path

import click

from anvil.ledger.commands.output import answer, answer_json, json_option, place, say
from anvil.ledger.commands.surroundings import require_publishable
from anvil.ledger.publication.withdrawing import withdraw as withdraw_publication
from anvil.ledger.recording import Ledger


@click.command()
@click.argument("index", type=click.IntRange(0))
@click.option("--reason", required=True, help="Why. Public, and in the log for ever.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The publication's folder: its pages then say that it was withdrawn.",
)
@json_option
def withdraw(index: int, reason: str, folder: Path | None, as_json: bool) -> None:
    """Take a publication back, and say so in its folder.

    INDEX is the event that released it. Copies elsewhere stay as they are: give the folder to whoever has one.

    \b
    Example:
      anvil withdraw 42 --reason "The load was measured on a shared host." \\
        --folder published/
    """
    require_publishable(place(), {"--reason": reason})
    with Ledger.open(place().directory) as ledger:
        done = withdraw_publication(ledger, ledger.signer("operator"), index, reason, folder)
    if as_json:
        answer_json("anvil.withdraw/1", {"index": done.index, "entry_hash": done.entry_hash})
    else:
        answer(f"Withdrawn at index {done.index} as {done.entry_hash}")
        if folder is None:
            say("No folder was given, so no page says it yet: --folder DIR.")
